// A history's storage in memory, with the manners of a file (grows, reads end with it) or of flash that is only read.
// Used where histories are read from other forms and where new ones are put together before they are written.
#pragma once

#include <cstdint>
#include <vector>

#include "temper/port.h"

namespace temper {

class MemoryStorage {
 public:
  enum class Manners { kFile, kReadOnlyFile, kReadOnlyFlash };
  MemoryStorage(std::vector<uint8_t> bytes, Manners manners);
  MemoryStorage(const MemoryStorage&) = delete;
  MemoryStorage& operator=(const MemoryStorage&) = delete;

  const temper_storage* storage() const { return &storage_; }
  const std::vector<uint8_t>& bytes() const { return bytes_; }
  /// Where the last read began: while a history visits a frame, where that lies.
  uint32_t last_read() const { return last_read_; }

 private:
  static temper_status read_bytes(void* self, uint32_t offset, void* to, uint32_t bytes);

  temper_storage storage_{};
  std::vector<uint8_t> bytes_;
  uint32_t last_read_ = 0;
};

}  // namespace temper
