// What differs between processors under Linux: one implementation per architecture (linux_cpu_*.cc), chosen by CMake.
// Called by the probe and the threads of this folder only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace temper {

struct CpuTraits {
  int32_t vector_lanes;  ///< f32
  int32_t vector_registers;
  int32_t fma_latency;
  int32_t fma_per_cycle;
};

CpuTraits cpu_traits();
/// Same vendor, family and model: same number; 0 when the processor does not tell.
uint32_t cpu_model_hash();
/// Tells the processor that this is a loop that waits.
void spin_pause();

/// FNV-1a, 32 bits.
inline uint32_t hash_bytes(const void* data, size_t bytes) {
  uint32_t hash = 0x811C9DC5u;
  for (size_t i = 0; i < bytes; ++i) {
    hash = (hash ^ static_cast<const uint8_t*>(data)[i]) * 0x01000193u;
  }
  return hash;
}

}  // namespace temper
