// Storage in RAM for tests, with the manners of flash (program size, erased to 0xFF, never program twice) or of a file
// (grows, reads end with it), and its troubles: power cuts at any program or erase operation, read-only, full, failing,
// stuck bits. Host only.
#pragma once

#include <cstdint>
#include <vector>

#include "temper/port.h"

namespace temper::test {

class RamStorage {
 public:
  /// erase_bytes 0: a file of at most size_bytes, empty at first. Else flash, erased.
  RamStorage(uint32_t size_bytes, uint32_t program_bytes, uint32_t erase_bytes);
  RamStorage(const RamStorage&) = delete;
  RamStorage& operator=(const RamStorage&) = delete;
  const temper_storage* storage() const { return &storage_; }

  std::vector<uint8_t>& bytes() { return bytes_; }
  /// A file becomes this; flash gets it from offset 0 on, as programmed.
  void set_bytes(const std::vector<uint8_t>& bytes);

  /// Power fails after this many more operations (a program of program_bytes each, or an erase): the rest of the call
  /// and every later call are lost. An erase that is cut leaves the second half of its block as it was.
  void cut_power_after(uint32_t operations) { operations_left_ = operations; }
  void restore_power() {
    operations_left_ = UINT32_MAX;
    power_failed_ = false;
  }
  /// Done so far, erases included.
  uint32_t operations() const { return operations_; }
  uint32_t erases() const { return erases_; }
  uint32_t program_calls() const { return program_calls_; }
  uint32_t syncs() const { return syncs_; }
  /// True when a call broke the contract: unaligned, outside, or programming what was programmed before.
  bool misused() const { return misused_; }

  bool read_only = false;   ///< program fails
  bool read_fails = false;  ///< every read fails
  bool sync_fails = false;
  uint32_t unerasable_offset = UINT32_MAX;  ///< erasing the block here fails
  uint32_t stuck_offset = UINT32_MAX;       ///< the byte here keeps its lowest bit cleared
  uint32_t room_bytes =
      UINT32_MAX;  ///< bytes that may still be programmed; the call that crosses this writes what fits

 private:
  temper_status read(uint32_t offset, void* to, uint32_t bytes);
  temper_status program(uint32_t offset, const uint8_t* from, uint32_t bytes);
  temper_status program_unit(uint32_t offset, const uint8_t* from);
  temper_status erase(uint32_t offset);

  temper_storage storage_{};
  std::vector<uint8_t> bytes_;
  std::vector<bool> programmed_;
  uint32_t operations_left_ = UINT32_MAX;
  uint32_t operations_ = 0, program_calls_ = 0, syncs_ = 0, erases_ = 0;
  bool power_failed_ = false;  ///< an operation was cut
  bool misused_ = false;
};

}  // namespace temper::test
