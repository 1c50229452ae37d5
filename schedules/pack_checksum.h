// Gives a kernel pack its checksum: the value of its crc field with which the CRC-32 of all its bytes is kPackCrc. So
// the device compares one number and need not know where the field lies. Called where packs are written, on the host.
#pragma once

#include <cstdint>
#include <vector>

namespace temper {

/// TEMPER_BAD_DATA's cause where it returns false: FlatBuffers' rules do not hold, or there is no crc field.
[[nodiscard]] bool seal_pack(std::vector<uint8_t>* pack);

}  // namespace temper
