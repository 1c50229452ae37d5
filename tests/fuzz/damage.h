// Damage that the suites try, byte by byte. Host only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace temper::test {

inline constexpr uint8_t kEachBit[] = {1, 2, 4, 8, 16, 32, 64, 128, 255};

/// One bit of each byte, another one for each, where all nine would take too long.
constexpr uint8_t some_bit(size_t at) { return static_cast<uint8_t>(1u << at % 8); }

inline std::vector<uint8_t> flipped(std::vector<uint8_t> bytes, size_t at, uint8_t mask) {
  bytes[at] ^= mask;
  return bytes;
}

inline std::vector<uint8_t> first_bytes(const std::vector<uint8_t>& bytes, size_t count) {
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace temper::test
