// A simulated storage that remembers every operation, so that power can be cut behind any of them: flash with program
// units, erase blocks and wear, or a file that is appended to. Called through temper_storage's callbacks; a breach of
// the contract of port.h is kept as a fault. Host only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "temper/port.h"
#include "tests/power_loss/dice.h"

namespace temper::test {

/// How it is cut into units. erase_bytes 0: a file.
struct StorageShape {
  uint32_t size_bytes;
  uint32_t program_bytes;
  uint32_t erase_bytes;
  /// Operations since the last sync reach the cells in any order, but an erase before what is programmed behind it in
  /// the same block.
  bool cached = false;

  bool is_file() const { return erase_bytes == 0; }
};

/// The cells, or the file's bytes. A value: copies are later taken up by other boots.
struct StorageImage {
  explicit StorageImage(const StorageShape& shape);

  std::vector<uint8_t> bytes;
  std::vector<uint8_t> unsteady;  ///< flash: bits that read as they like, until their block is erased
  std::vector<bool> programmed;   ///< flash: units that may not be programmed before their block is erased
  std::vector<uint32_t> erases;   ///< by block
};

enum class OperationKind : uint8_t { kProgram, kErase, kSync };

struct Operation {
  OperationKind kind;
  uint32_t offset;
  std::vector<uint8_t> bytes;  ///< of a program unit; of a file: of the whole call
};

/// What a block does once it was erased more often than it stands.
enum class WornOut : uint8_t { kEraseFails, kProgramFails, kBitsStick };

class SimFlash {
 public:
  SimFlash(const StorageShape& shape, StorageImage image, uint64_t seed);
  SimFlash(const SimFlash&) = delete;
  SimFlash& operator=(const SimFlash&) = delete;
  const temper_storage* storage() const { return &storage_; }

  const StorageImage& image() const { return image_; }
  const std::vector<Operation>& operations() const { return operations_; }
  const std::vector<std::string>& faults() const { return faults_; }

  /// Blocks stand so many erases and up to three more, a matter of `part`: of the copy of the device.
  void wear_out_after(uint32_t erases, WornOut how, uint64_t part);
  /// Some operation failed, or kept other bits than it was given.
  bool has_failed() const { return has_failed_; }

 private:
  temper_status read(uint32_t offset, uint8_t* to, uint32_t bytes);
  temper_status program(uint32_t offset, const uint8_t* from, uint32_t bytes);
  temper_status erase(uint32_t offset);
  temper_status refuse(const char* what, uint32_t offset, uint32_t bytes);
  bool worn(uint32_t offset) const;

  StorageShape shape_;
  temper_storage storage_{};
  StorageImage image_;
  std::vector<Operation> operations_;
  std::vector<std::string> faults_;
  Dice dice_;
  std::vector<uint32_t> endurance_;  ///< of each block; empty: for ever
  WornOut worn_out_ = WornOut::kEraseFails;
  bool has_failed_ = false;
};

/// Does what one operation does when power holds.
void apply(const StorageShape& shape, const Operation& operation, StorageImage* image);

}  // namespace temper::test
