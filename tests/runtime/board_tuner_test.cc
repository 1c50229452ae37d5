#include "runtime/board_tuner.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "tests/runtime/sim_board.h"
#include "tests/runtime/sim_devices.h"

namespace temper::test {
namespace {

bool all_distinct(const std::vector<BoardTrial>& tried) {
  std::set<std::string> seen;
  return std::all_of(tried.begin(), tried.end(), [&](const BoardTrial& trial) {
    return seen.insert(text_of(trial.workload, trial.config)).second;
  });
}

TEST_CASE("a space of 3 x 2 x 2 choices is enumerated in 12 trials and stops") {
  const OpenPack pack(plain_pack({up_to(3), up_to(2), up_to(2)}));
  for (const uint32_t per_workload : {0u, 12u, 100u}) {
    SimBoard board(pack, bowl_device());
    CHECK(board.run({3600 * kSecond, 0, per_workload}).ok());
    CHECK(board.tried.size() == 12);
    CHECK(all_distinct(board.tried));
    CHECK(board.progress.elapsed_ns < kSecond);
    CHECK(board.commit(0).choice[0] == 2);
  }
}

TEST_CASE("a space of one config is measured once and keeps the default") {
  const OpenPack pack(plain_pack({up_to(1), up_to(1)}));
  SimBoard board(pack, bowl_device());
  CHECK(board.run({60 * kSecond, 0, 0}).ok());
  CHECK(board.tried.size() == 1);
  CHECK(board.committed(0));
  CHECK(is_default(board.commit(0)));
  CHECK(board.default_ns(0) > 0);
  CHECK(board.device.build_count == 1);
}

TEST_CASE("400 trials or 30 minutes, whichever comes first") {
  const OpenPack pack(plain_pack({up_to(16), up_to(16), up_to(8), up_to(8)}));
  SUBCASE("fast trials end by their number") {
    SimBoard board(pack, bowl_device());
    CHECK(board.run({1800 * kSecond, 400, 0}).ok());
    CHECK(board.tried.size() == 400);
    CHECK(board.progress.elapsed_ns < 1800 * kSecond);
  }
  SUBCASE("slow ones by the time") {
    SimOptions sim = bowl_device();
    sim.time_ns = [](uint32_t workload, const Config& config) { return 5000 * bowl(workload, config); };
    SimBoard board(pack, sim);
    CHECK(board.run({600 * kSecond, 400, 0}).ok());
    CHECK(board.tried.size() < 400);
    CHECK(board.tried.size() > 50);
    CHECK(board.progress.elapsed_ns <= 603 * kSecond);
    CHECK(board.committed(0));
  }
}

TEST_CASE("every workload's default is measured before any candidate, and the rest is legal, new and committed") {
  const OpenPack pack(many_workloads(7, kFourKnobs));
  for (const bool synchronous : {false, true}) {
    SimOptions sim = bowl_device();
    sim.synchronous = synchronous;
    SimBoard board(pack, sim);
    CHECK(board.run({3600 * kSecond, 200, 0}).ok());
    REQUIRE(board.tried.size() == 200);
    for (size_t i = 0; i < board.tried.size(); ++i) {
      CHECK(is_default(board.tried[i].config) == (i < 7));
    }
    CHECK(all_distinct(board.tried));
    for (uint32_t w = 0; w < 7; ++w) {
      CHECK(board.trials_of(w) >= 4);
      REQUIRE(board.committed(w));
      CHECK(bowl(w, board.commit(w)) < 0.7 * bowl(w, Config{}));
      CHECK(board.lookup.note(w).tuned_time < board.lookup.note(w).default_time);
    }
  }
}

TEST_CASE("the step never spins while the runner works") {
  const OpenPack pack(plain_pack(kFourKnobs));
  SimOptions sim = bowl_device();
  sim.build_ns = 20 * kMillisecond;
  SimBoard board(pack, sim);
  CHECK(board.run({3600 * kSecond, 100, 0}).ok());
  CHECK(board.device.busy_polls < 2 * (board.progress.elapsed_ns / (2 * kMillisecond)) + 20 * board.tried.size());
}

TEST_CASE("candidates that all fail stop the workload and keep the default") {
  const OpenPack pack(many_workloads(2, kFourKnobs));
  const std::pair<SimFate, temper_outcome> fates[] = {{SimFate::kBuildError, TEMPER_OUTCOME_BUILD_ERROR},
                                                      {SimFate::kWrongResult, TEMPER_OUTCOME_WRONG_RESULT},
                                                      {SimFate::kCrashes, TEMPER_OUTCOME_CRASHED},
                                                      {SimFate::kHangs, TEMPER_OUTCOME_TIMEOUT}};
  for (const auto& [fate, outcome] : fates) {
    SimOptions sim = bowl_device();
    sim.fate = [fate = fate](uint32_t workload, const Config& config) {
      return workload == 0 && !is_default(config) ? fate : SimFate::kOk;
    };
    SimBoard board(pack, sim);
    CHECK(board.run({60 * kSecond, 100, 0}).ok());
    CHECK(board.trials_of(0) == 9);
    for (const BoardTrial& trial : board.tried) {
      CHECK((trial.workload == 1 || is_default(trial.config) || trial.outcome == outcome));
    }
    CHECK(board.committed(0));
    CHECK(is_default(board.commit(0)));
    CHECK(board.committed(1));
    CHECK(!is_default(board.commit(1)));
  }
}

TEST_CASE("where nothing works the run says so") {
  const OpenPack pack(plain_pack(kFourKnobs));
  for (const SimFate fate : {SimFate::kBuildError, SimFate::kWrongResult, SimFate::kCrashes, SimFate::kHangs}) {
    SimOptions sim = bowl_device();
    sim.fate = [fate](uint32_t, const Config&) { return fate; };
    SimBoard board(pack, sim);
    const Status status = board.run({300 * kSecond, 100, 0});
    // A default that hangs takes the budget with it: nothing was measured then.
    CHECK(status == (fate == SimFate::kHangs ? TEMPER_BUDGET_SPENT : TEMPER_NOTHING_TO_TUNE));
    CHECK(board.tried.size() <= 12);
    CHECK(!board.committed(0));
  }
  const OpenPack single(plain_pack({up_to(1)}));
  SimOptions sim;
  sim.fate = [](uint32_t, const Config&) { return SimFate::kWrongResult; };
  SimBoard board(single, sim);
  CHECK(board.run({60 * kSecond, 0, 0}) == TEMPER_NOTHING_TO_TUNE);
  CHECK(board.tried.size() == 1);
}

TEST_CASE("a default that fails, or that the pack does not tell, is replaced by what works") {
  TestPack untold = plain_pack(kFourKnobs);
  untold.workloads[0].default_values.clear();
  for (const TestPack& test_pack : {plain_pack(kFourKnobs), untold}) {
    const OpenPack pack(test_pack);
    SimOptions sim = bowl_device();
    sim.fate = [](uint32_t, const Config& config) { return is_default(config) ? SimFate::kWrongResult : SimFate::kOk; };
    SimBoard board(pack, sim);
    CHECK(board.run({60 * kSecond, 40, 0}).ok());
    CHECK(board.tried.size() == 40);
    REQUIRE(board.committed(0));
    CHECK(board.default_ns(0) == 0);
    CHECK(!is_default(board.commit(0)));
  }
}

TEST_CASE("the default stays where nothing is faster") {
  const OpenPack pack(plain_pack(kFourKnobs));
  SimOptions sim = bowl_device();
  sim.time_ns = [](uint32_t, const Config& config) { return is_default(config) ? 1e5 : 1.1e5; };
  SimBoard board(pack, sim);
  CHECK(board.run({60 * kSecond, 60, 0}).ok());
  REQUIRE(board.committed(0));
  CHECK(is_default(board.commit(0)));
}

TEST_CASE("the same seed gives the same run, another seed another one") {
  const OpenPack pack(many_workloads(3, kFourKnobs));
  std::vector<Config> runs[3];
  for (int i = 0; i < 3; ++i) {
    BoardOptions options;
    options.seed = i == 2 ? 7 : 1;
    SimBoard board(pack, bowl_device(), options);
    CHECK(board.run({60 * kSecond, 60, 0}).ok());
    for (const BoardTrial& trial : board.tried) {
      runs[i].push_back(trial.config);
    }
  }
  CHECK(runs[0] == runs[1]);
  CHECK(runs[0] != runs[2]);
}

TEST_CASE("trials per workload are a limit of their own") {
  const OpenPack pack(many_workloads(4, kFourKnobs));
  SimBoard board(pack, bowl_device());
  CHECK(board.run({600 * kSecond, 0, 9}).ok());
  for (uint32_t w = 0; w < 4; ++w) {
    CHECK(board.trials_of(w) == 9);
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
  SimBoard board(pack, sim);
  CHECK(board.run({600 * kSecond, 150, 0}).ok());
  for (uint32_t w = 0; w < 12; ++w) {
    CHECK(board.trials_of(w) >= 3);
    CHECK((w == 5 || board.trials_of(w) < board.trials_of(5) / 3));
  }
}

TEST_CASE("a run that is stopped finishes soon and commits what it can confirm") {
  const OpenPack pack(many_workloads(3, kFourKnobs));
  SimBoard board(pack, bowl_device());
  REQUIRE(board.start({3600 * kSecond, 200, 0}).ok());
  CHECK(board.run_trials(60) == TEMPER_MORE);
  const uint64_t before = board.progress.elapsed_ns;
  board.tuner->stop();
  CHECK(board.finish().ok());
  CHECK(board.progress.elapsed_ns - before < 1100 * kMillisecond);
  CHECK(board.tried.size() <= 61);
  CHECK(board.commit_count() >= 1);
}

TEST_CASE("a clock that stands still is reported") {
  const OpenPack pack(plain_pack(kFourKnobs));
  SimOptions sim;
  sim.time_ns = [](uint32_t, const Config&) { return 0.0; };
  SimBoard board(pack, sim);
  CHECK(board.run({600 * kSecond, 100, 0}) == TEMPER_PORT_ERROR);
  CHECK(!board.committed(0));
}

TEST_CASE("a clock of one millisecond still tells fast from slow") {
  const OpenPack pack(plain_pack({up_to(4), up_to(4)}));
  SimOptions sim;
  sim.time_ns = [](uint32_t, const Config& config) { return 4e4 / (1 + config.choice[0]) + 1000 * config.choice[1]; };
  SimBoard board(pack, sim);
  board.port.now_ns = [](void* self) { return SimRunner::now_ns(self) / kMillisecond * kMillisecond; };
  CHECK(board.run({600 * kSecond, 0, 0}).ok());
  CHECK(board.commit(0).choice[0] == 3);
}

TEST_CASE("calls out of order are refused") {
  const OpenPack pack(plain_pack(kFourKnobs));
  SimBoard board(pack, bowl_device());
  CHECK(board.tuner->step() == TEMPER_INVALID_ARGUMENT);
  REQUIRE(board.start({kSecond, 10, 0}).ok());
  CHECK(board.tuner->start({kSecond, 10, 0}, RunPurpose::kTune) == TEMPER_INVALID_ARGUMENT);
  CHECK(board.finish().ok());
  CHECK(board.tuner->step() == TEMPER_INVALID_ARGUMENT);
  CHECK(board.tried.size() == 10);
}

TEST_CASE("no more configs are tried than there is room to remember") {
  const OpenPack pack(many_workloads(2, kFourKnobs));
  BoardOptions options;
  options.max_trials = 16;
  SimBoard board(pack, bowl_device(), options);
  CHECK(board.run({600 * kSecond, 0, 0}).ok());
  CHECK(board.trials_of(0) == 16);
  CHECK(board.trials_of(1) == 16);
  CHECK(board.commit_count() == 2);
}

TEST_CASE("with room for the default alone it is kept for good") {
  const OpenPack pack(many_workloads(2, kFourKnobs));
  BoardOptions options;
  options.max_trials = 1;
  SimBoard board(pack, bowl_device(), options);
  CHECK(board.run({600 * kSecond, 0, 0}).ok());
  CHECK(board.tried.size() == 2);
  CHECK(board.commit_count() == 2);
  CHECK(is_default(board.commit(0)));
}

TEST_CASE(
    "collecting appends random configs and neighbours of the best, also of what is committed, and commits nothing") {
  const OpenPack pack(many_workloads(2, kFourKnobs));
  RamStorage storage(1 << 20, 1, 0);
  BoardOptions options = on(storage);
  options.learning = &temper_learning;
  SimBoard first(pack, bowl_device(), options);
  CHECK(first.run({60 * kSecond, 60, 0}).ok());
  const Config committed = first.commit(0);
  first.tried.clear();
  REQUIRE(first.start({60 * kSecond, 80, 0}, RunPurpose::kCollect).ok());
  CHECK(first.finish().ok());
  CHECK(first.tried.size() == 80);
  CHECK(first.commit(0) == committed);
  uint32_t slower = 0;
  for (const BoardTrial& trial : first.tried) {
    slower += bowl(0, trial.config) > 1.3 * bowl(0, committed) ? 1 : 0;
  }
  CHECK(slower > 20);  // a search would have left them alone
  SimBoard fresh(pack, bowl_device());
  REQUIRE(fresh.start({60 * kSecond, 40, 0}, RunPurpose::kCollect).ok());
  CHECK(fresh.finish().ok());
  CHECK(fresh.commit_count() == 0);
  CHECK(all_distinct(fresh.tried));
}

}  // namespace
}  // namespace temper::test
