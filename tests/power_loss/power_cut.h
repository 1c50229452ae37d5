// What a power cut leaves: the image behind the first operations of a boot, with the one in progress torn and those
// that were not synced lost in part. Called by the suites of cut points. Host only.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/power_loss/sim_flash.h"

namespace temper::test {

/// How the operation in progress is torn. Flash; a file takes what is meant by it for what is appended.
enum class Tear : uint8_t {
  kNotBegun,  ///< nothing of it was done
  kBytes,     ///< its first bytes; a file: its first bytes
  kBits,      ///< any of its bits; a file: all its bytes, some stretches hold zeros
  kUnsteady,  ///< any of its bits, and others read differently each time; a file: longer already, all zeros
  kZeros,     ///< an erase that programs everything to zero before it begins; a file: its first bytes, then zeros
  kCount
};

/// `done` operations were finished, then power failed in the next one.
StorageImage cut_power(const StorageShape& shape, const StorageImage& before, const std::vector<Operation>& operations,
                       uint32_t done, Tear tear, uint64_t seed);

/// Cuts of one boot in ascending order, without beginning anew for each: keeps what was synced so far.
class CutSeries {
 public:
  CutSeries(const StorageShape& shape, const StorageImage& before, const std::vector<Operation>& operations)
      : shape_(shape), operations_(operations), settled_(before) {}
  /// `done` never decreases.
  StorageImage cut(uint32_t done, Tear tear, uint64_t seed);

 private:
  StorageShape shape_;
  const std::vector<Operation>& operations_;
  StorageImage settled_;
  uint32_t settled_count_ = 0;
};

}  // namespace temper::test
