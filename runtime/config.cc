#include "runtime/config.h"

namespace temper {

uint32_t hash_config(const Config& config, uint32_t salt) {
  constexpr uint32_t kPrime = 16777619u;
  uint32_t hash = 2166136261u;
  for (uint32_t shift = 0; shift < 32; shift += 8) {
    hash = (hash ^ ((salt >> shift) & 0xFFu)) * kPrime;
  }
  for (const uint8_t choice : config.choice) {
    hash = (hash ^ choice) * kPrime;
  }
  return hash;
}

}  // namespace temper
