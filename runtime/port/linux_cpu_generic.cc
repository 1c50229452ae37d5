#include "runtime/port/linux_cpu.h"

namespace temper {

// Nothing is known: one lane, the registers and latency that most in-order cores have.
CpuTraits cpu_traits() { return {1, 32, 4, 1}; }
uint32_t cpu_model_hash() { return 0; }
void spin_pause() { asm volatile("" ::: "memory"); }

}  // namespace temper
