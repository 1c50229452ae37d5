#include <cpuid.h>

#include "runtime/port/linux_cpu.h"

namespace temper {

CpuTraits cpu_traits() {
  // Intel from Skylake, AMD from Zen 2: Agner Fog, instruction tables. Lanes as the code generator chooses them.
  constexpr int32_t kFmaLatency = 4, kFmaPerCycle = 2;
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) {
    return {16, 32, kFmaLatency, kFmaPerCycle};
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return {8, 16, kFmaLatency, kFmaPerCycle};
  }
  return {4, 16, kFmaLatency + kFmaLatency, 1};  // multiply, then add
}

uint32_t cpu_model_hash() {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(0, &eax, &ebx, &ecx, &edx) == 0) {
    return 0;
  }
  const uint32_t vendor[3] = {ebx, edx, ecx};
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) {
    return 0;
  }
  const uint32_t key[4] = {vendor[0], vendor[1], vendor[2], eax & 0x0FFF3FF0u};  // family and model; not the stepping
  return hash_bytes(key, sizeof key);
}

void spin_pause() { __builtin_ia32_pause(); }

}  // namespace temper
