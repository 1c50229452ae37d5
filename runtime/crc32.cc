#include "runtime/crc32.h"

namespace temper {
namespace {

// Remainders of the 16 nibbles: entry n is n shifted through four steps of the reflected polynomial.
constexpr uint32_t kNibble[16] = {
    0x00000000u, 0x1DB71064u, 0x3B6E20C8u, 0x26D930ACu, 0x76DC4190u, 0x6B6B51F4u, 0x4DB26158u, 0x5005713Cu,
    0xEDB88320u, 0xF00F9344u, 0xD6D6A3E8u, 0xCB61B38Cu, 0x9B64C2B0u, 0x86D3D2D4u, 0xA00AE278u, 0xBDBDF21Cu,
};

}  // namespace

uint32_t crc32(uint32_t crc, const void* data, size_t bytes) {
  const uint8_t* at = static_cast<const uint8_t*>(data);
  crc = ~crc;
  for (size_t i = 0; i < bytes; ++i) {
    crc ^= at[i];
    crc = (crc >> 4) ^ kNibble[crc & 15u];
    crc = (crc >> 4) ^ kNibble[crc & 15u];
  }
  return ~crc;
}

}  // namespace temper
