// Suites of cut points on simulated storages. Short by default; TEMPER_POWER_LOSS=long asks for all of them.
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "tests/power_loss/cut_points.h"

namespace temper::test {
namespace {

[[maybe_unused]] bool is_long() {
  const char* const asked = std::getenv("TEMPER_POWER_LOSS");
  return asked != nullptr && std::string(asked) == "long";
}

void report(const std::string& name, const CutTally& tally) {
  static uint64_t all_cut_points = 0, all_reboots = 0, all_checked = 0;
  all_cut_points += tally.cut_points;
  all_reboots += tally.reboots;
  all_checked += tally.trials_checked;
  const double per_thousand = tally.trials == 0 ? 0 : 1000.0 * tally.erases / tally.trials;
  MESSAGE(name << ": " << tally.cut_points << " cut points, " << tally.reboots << " reboots, " << tally.trials_checked
               << " trials checked, generation " << tally.generations << ", " << per_thousand
               << " erases per thousand trials; so far " << all_cut_points << " cut points, " << all_reboots
               << " reboots, " << all_checked << " trials checked");
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

constexpr uint32_t kFirst = 1, kOther = 2;  // devices: core types
const std::vector<Stage> kWholeLife = {{StageKind::kTune, kFirst, 6},
                                       {StageKind::kTune, kOther, 5},
                                       {StageKind::kCollect, kOther, 8},
                                       {StageKind::kTune, kFirst, 5}};

TEST_CASE("a cut at any operation of a small first boot loses nothing, whatever the unit") {
  for (const uint32_t unit : {4u, 8u, 16u, 32u, 128u, 256u}) {
    for (const bool cached : {false, true}) {
      cut(2, {16384, unit, 16384, cached}, Pressure::kMild, {}, {{StageKind::kTune, kFirst, 4}});
    }
  }
  cut(1, {16384, 1, 16384}, Pressure::kMild, {}, {{StageKind::kTune, kFirst, 3}});
  cut(1, {16384, 2, 16384}, Pressure::kMild, {}, {{StageKind::kTune, kFirst, 3}});
}

TEST_CASE("a cut at any operation of a life on a file loses nothing") {
  cut(2, {1 << 20, 1, 0}, Pressure::kMild, {}, kWholeLife);
}

TEST_CASE("a cut in the boot behind a cut loses nothing") {
  CutChoice choice;
  choice.every = 7;
  choice.again = 2;
  choice.again_depth = 3;
  cut(2, {16384, 8, 16384}, Pressure::kMild, choice, {{StageKind::kTune, kFirst, 6}});
  cut(2, {1 << 20, 1, 0}, Pressure::kMild, choice, {{StageKind::kTune, kFirst, 6}});
}

TEST_CASE("a cut at any operation of a life on flash loses nothing") {
  cut(2, {32768, 16, 32768}, Pressure::kMild, {}, kWholeLife);
}

}  // namespace
}  // namespace temper::test
