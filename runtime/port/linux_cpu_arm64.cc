#include <cstdio>

#include "runtime/port/linux_cpu.h"

namespace temper {

// Advanced SIMD is part of the base architecture. Longer SVE vectors are not used.
CpuTraits cpu_traits() { return {4, 32, 4, 2}; }

uint32_t cpu_model_hash() {
  FILE* const file = std::fopen("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", "re");
  if (file == nullptr) {
    return 0;
  }
  unsigned long long midr = 0;
  const bool read = std::fscanf(file, "%llx", &midr) == 1;
  std::fclose(file);
  const uint32_t model =
      static_cast<uint32_t>(midr) & 0xFF0FFFF0u;  // implementer, architecture, part; not the revision
  return read ? hash_bytes(&model, sizeof model) : 0;
}

void spin_pause() { asm volatile("yield" ::: "memory"); }

}  // namespace temper
