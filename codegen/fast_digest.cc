#include "codegen/fast_digest.h"

#include <array>
#include <cstddef>
#include <cstring>

namespace temper {
namespace {

constexpr uint32_t kPolynomial = 0xEDB88320u;
constexpr uint32_t kMinusZero = 0x80000000u;
using Table = std::array<std::array<uint32_t, 256>, 8>;

/// table[k][b]: the CRC of byte b followed by k zero bytes. Source: M. Kounavis, F. Berry, "A Systematic Approach to
/// Building High Performance Software-based CRC Generators", 2005 (slicing by 8).
constexpr Table make_table() {
  Table table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1u) != 0 ? kPolynomial : 0u);
    }
    table[0][byte] = crc;
  }
  for (size_t k = 1; k < table.size(); ++k) {
    for (size_t byte = 0; byte < 256; ++byte) {
      table[k][byte] = (table[k - 1][byte] >> 8) ^ table[0][table[k - 1][byte] & 0xFFu];
    }
  }
  return table;
}
constexpr Table kTable = make_table();

uint32_t counted_pattern(const float* element) {
  uint32_t pattern;
  std::memcpy(&pattern, element, sizeof pattern);
  return pattern == kMinusZero ? 0 : pattern;
}

/// Four bytes of a word, lowest first, with `zeros` more bytes behind them.
uint32_t sliced(uint32_t word, size_t zeros) {
  return kTable[zeros + 3][word & 0xFFu] ^ kTable[zeros + 2][word >> 8 & 0xFFu] ^
         kTable[zeros + 1][word >> 16 & 0xFFu] ^ kTable[zeros][word >> 24];
}

}  // namespace

uint32_t fast_digest(Span<const float> output) {
  uint32_t crc = 0xFFFFFFFFu;
  size_t i = 0;
  for (; i + 1 < output.size; i += 2) {
    crc = sliced(crc ^ counted_pattern(&output[i]), 4) ^ sliced(counted_pattern(&output[i + 1]), 0);
  }
  if (i < output.size) {
    crc = sliced(crc ^ counted_pattern(&output[i]), 0);
  }
  return ~crc;
}

}  // namespace temper
