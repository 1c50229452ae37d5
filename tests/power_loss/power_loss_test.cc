// Suites of cut points on simulated storages. Short by default; TEMPER_POWER_LOSS=long asks for all of them.
#include <doctest/doctest.h>

#include <string>

#include "tests/power_loss/cut_points.h"
#include "tests/power_loss/long_form.h"

namespace temper::test {
namespace {

uint64_t all_cut_points = 0, all_reboots = 0, all_checked = 0;

void report(const std::string& name, const CutTally& tally) {
  all_cut_points += tally.cut_points;
  all_reboots += tally.reboots;
  all_checked += tally.trials_checked;
  const double per_thousand = tally.trials == 0 ? 0 : 1000.0 * tally.erases / tally.trials;
  MESSAGE(name << ": " << tally.cut_points << " cut points, " << tally.reboots << " reboots, " << tally.trials_checked
               << " trials checked, generation " << tally.generations << ", " << per_thousand
               << " erases per thousand trials");
  for (const std::string& failure : tally.failures) {
    FAIL_CHECK(name << ": " << failure);
  }
}

std::string name_of(const StorageShape& shape) {
  if (shape.is_file()) {
    return "file";
  }
  return std::string(shape.cached ? "cached flash of " : "flash of ") + std::to_string(shape.size_bytes) +
         " bytes, units " + std::to_string(shape.program_bytes) + ", blocks " + std::to_string(shape.erase_bytes);
}

CutTally cut(uint32_t workloads, const StorageShape& shape, Pressure pressure, const CutChoice& choice,
             const std::vector<Stage>& stages) {
  const SimLife life(workloads);
  CutPoints cuts(life, shape, pressure, choice);
  cuts.run(stages);
  report(name_of(shape), cuts.tally());
  return cuts.tally();
}

/// Of a short run; of a long one everything, with several seeds.
struct Extent {
  CutSpread spread;
  uint32_t sparse, tears;
};

void cut_all(uint32_t workloads, const StorageShape& shape, Pressure pressure, const Extent& brief, CutChoice choice,
             const std::vector<Stage>& stages, uint32_t least_generation = 0) {
  const uint64_t seeds = is_long() ? 2 : 1;
  choice.spread = is_long() && brief.spread != CutSpread::kLogarithmic ? CutSpread::kEach : brief.spread;
  choice.sparse = is_long() ? 4 * brief.sparse : brief.sparse;
  choice.tears = is_long() ? choice.tears : brief.tears;
  for (choice.seed = 1; choice.seed <= seeds; ++choice.seed) {
    CHECK(cut(workloads, shape, pressure, choice, stages).generations >= least_generation);
  }
}

constexpr Extent kEachOnce{CutSpread::kEach, 1, 1};

std::vector<Stage> first_boot(uint32_t trials) { return {{StageKind::kTune, 1, trials}}; }

/// A first boot, then other hardware, a collection, and the first hardware again.
const std::vector<Stage> kWholeLife = {
    {StageKind::kTune, 1, 6}, {StageKind::kTune, 2, 5}, {StageKind::kCollect, 2, 8}, {StageKind::kTune, 1, 5}};

/// With regions of 4 KB each stage is compacted.
const std::vector<Stage> kManyGenerations = {{StageKind::kTune, 1, 12},    {StageKind::kTune, 2, 6},
                                             {StageKind::kCollect, 2, 10}, {StageKind::kTune, 3, 6},
                                             {StageKind::kTune, 4, 6},     {StageKind::kTune, 1, 6}};

TEST_CASE("a cut at any operation of a small first boot loses nothing, whatever the unit") {
  for (const uint32_t unit : {1u, 2u, 4u, 8u, 16u, 32u, 128u, 256u}) {
    for (const bool cached : {false, true}) {
      const bool small = unit <= 2;
      cut_all(small ? 1 : 2, {16384, unit, 16384, cached}, Pressure::kMild,
              {small ? CutSpread::kAtRandom : CutSpread::kEach, 4, 1}, {}, first_boot(small ? 3 : 4));
    }
  }
}

TEST_CASE("a cut at any operation of a life loses nothing") {
  cut_all(2, {1 << 20, 1, 0}, Pressure::kMild, kEachOnce, {}, kWholeLife);
  cut_all(2, {32768, 16, 32768}, Pressure::kMild, kEachOnce, {}, kWholeLife);
}

TEST_CASE("a cut at any operation of a first boot that compacts loses no trial at all") {
  for (const bool cached : {false, true}) {
    cut_all(3, {8192, 16, 1024, cached}, Pressure::kMild, kEachOnce, {}, first_boot(10), 2);
  }
}

TEST_CASE("a cut at any operation of a life with many compactions loses what the levels drop and nothing else") {
  const Extent brief{CutSpread::kAtRandom, 6, 1};
  cut_all(3, {8192, 16, 1024}, Pressure::kHigh, brief, {}, kManyGenerations, 5);
  cut_all(3, {8192, 16, 1024, true}, Pressure::kHigh, brief, {}, kManyGenerations, 5);
  cut_all(3, {8192, 4, 4096}, Pressure::kHigh, {CutSpread::kAtRandom, 30, 1}, {}, kManyGenerations, 4);
  cut_all(3, {65536, 256, 4096, true}, Pressure::kHigh, brief, {}, kManyGenerations, 2);
  cut_all(3, {9216, 32, 1024}, Pressure::kHigh, brief, {}, kManyGenerations, 6);  // an odd block
}

TEST_CASE("cuts in the boots behind cuts lose nothing, also in one compaction after another") {
  CutChoice choice;
  choice.again = 1;
  choice.again_depth = 4;
  choice.tears = 2;
  const Extent brief{CutSpread::kAtRandom, 24, 1};
  cut_all(2, {1 << 20, 1, 0}, Pressure::kMild, brief, choice, first_boot(6));
  cut_all(2, {16384, 8, 16384}, Pressure::kMild, brief, choice, first_boot(6));
  cut_all(3, {8192, 16, 1024}, Pressure::kHigh, brief, choice, kManyGenerations);
  cut_all(3, {8192, 16, 1024, true}, Pressure::kHigh, brief, choice, kManyGenerations);
}

TEST_CASE("cuts of long lives, near their begin and ever fewer, lose nothing") {
  const std::vector<Stage> long_life = {
      {StageKind::kTune, 1, 24}, {StageKind::kTune, 2, 16}, {StageKind::kCollect, 2, 60}, {StageKind::kTune, 3, 16}};
  const Extent logarithmic{CutSpread::kLogarithmic, 8, 1};
  cut_all(12, {65536, 8, 4096}, Pressure::kHigh, logarithmic, {}, long_life);
  cut_all(12, {1 << 20, 1, 0}, Pressure::kMild, logarithmic, {}, long_life);
}

TEST_CASE("the cut points of these suites are as many as are promised") {
  MESSAGE("in all: " << all_cut_points << " cut points, " << all_reboots << " reboots, " << all_checked
                     << " trials checked");
  CHECK(all_cut_points >= (is_long() ? 100000 : 2000));
}

}  // namespace
}  // namespace temper::test
