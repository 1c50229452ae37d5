#include <doctest/doctest.h>

#include "tests/runtime/sim_clocks.h"
#include "tests/runtime/sim_tuning.h"

namespace temper::test {
namespace {

constexpr uint64_t kBudget = 6 * kSecond;

TEST_CASE(
    "a clock that jumps or stands in the middle of a run: it ends, keeps its budget, and commits nothing slower") {
  const OpenPack pack(many_workloads(3, kFourKnobs));
  uint32_t runs = 0, slower = 0, commits = 0;
  for (uint64_t at = 10 * kMillisecond; at < kBudget; at += 397 * kMillisecond) {
    for (const BrokenClock& clock : broken_clocks(at)) {
      CAPTURE(clock.name);
      CAPTURE(at);
      RamStorage storage(1 << 20, 1, 0);
      SimTuning tuning(pack, clock_device(clock, at, false), {}, storage.storage());
      const Status status = tuning.run({kBudget, 0, 0});
      CHECK((status.ok() || status == TEMPER_BUDGET_SPENT || status == TEMPER_PORT_ERROR));
      CHECK(tuning.device.clock_ns - kClockStart < kBudget + clock.hidden_ns + 400 * kMillisecond);
      ++runs;
      for (const ScannedFrame& frame : ScannedHistory(storage.storage()).frames) {
        CommitView view;
        if (!read_commit({frame.type, frame.sequence, {frame.payload.data(), frame.payload.size()}}, &view).ok()) {
          continue;
        }
        temper_facts facts = test_facts();
        std::vector<int32_t> values(pack.view().scratch_values());
        std::vector<Interval> intervals(pack.view().scratch_intervals());
        const uint32_t workload = pack.view().find_workload(view.commit.workload());
        const Space space(&pack.view(), workload, &facts, {values.data(), intervals.data()});
        Config config;
        REQUIRE(config_from_knobs(space, view.knobs, &config).ok());
        ++commits;
        slower += clock_landscape(workload, config) > 1.01e6 ? 1 : 0;
      }
    }
  }
  MESSAGE(runs << " runs, " << commits << " commits, " << slower << " of them slower");
  CHECK(slower == 0);
  CHECK(commits > runs);
}

}  // namespace
}  // namespace temper::test
