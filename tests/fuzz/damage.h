// Damage that the suites try, byte by byte. Host only.
#pragma once

#include <doctest/doctest.h>

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

/// Cut anywhere, or up to 64 bytes longer.
template <class Holds>
void require_at_other_lengths(const std::vector<uint8_t>& bytes, Holds holds) {
  for (size_t length = 0; length < bytes.size(); ++length) {
    CAPTURE(length);
    REQUIRE(holds(first_bytes(bytes, length)));
  }
  for (size_t more = 1; more <= 64; ++more) {
    std::vector<uint8_t> longer = bytes;
    longer.resize(bytes.size() + more, more % 2 == 0 ? 0xFF : 0);
    REQUIRE(holds(longer));
  }
}

}  // namespace temper::test
