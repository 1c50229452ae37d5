#include <doctest/doctest.h>

#include <chrono>

#include "tests/power_loss/cut_points.h"

namespace temper::test {
namespace {

void report(const char* name, const CutTally& tally) {
  MESSAGE(std::string(name) << ": " << tally.cut_points << " cut points, " << tally.reboots << " reboots, "
                            << tally.trials_checked << " trials checked, generation " << tally.generations << ", "
                            << (tally.trials == 0 ? 0 : 1000.0 * tally.erases / tally.trials)
                            << " erases per thousand trials");
  for (const std::string& failure : tally.failures) {
    FAIL_CHECK(failure);
  }
}

TEST_CASE("power cut at every operation of a first boot on flash") {
  const SimLife life(2);
  CutPoints cuts(life, {8192, 8, 8192}, Pressure::kMild, {});
  cuts.run({{StageKind::kTune, 1, 6}});
  report("flash", cuts.tally());
}

}  // namespace
}  // namespace temper::test
