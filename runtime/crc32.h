// CRC-32 (IEEE 802.3, reflected 0xEDB88320), nibble table of 64 bytes. Used for frames and digests.
#pragma once

#include <cstddef>
#include <cstdint>

namespace temper {

/// Continues from `crc` (0 to start), as zlib's crc32 does.
uint32_t crc32(uint32_t crc, const void* data, size_t bytes);

}  // namespace temper
