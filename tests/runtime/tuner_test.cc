#include "runtime/tuner.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "tests/runtime/sim_devices.h"
#include "tests/runtime/sim_tuning.h"

namespace temper::test {
namespace {

bool all_distinct(const std::vector<std::pair<uint32_t, Config>>& tried) {
  std::set<std::string> seen;
  return std::all_of(tried.begin(), tried.end(),
                     [&](const auto& trial) { return seen.insert(text_of(trial.first, trial.second)).second; });
}

TEST_CASE("a space of 3 x 2 x 2 choices is enumerated in 12 trials and stops") {
  const OpenPack pack(plain_pack({up_to(3), up_to(2), up_to(2)}));
  for (const uint32_t per_workload : {0u, 12u, 100u}) {
    SimOptions sim = bowl_device();
    SimTuning tuning(pack, sim);
    CHECK(tuning.run({3600 * kSecond, 0, per_workload}).ok());
    CHECK(tuning.tuner.trials() == 12);
    CHECK(all_distinct(tuning.tried));
    CHECK(tuning.tuner.state(0).stop == StopReason::kExhausted);
    CHECK(tuning.tuner.elapsed_ns() < kSecond);
    CHECK(tuning.tuner.state(0).best_config.choice[0] == 2);
  }
}

TEST_CASE("random and annealing also find the last config of a small space") {
  const OpenPack pack(plain_pack({up_to(3), up_to(2), up_to(2)}));
  for (const SearcherKind kind : {SearcherKind::kRandom, SearcherKind::kAnnealing, SearcherKind::kGrid}) {
    TunerOptions options;
    options.searcher = kind;
    SimTuning tuning(pack, bowl_device(), options);
    CHECK(tuning.run({3600 * kSecond, 0, 0}).ok());
    CHECK(tuning.tuner.trials() == 12);
    CHECK(all_distinct(tuning.tried));
  }
}

TEST_CASE("a space of one config is measured once and keeps the default") {
  const OpenPack pack(plain_pack({up_to(1), up_to(1)}));
  SimTuning tuning(pack, bowl_device());
  CHECK(tuning.run({60 * kSecond, 0, 0}).ok());
  const WorkloadState& state = tuning.tuner.state(0);
  CHECK(tuning.tuner.trials() == 1);
  CHECK(state.stop == StopReason::kExhausted);
  CHECK(state.kept_default);
  CHECK(state.committed);
  CHECK(state.default_ns > 0);
  CHECK(tuning.device.build_count == 1);
}

TEST_CASE("400 trials or 30 minutes, whichever comes first") {
  const OpenPack pack(plain_pack({up_to(16), up_to(16), up_to(8), up_to(8)}));
  TunerOptions options;
  SUBCASE("fast trials end by their number") {
    SimTuning tuning(pack, bowl_device(), options);
    CHECK(tuning.run({1800 * kSecond, 400, 0}).ok());
    CHECK(tuning.tuner.trials() == 400);
    CHECK(tuning.tuner.elapsed_ns() < 1800 * kSecond);
  }
  SUBCASE("slow ones by the time") {
    SimOptions sim = bowl_device();
    sim.build_ns = 12 * kSecond;
    sim.build_workers = 1;
    SimTuning tuning(pack, sim, options);
    CHECK(tuning.run({1800 * kSecond, 400, 0}).ok());
    CHECK(tuning.tuner.trials() < 400);
    CHECK(tuning.tuner.trials() > 100);
    CHECK(tuning.tuner.elapsed_ns() <= 1800 * kSecond + 100 * kMillisecond);
    CHECK(tuning.tuner.state(0).committed);
  }
}

TEST_CASE("every workload's default is measured before any candidate, and the rest is legal, new and committed") {
  const OpenPack pack(many_workloads(7, kFourKnobs));
  SimTuning tuning(pack, bowl_device());
  CHECK(tuning.run({3600 * kSecond, 200, 0}).ok());
  REQUIRE(tuning.tried.size() == 200);
  for (size_t i = 0; i < tuning.tried.size(); ++i) {
    CHECK(is_default(tuning.tried[i].second) == (i < 7));
  }
  CHECK(all_distinct(tuning.tried));
  for (uint32_t w = 0; w < 7; ++w) {
    const WorkloadState& state = tuning.tuner.state(w);
    CHECK(state.trials >= 4);
    CHECK(state.committed);
    CHECK(!state.kept_default);
    CHECK(state.rematch_best_ns < state.rematch_default_ns);
    CHECK(bowl(w, state.best_config) < 0.6 * bowl(w, state.default_config));
  }
  CHECK(tuning.commits == 7);
}

TEST_CASE("builds overlap runs, and the step never spins while the workers are busy") {
  const OpenPack pack(plain_pack(kFourKnobs));
  SimOptions sim = bowl_device();
  sim.build_ns = 20 * kMillisecond;
  SimTuning tuning(pack, sim);
  CHECK(tuning.run({3600 * kSecond, 100, 0}).ok());
  CHECK(tuning.device.builds_in_flight_max >= 2);
  // A wait lasts up to 2 ms: polls in vain are bounded by elapsed time, for all slots and the run.
  CHECK(tuning.device.busy_polls < 6 * (tuning.tuner.elapsed_ns() / (2 * kMillisecond)) + 20 * tuning.tuner.trials());
}

TEST_CASE("a runner without wait and with a single slot is served too") {
  const OpenPack pack(many_workloads(3, kFourKnobs));
  for (const uint8_t slots : {uint8_t{1}, uint8_t{2}, uint8_t{3}, uint8_t{8}}) {
    for (const bool synchronous : {false, true}) {
      SimOptions sim = bowl_device();
      sim.slot_count = slots;
      sim.synchronous = synchronous;
      SimTuning tuning(pack, sim);
      CHECK(tuning.run({60 * kSecond, 90, 0}).ok());
      CHECK(tuning.tuner.trials() == 90);
      for (uint32_t w = 0; w < 3; ++w) {
        CHECK(tuning.tuner.state(w).committed);
        CHECK(!tuning.tuner.state(w).kept_default);
      }
    }
  }
}

TEST_CASE("candidates that all fail stop the workload with that reason and keep the default") {
  const OpenPack pack(many_workloads(2, kFourKnobs));
  const std::pair<SimFate, temper_outcome> fates[] = {{SimFate::kBuildError, TEMPER_OUTCOME_BUILD_ERROR},
                                                      {SimFate::kWrongResult, TEMPER_OUTCOME_WRONG_RESULT},
                                                      {SimFate::kCrashes, TEMPER_OUTCOME_CRASHED},
                                                      {SimFate::kHangs, TEMPER_OUTCOME_TIMEOUT},
                                                      {SimFate::kBuildHangs, TEMPER_OUTCOME_TIMEOUT}};
  for (const auto& [fate, outcome] : fates) {
    SimOptions sim = bowl_device();
    sim.fate = [fate = fate](uint32_t workload, const Config& config) {
      return workload == 0 && !is_default(config) ? fate : SimFate::kOk;
    };
    SimTuning tuning(pack, sim);
    CHECK(tuning.run({60 * kSecond, 100, 0}).ok());
    const WorkloadState& failing = tuning.tuner.state(0);
    CHECK(failing.stop == StopReason::kFailures);
    CHECK(failing.outcomes[outcome] >= 8);
    CHECK(failing.outcomes[outcome] <= 12);  // those in flight when the eighth failed
    CHECK(failing.outcomes[TEMPER_OUTCOME_OK] == 1);
    CHECK(failing.kept_default);
    CHECK(is_default(failing.best_config));
    CHECK(!tuning.tuner.state(1).kept_default);
  }
}

TEST_CASE("where nothing works the run says so") {
  const OpenPack pack(plain_pack(kFourKnobs));
  for (const SimFate fate : {SimFate::kBuildError, SimFate::kWrongResult, SimFate::kCrashes, SimFate::kHangs}) {
    SimOptions sim = bowl_device();
    sim.fate = [fate](uint32_t, const Config&) { return fate; };
    SimTuning tuning(pack, sim);
    CHECK(tuning.run({300 * kSecond, 100, 0}) == TEMPER_NOTHING_TO_TUNE);
    CHECK(tuning.tuner.state(0).stop != StopReason::kRunning);
    CHECK(tuning.tuner.trials() <= 12);
    CHECK(!tuning.tuner.state(0).committed);
  }
  const OpenPack single(plain_pack({up_to(1)}));
  SimOptions sim;
  sim.fate = [](uint32_t, const Config&) { return SimFate::kCrashes; };
  SimTuning tuning(single, sim);
  CHECK(tuning.run({60 * kSecond, 0, 0}) == TEMPER_NOTHING_TO_TUNE);
  CHECK(tuning.tuner.state(0).stop == StopReason::kDefaultFailed);
  CHECK(tuning.tuner.trials() == 1);
}

TEST_CASE("a default that fails is replaced by what works") {
  const OpenPack pack(plain_pack(kFourKnobs));
  SimOptions sim = bowl_device();
  sim.fate = [](uint32_t, const Config& config) { return is_default(config) ? SimFate::kWrongResult : SimFate::kOk; };
  SimTuning tuning(pack, sim);
  CHECK(tuning.run({60 * kSecond, 40, 0}).ok());
  const WorkloadState& state = tuning.tuner.state(0);
  CHECK(tuning.tuner.trials() == 40);
  CHECK(state.default_ns == 0);
  CHECK(state.committed);
  CHECK(!state.kept_default);
  CHECK(!is_default(state.best_config));
}

TEST_CASE("the default stays where nothing is faster") {
  const OpenPack pack(plain_pack(kFourKnobs));
  SimOptions sim = bowl_device();
  sim.time_ns = [](uint32_t, const Config& config) { return is_default(config) ? 1e5 : 1.1e5; };
  SimTuning tuning(pack, sim);
  CHECK(tuning.run({60 * kSecond, 60, 0}).ok());
  CHECK(tuning.tuner.state(0).kept_default);
  CHECK(tuning.tuner.state(0).committed);
  CHECK(is_default(tuning.tuner.state(0).best_config));
}

TEST_CASE("the same seed gives the same run, another seed another one") {
  const OpenPack pack(many_workloads(3, kFourKnobs));
  std::vector<std::pair<uint32_t, Config>> runs[3];
  for (int i = 0; i < 3; ++i) {
    TunerOptions options;
    options.seed = i == 2 ? 7 : 1;
    SimTuning tuning(pack, bowl_device(), options);
    CHECK(tuning.run({60 * kSecond, 60, 0}).ok());
    runs[i] = tuning.tried;
  }
  CHECK(runs[0] == runs[1]);
  CHECK(runs[0] != runs[2]);
}

TEST_CASE("early stopping ends a search that no longer gains") {
  const OpenPack pack(plain_pack(kFourKnobs));
  SimOptions sim;
  TunerOptions options;
  options.early_stopping = 20;
  SimTuning tuning(pack, sim, options);
  CHECK(tuning.run({600 * kSecond, 500, 0}).ok());
  CHECK(tuning.tuner.state(0).stop == StopReason::kNoGain);
  CHECK(tuning.tuner.trials() >= 21);
  CHECK(tuning.tuner.trials() <= 25);
}

TEST_CASE("trials per workload are a limit of their own") {
  const OpenPack pack(many_workloads(4, kFourKnobs));
  SimTuning tuning(pack, bowl_device());
  CHECK(tuning.run({600 * kSecond, 0, 9}).ok());
  for (uint32_t w = 0; w < 4; ++w) {
    CHECK(tuning.tuner.state(w).trials == 9);
    CHECK(tuning.tuner.state(w).stop == StopReason::kBudget);
  }
}

TEST_CASE("the workload that weighs most gets most, and every one gets some") {
  TestPack shared = many_workloads(12, kFourKnobs);
  shared.workloads[5].count = 20;
  const OpenPack pack(shared);
  SimOptions sim = bowl_device();
  sim.time_ns = [](uint32_t workload, const Config& config) {
    return bowl(workload, config) * (workload == 5 ? 10 : 1);
  };
  SimTuning tuning(pack, sim);
  CHECK(tuning.run({600 * kSecond, 150, 0}).ok());
  for (uint32_t w = 0; w < 12; ++w) {
    CHECK(tuning.tuner.state(w).trials >= 3);
    CHECK((w == 5 || tuning.tuner.state(w).trials < tuning.tuner.state(5).trials / 3));
  }
}

TEST_CASE("a run that is stopped finishes soon and commits what it can confirm") {
  const OpenPack pack(many_workloads(3, kFourKnobs));
  SimTuning tuning(pack, bowl_device());
  REQUIRE(tuning.tuner.start({3600 * kSecond, 0, 0}).ok());
  CHECK(tuning.run_trials(60) == TEMPER_MORE);
  const uint64_t before = tuning.tuner.elapsed_ns();
  tuning.tuner.stop();
  CHECK(tuning.finish().ok());
  CHECK(tuning.tuner.elapsed_ns() - before < 1100 * kMillisecond);
  CHECK(tuning.tuner.trials() <= 61);
  CHECK(tuning.commits == 3);
}

TEST_CASE("a clock that stands still is reported") {
  const OpenPack pack(plain_pack(kFourKnobs));
  SimOptions sim;
  sim.time_ns = [](uint32_t, const Config&) { return 0.0; };
  SimTuning tuning(pack, sim);
  CHECK(tuning.run({600 * kSecond, 100, 0}) == TEMPER_PORT_ERROR);
  CHECK(!tuning.tuner.state(0).committed);
}

TEST_CASE("memory is what bytes_needed says, and less is refused") {
  const OpenPack pack(many_workloads(5, kFourKnobs));
  const TunerOptions options;
  std::vector<uint8_t> memory(Tuner::bytes_needed(pack.view(), options) + 64);
  SimRunner device{SimOptions{}};
  const temper_facts facts = test_facts();
  Arena arena;
  arena.base = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
  const auto init = [&](size_t bytes) {
    arena.capacity = bytes;
    arena.used = 0;
    Tuner tuner;
    return tuner.init(arena, &pack.view(), &facts, test_fingerprint(), device.runner(), analytic_prior(), nullptr,
                      SimRunner::now_ns, &device, options);
  };
  CHECK(init(Tuner::bytes_needed(pack.view(), options)).ok());
  const size_t used = arena.used;
  CHECK(used <= Tuner::bytes_needed(pack.view(), options));
  CHECK(init(used).ok());
  for (const size_t bytes : {used - 1, used / 2, size_t{64}, size_t{0}}) {
    CHECK(init(bytes) == TEMPER_NO_MEMORY);
  }
}

TEST_CASE("calls out of order are refused") {
  const OpenPack pack(plain_pack(kFourKnobs));
  SimTuning tuning(pack, bowl_device());
  CHECK(tuning.tuner.step() == TEMPER_INVALID_ARGUMENT);
  REQUIRE(tuning.tuner.start({kSecond, 10, 0}).ok());
  CHECK(tuning.tuner.start({kSecond, 10, 0}) == TEMPER_INVALID_ARGUMENT);
  CHECK(tuning.finish().ok());
  CHECK(tuning.tuner.step().ok());
  CHECK(tuning.tuner.trials() == 10);
}

TEST_CASE("a second run of the same tuner goes on where the first ended") {
  const OpenPack pack(plain_pack(kFourKnobs));
  SimTuning tuning(pack, bowl_device());
  CHECK(tuning.run({60 * kSecond, 30, 0}).ok());
  CHECK(tuning.run({60 * kSecond, 30, 0}).ok());
  REQUIRE(tuning.tried.size() == 60);
  tuning.tried.erase(tuning.tried.begin() + 30);  // the default, measured again
  CHECK(all_distinct(tuning.tried));
}

TEST_CASE("conv2d with 20 trials and a median of three") {
  // 1x3x224x224 with 8 filters of 3x3, padding 1: the knobs of a small convolution, in the shape of its space.
  const OpenPack pack(plain_pack({{1, 2, 4, 8}, {1, 2, 4, 7, 8, 14, 16, 28}, {4, 8, 16}, {0, 1}, {1, 3, 9}}));
  TunerOptions options;
  options.measurement.min_samples = 3;
  options.measurement.max_samples = 3;
  SimTuning tuning(pack, bowl_device(), options);
  CHECK(tuning.run({600 * kSecond, 20, 0}).ok());
  CHECK(tuning.tuner.trials() == 20);
  CHECK(tuning.tuner.state(0).committed);
  CHECK(!tuning.tuner.state(0).kept_default);
}

}  // namespace
}  // namespace temper::test
