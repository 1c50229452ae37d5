// Repeatable chance for the simulated storage and the suites of cut points. Host only.
#pragma once

#include <cstdint>

namespace temper::test {

/// SplitMix64 (Steele, Lea, Flood 2014).
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  uint64_t roll() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }
  /// 0 .. count - 1; count is at least 1.
  uint32_t below(uint32_t count) { return static_cast<uint32_t>(roll() % count); }
  /// Each bit set `eighths` times out of eight.
  uint8_t bits(uint32_t eighths) {
    uint8_t byte = 0;
    for (uint32_t bit = 0; bit < 8; ++bit) {
      byte = static_cast<uint8_t>(byte | (below(8) < eighths ? 1u << bit : 0u));
    }
    return byte;
  }

 private:
  uint64_t state_;
};

}  // namespace temper::test
