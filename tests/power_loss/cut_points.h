// Runs a device's life, cuts power at its operations in every way, and lets it recover: what the suites of cut points
// share. Host only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/power_loss/device_diary.h"
#include "tests/power_loss/power_cut.h"

namespace temper::test {

/// Which operations of a boot power is cut at.
enum class CutSpread : uint8_t {
  kEach,        ///< every one
  kAtRandom,    ///< one of about `sparse`
  kLogarithmic  ///< the first ones, then ever fewer: each about 1 + 1 / sparse times as far from the start
};

struct CutChoice {
  CutSpread spread = CutSpread::kEach;
  uint32_t sparse = 1;
  uint32_t tears = static_cast<uint32_t>(Tear::kCount);  ///< ways to tear each of them
  uint32_t again = 0;                                    ///< cuts in the boot behind each cut, at random,
  uint32_t again_depth = 1;                              ///< and so on, so deep
  uint64_t seed = 1;
};

struct CutTally {
  uint32_t cut_points = 0;
  uint32_t reboots = 0;
  uint64_t trials_checked = 0;
  uint32_t trials = 0;  ///< of the life without cuts
  uint32_t erases = 0;  ///< of the life without cuts
  uint32_t generations = 0;
  std::vector<std::string> failures;
};

class CutPoints {
 public:
  CutPoints(const SimLife& life, const StorageShape& shape, Pressure pressure, const CutChoice& choice)
      : life_(life), shape_(shape), choice_(choice), diary_(pressure), image_(shape), dice_(choice.seed) {}

  /// Every stage follows the one before it as it is without a cut.
  void run(const std::vector<Stage>& stages);
  const CutTally& tally() const { return tally_; }

 private:
  struct Situation {
    StorageImage image;
    DeviceDiary diary;
    uint32_t stage_trials;  ///< promised of the stage
    uint32_t cuts;
    std::string where;
    std::optional<Attempt> in_flight = {};  ///< ran when power failed, and no trial tells of it
  };
  std::vector<uint32_t> choose(uint32_t count);
  void cut_boot(const Stage& stage, const Situation& before, const SimFlash& flash, const BootResult& result,
                const std::vector<uint32_t>& chosen, uint32_t tears, uint32_t depth);
  void recover(const Stage& stage, Situation cut, uint32_t depth);
  void check_quarantine(const Situation& cut, const std::vector<ReadRecord>& open, const BootResult& result,
                        const ReadHistory& after, uint32_t device);
  void check_second_boot(const Stage& stage, const StorageImage& image, const std::string& where);
  void check(const std::string& where, const std::string& complaint);
  uint64_t seed_of(uint32_t operation, uint32_t tear) const;

  const SimLife& life_;
  StorageShape shape_;
  CutChoice choice_;
  DeviceDiary diary_;
  StorageImage image_;
  Dice dice_;
  uint32_t reference_trials_ = 0;
  CutTally tally_;
};

}  // namespace temper::test
