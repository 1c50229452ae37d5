// Makes mutated files whole again, as far as checksums go: a fuzzer that has to guess a CRC tries nothing else. And the
// frames of a history as a reader without our code would find them. Host only.
#pragma once

#include <cstdint>
#include <vector>

namespace temper::test {

/// A whole frame, by its magic, length and CRC.
struct FramePlace {
  uint32_t offset, bytes;  ///< of header and payload, without padding
};

/// From offset 0 on, at multiples of `unit`.
std::vector<FramePlace> frames_in(const std::vector<uint8_t>& bytes, uint32_t unit);

/// What looks like a frame gets its CRC. By seed, frames are doubled, swapped, left out or padded before that.
void repair_history(std::vector<uint8_t>* bytes, uint32_t seed);
/// The checksum of a tuned table and of a kernel pack, where the rest lets it be found.
void repair_table(std::vector<uint8_t>* bytes, uint32_t seed);
void repair_pack(std::vector<uint8_t>* bytes, uint32_t seed);
/// Frames, and the checksums of Intel HEX records.
void repair_source(std::vector<uint8_t>* bytes, uint32_t seed);
void leave_alone(std::vector<uint8_t>* bytes, uint32_t seed);

}  // namespace temper::test
