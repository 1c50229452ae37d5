#include <doctest/doctest.h>

#include <cmath>

#include "tests/runtime/sim_devices.h"
#include "tests/runtime/sim_tuning.h"

namespace temper::test {
namespace {

constexpr temper_budget kBudget{3600 * kSecond, 0, 60};
constexpr uint32_t kWorkloads = 3;

TunerOptions refreshing() {
  TunerOptions options;
  options.refresh = true;
  return options;
}

Fingerprint of_clock(int32_t times) {
  temper_facts facts = test_facts();
  facts.value[TEMPER_FACT_CLOCK_KHZ] *= times;
  return make_fingerprint(1, facts, 1, 0, 0x1234, 1);
}

struct FirstRun {
  explicit FirstRun(const OpenPack& pack, const SimOptions& sim = crashing_bowl_device()) : storage(1 << 20, 1, 0) {
    SimTuning tuning(pack, sim, {}, storage.storage());
    CHECK(tuning.run(kBudget).ok());
    for (uint32_t w = 0; w < kWorkloads; ++w) {
      REQUIRE(tuning.tuner.state(w).committed);
      winner[w] = tuning.tuner.state(w).best_config;
    }
    trials = tuning.tuner.trials();
  }
  RamStorage storage;
  Config winner[kWorkloads];
  uint32_t trials = 0;
};

}  // namespace

TEST_CASE("a refresh where nothing changed measures nothing") {
  const OpenPack pack(many_workloads(kWorkloads, kFourKnobs));
  FirstRun first(pack);
  SimTuning again(pack, crashing_bowl_device(), refreshing(), first.storage.storage());
  CHECK(again.run(kBudget).ok());
  CHECK(again.tuner.trials() == 0);
  for (uint32_t w = 0; w < kWorkloads; ++w) {
    CHECK(again.tuner.state(w).stop == StopReason::kCommitted);
    CHECK(again.tuner.state(w).best_config == first.winner[w]);
  }
}

TEST_CASE("what still gains is confirmed by two trials and a rematch") {
  const OpenPack pack(many_workloads(kWorkloads, kFourKnobs));
  FirstRun first(pack);
  Fingerprint here = of_clock(3);
  SUBCASE("another clock") {}
  SUBCASE("another core") { here = test_fingerprint(2); }
  SimTuning tuning(pack, slower_device(), refreshing(), first.storage.storage(), here);
  CHECK(tuning.run(kBudget).ok());
  CHECK(tuning.tuner.trials() == 2 * kWorkloads);
  CHECK(tuning.tuner.trials() * 4 <= first.trials);
  CHECK(tuning.commits == kWorkloads);
  for (uint32_t w = 0; w < kWorkloads; ++w) {
    CHECK(tuning.tuner.state(w).stop == StopReason::kConfirmed);
    CHECK(tuning.tuner.state(w).best_config == first.winner[w]);
    CHECK(tuning.tuner.state(w).rematch_default_ns > 2 * 3 * 100000);
  }
  SimTuning next(pack, slower_device(), refreshing(), first.storage.storage(), here);
  CHECK(next.run(kBudget).ok());
  CHECK(next.tuner.trials() == 0);
}

TEST_CASE("what no longer gains is searched again") {
  const OpenPack pack(many_workloads(kWorkloads, kFourKnobs));
  FirstRun first(pack);
  Fingerprint here = of_clock(3);
  SUBCASE("another clock") {}
  SUBCASE("another core") { here = test_fingerprint(2); }
  SimTuning tuning(pack, flat_device(), refreshing(), first.storage.storage(), here);
  CHECK(tuning.run(kBudget).ok());
  CHECK(tuning.tuner.trials() > 20 * kWorkloads);
  for (uint32_t w = 0; w < kWorkloads; ++w) {
    CHECK(tuning.tuner.state(w).committed);
    CHECK(tuning.tuner.state(w).kept_default);
    CHECK(tuning.tuner.state(w).stop != StopReason::kConfirmed);
  }
}

TEST_CASE(
    "a default that was kept stays kept at another clock, has to beat a few with another driver, and is searched again "
    "on another core") {
  const OpenPack pack(many_workloads(kWorkloads, kFourKnobs));
  FirstRun first(pack, flat_device());
  SimTuning clock(pack, flat_device(), refreshing(), first.storage.storage(), of_clock(3));
  CHECK(clock.run(kBudget).ok());
  CHECK(clock.tuner.trials() == kWorkloads);
  const Fingerprint driver_here = make_fingerprint(1, test_facts(), 1, 7, 0x1234, 1);
  SimTuning driver(pack, flat_device(), refreshing(), first.storage.storage(), driver_here);
  CHECK(driver.run(kBudget).ok());
  CHECK(driver.tuner.trials() == 3 * kWorkloads);
  SimTuning core(pack, crashing_bowl_device(), refreshing(), first.storage.storage(), test_fingerprint(2));
  CHECK(core.run(kBudget).ok());
  for (uint32_t w = 0; w < kWorkloads; ++w) {
    CHECK(clock.tuner.state(w).kept_default);
    CHECK(clock.tuner.state(w).stop == StopReason::kConfirmed);
    CHECK(driver.tuner.state(w).kept_default);
    CHECK(driver.tuner.state(w).stop == StopReason::kConfirmed);
    CHECK_FALSE(core.tuner.state(w).kept_default);
  }
}

TEST_CASE("a refresh that ends after any trial goes on in the next run") {
  const OpenPack pack(many_workloads(kWorkloads, kFourKnobs));
  for (uint32_t cut = 0; cut <= 12; ++cut) {
    CAPTURE(cut);
    FirstRun first(pack);
    {
      SimTuning tuning(pack, slower_device(), refreshing(), first.storage.storage(), of_clock(3));
      REQUIRE(tuning.tuner.start(kBudget).ok());
      (void)tuning.run_trials(cut);
    }
    SimTuning next(pack, slower_device(), refreshing(), first.storage.storage(), of_clock(3));
    CHECK(next.run(kBudget).ok());
    for (uint32_t w = 0; w < kWorkloads; ++w) {
      CHECK(next.tuner.state(w).committed);
      CHECK(next.tuner.state(w).best_config == first.winner[w]);
    }
    SimTuning last(pack, slower_device(), refreshing(), first.storage.storage(), of_clock(3));
    CHECK(last.run(kBudget).ok());
    CHECK(last.tuner.trials() == 0);
  }
}

}  // namespace temper::test
