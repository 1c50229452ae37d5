#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "tests/runtime/sim_devices.h"
#include "tests/runtime/sim_tuning.h"

namespace temper::test {
namespace {

const TryingDevice kDevices[] = {
    {"quick", 1e5, kMillisecond, SimFate::kOk, SimFate::kOk},
    {"tiny kernels", 300, 10000, SimFate::kOk, SimFate::kOk},
    {"slow default", 4e8, kMillisecond, SimFate::kOk, SimFate::kOk},
    {"very slow default", 5e9, kMillisecond, SimFate::kOk, SimFate::kOk},
    {"slow builds", 1e5, 700 * kMillisecond, SimFate::kOk, SimFate::kOk},
    {"very slow builds", 1e5, 6 * kSecond, SimFate::kOk, SimFate::kOk},
    {"hanging candidates", 1e5, kMillisecond, SimFate::kHangs, SimFate::kOk},
    {"hanging builds", 1e5, kMillisecond, SimFate::kBuildHangs, SimFate::kOk},
    {"hanging default", 1e5, kMillisecond, SimFate::kOk, SimFate::kHangs},
    {"everything hangs", 1e5, kMillisecond, SimFate::kHangs, SimFate::kHangs},
};

uint64_t slowest_default(const Tuner& tuner) {
  uint64_t slowest = 0;
  for (uint32_t w = 0; w < tuner.workload_count(); ++w) {
    slowest = std::max(slowest, tuner.state(w).default_ns);
  }
  return slowest;
}

TEST_CASE("a run ends by budget + max(100 ms, 3 x slowest default), whatever the device does") {
  const uint64_t budgets_ms[] = {0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10000};
  for (const uint32_t workloads : {1u, 300u}) {
    const OpenPack pack(many_workloads(workloads, kFourKnobs));
    for (const TryingDevice& device : kDevices) {
      // Where results are there at once a runner cannot be cut while it builds.
      const bool hangs = device.candidate_fate == SimFate::kBuildHangs;
      for (const bool synchronous : {false, true}) {
        if (synchronous && (hangs || device.build_ns > 10 * kMillisecond)) {
          continue;
        }
        for (const uint64_t budget_ms : budgets_ms) {
          CAPTURE(workloads);
          CAPTURE(std::string(device.name));
          CAPTURE(budget_ms);
          CAPTURE(synchronous);
          TunerOptions options;
          options.max_trials = 4096;
          SimTuning tuning(pack, make_device(device, synchronous), options);
          const uint64_t before = tuning.device.clock_ns;
          const Status status = tuning.run({budget_ms * kMillisecond, 0, 0});
          const uint64_t took = tuning.device.clock_ns - before;
          const uint64_t grace = std::max<uint64_t>(100 * kMillisecond, 3 * slowest_default(tuning.tuner));
          CHECK(took <= budget_ms * kMillisecond + grace);
          if (budget_ms == 0) {
            CHECK(status == TEMPER_BUDGET_SPENT);
            CHECK(tuning.device.build_count == 0);
          }
          for (uint32_t w = 0; w < workloads; ++w) {
            const WorkloadState& state = tuning.tuner.state(w);
            CHECK(state.stop != StopReason::kRunning);
            if (state.trials == 0) {
              CHECK(state.stop == StopReason::kUntouched);
              CHECK(is_default(state.best_config));
              CHECK(!state.committed);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("a budget that suffices is used, and what was gained is committed") {
  const OpenPack pack(many_workloads(10, kFourKnobs));
  TunerOptions options;
  options.max_trials = 20000;
  SimTuning tuning(pack, make_device(kDevices[0], false), options);
  CHECK(tuning.run({10 * kSecond, 0, 0}).ok());
  CHECK(tuning.tuner.elapsed_ns() <= 10 * kSecond);
  CHECK(tuning.tuner.elapsed_ns() >= 9 * kSecond);  // what rematches did not need went back to the search
  CHECK(tuning.tuner.trials() > 300);
  for (uint32_t w = 0; w < 10; ++w) {
    CHECK(tuning.tuner.state(w).committed);
    CHECK(!tuning.tuner.state(w).kept_default);
  }
}

TEST_CASE("hundreds of workloads: a short budget measures defaults, a longer one tunes and confirms all") {
  const OpenPack pack(many_workloads(300, kFourKnobs));
  TunerOptions options;
  options.max_trials = 4096;
  SimTuning brief(pack, make_device(kDevices[0], false), options);
  CHECK(brief.run({kSecond, 0, 0}).ok());
  CHECK(brief.tuner.trials() > 200);
  SimTuning longer(pack, make_device(kDevices[0], false), options);
  CHECK(longer.run({60 * kSecond, 0, 0}).ok());
  uint32_t tuned = 0;
  for (uint32_t w = 0; w < 300; ++w) {
    tuned += longer.tuner.state(w).committed && !longer.tuner.state(w).kept_default ? 1 : 0;
  }
  CHECK(tuned >= 290);
}

TEST_CASE("what is slow to build is not started near the end, and rematches have their time") {
  const OpenPack pack(plain_pack(kFourKnobs));
  for (const uint64_t budget_s : {8, 15, 40}) {
    SimTuning tuning(pack, make_device(kDevices[4], false));
    CHECK(tuning.run({budget_s * kSecond, 0, 0}).ok());
    CHECK(tuning.tuner.elapsed_ns() <= budget_s * kSecond);
    CHECK(tuning.tuner.state(0).committed);
    // Builds beyond the trials are those of the rematch; of the rest at most the slots' worth was given up.
    CHECK(tuning.device.build_count <= tuning.tuner.trials() + 4 + 4);
  }
}

TEST_CASE("a default cut by the budget is not taken for a failure") {
  const OpenPack pack(plain_pack(kFourKnobs));
  RamStorage storage(1 << 20, 1, 0);
  SimTuning tuning(pack, make_device(kDevices[3], false), {}, storage.storage());
  CHECK(tuning.run({100 * kMillisecond, 0, 0}) == TEMPER_BUDGET_SPENT);
  CHECK(tuning.tuner.state(0).stop == StopReason::kUntouched);
  CHECK(tuning.tuner.trials() == 0);
  SimTuning next(pack, make_device(kDevices[3], false), {}, storage.storage());
  CHECK(next.run({3600 * kSecond, 10, 0}).ok());
  CHECK(next.tuner.state(0).default_ns > 4 * kSecond);
}

TEST_CASE("a slow default is measured with as many samples as the budget allows") {
  const OpenPack pack(plain_pack(kFourKnobs));
  SimTuning tuning(pack, make_device(kDevices[3], false));
  CHECK(tuning.run({25 * kSecond, 0, 0}).ok());
  CHECK(tuning.tuner.state(0).default_ns > 4 * kSecond);
}

}  // namespace
}  // namespace temper::test
