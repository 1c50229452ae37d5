// The one random generator of the device core: xorshift32, seeded by the caller, bit-identical everywhere.
#pragma once

#include <cstdint>

namespace temper {

/// Source: G. Marsaglia, "Xorshift RNGs", 2003 (triple 13, 17, 5).
class Random {
 public:
  explicit Random(uint64_t seed) {
    // The finaliser of MurmurHash3 (A. Appleby, public domain), so that neighbouring seeds give unrelated streams.
    uint32_t folded = static_cast<uint32_t>(seed ^ (seed >> 32));
    folded = (folded ^ (folded >> 16)) * 0x85EBCA6Bu;
    folded = (folded ^ (folded >> 13)) * 0xC2B2AE35u;
    folded ^= folded >> 16;
    state_ = folded == 0 ? 1u : folded;
  }
  uint32_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 17;
    state_ ^= state_ << 5;
    return state_;
  }
  /// Uniform in [0, bound); 0 when bound is 0.
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>((static_cast<uint64_t>(next()) * bound) >> 32); }

 private:
  uint32_t state_;
};

}  // namespace temper
