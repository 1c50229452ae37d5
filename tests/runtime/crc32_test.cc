#include "runtime/crc32.h"

#include <doctest/doctest.h>

#include <vector>

namespace temper {

TEST_CASE("the CRC has the published check value and continues over pieces") {
  const char text[] = "123456789";
  CHECK(crc32(0, text, 9) == 0xCBF43926u);
  for (size_t cut = 0; cut <= 9; ++cut) {
    CHECK(crc32(crc32(0, text, cut), text + cut, 9 - cut) == 0xCBF43926u);
  }
  CHECK(crc32(0, text, 0) == 0);
  CHECK(crc32(0x1234, nullptr, 0) == 0x1234);
}

TEST_CASE("the CRC is that of its polynomial, bit by bit, and differs for each flipped bit") {
  std::vector<uint8_t> data(70);
  for (size_t i = 0; i < data.size(); ++i) {
    data[i] = static_cast<uint8_t>(i * 37 + 11);
  }
  uint32_t expected = 0xFFFFFFFFu;
  for (const uint8_t byte : data) {
    for (int bit = 0; bit < 8; ++bit) {
      const bool out = ((expected ^ static_cast<uint32_t>(byte >> bit)) & 1u) != 0;
      expected = (expected >> 1) ^ (out ? 0xEDB88320u : 0u);
    }
  }
  CHECK(crc32(0, data.data(), data.size()) == ~expected);
  for (size_t i = 0; i < data.size() * 8; ++i) {
    data[i / 8] = static_cast<uint8_t>(data[i / 8] ^ 1u << i % 8);
    CHECK(crc32(0, data.data(), data.size()) != ~expected);
    data[i / 8] = static_cast<uint8_t>(data[i / 8] ^ 1u << i % 8);
  }
}

}  // namespace temper
