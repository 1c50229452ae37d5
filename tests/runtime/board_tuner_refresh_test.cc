#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "tests/runtime/scanned_history.h"
#include "tests/runtime/sim_board.h"
#include "tests/runtime/sim_devices.h"

namespace temper::test {
namespace {

constexpr temper_budget kBudget{3600 * kSecond, 0, 60};
constexpr uint32_t kWorkloads = 3;

SimOptions on_board(SimOptions sim) {
  sim.synchronous = true;
  return sim;
}

SimOptions board_device(uint64_t seed = 1) { return on_board(crashing_bowl_device(seed)); }

/// Another landscape: what was best is slower than the default.
SimOptions other_device() {
  SimOptions sim = board_device(3);
  sim.time_ns = [](uint32_t, const Config& config) {
    double time = 100000;
    for (uint32_t knob = 0; knob < 4; ++knob) {
      time *= 1 + 0.3 * std::abs(config.choice[knob] - (knob == 0 ? 7.0 : 0.0)) / (knob == 0 ? 4 : 1);
    }
    return time;
  };
  return sim;
}

/// A history of a first boot, and what that took.
struct FirstBoot {
  explicit FirstBoot(const OpenPack& pack) : storage(1 << 20, 1, 0) {
    SimBoard board(pack, board_device(), on());
    CHECK(board.run(kBudget).ok());
    REQUIRE(board.commit_count() == kWorkloads);
    trials = static_cast<uint32_t>(board.tried.size());
    for (uint32_t w = 0; w < kWorkloads; ++w) {
      REQUIRE_FALSE(is_default(board.commit(w)));
      winner[w] = board.commit(w);
    }
  }
  BoardOptions on() const {
    BoardOptions options;
    options.storage = storage.storage();
    return options;
  }
  BoardOptions on_clock(int32_t times) const {
    BoardOptions options = on();
    options.facts.value[TEMPER_FACT_CLOCK_KHZ] *= times;
    return options;
  }

  RamStorage storage;
  uint32_t trials = 0;
  Config winner[kWorkloads];
};

bool unconfirmed(const SimBoard& board, uint32_t workload) {
  return board.lookup.note(workload).fingerprint_fields != 0;
}

}  // namespace

TEST_CASE("what holds on another clock is confirmed by two trials and a rematch, and then it is this device's") {
  const OpenPack pack(many_workloads(kWorkloads, kFourKnobs));
  FirstBoot first(pack);
  {
    SimBoard board(pack, on_board(slower_device()), first.on_clock(3));
    for (uint32_t w = 0; w < kWorkloads; ++w) {
      CHECK(board.lookup.note(w).fingerprint_fields == kFingerprintClock);
      CHECK(board.commit(w) == first.winner[w]);  // in use until it is confirmed
    }
    CHECK(board.run(kBudget).ok());
    CHECK(board.tried.size() == 2 * kWorkloads);
    CHECK(board.tried.size() * 4 <= first.trials);
    for (uint32_t w = 0; w < kWorkloads; ++w) {
      CHECK(board.commit(w) == first.winner[w]);
      CHECK_FALSE(unconfirmed(board, w));
      CHECK(board.default_ns(w) > 2 * 3 * 100000);
    }
  }
  SimBoard next(pack, on_board(slower_device()), first.on_clock(3));
  CHECK(next.run(kBudget).ok());
  CHECK(next.tried.empty());
}

TEST_CASE("times of another clock are not compared with this one's") {
  const OpenPack pack(plain_pack(kFourKnobs));
  RamStorage storage(1 << 20, 1, 0);
  BoardOptions options;
  options.storage = storage.storage();
  {  // everything measured, nothing committed
    SimBoard board(pack, board_device(), options);
    REQUIRE(board.start(kBudget).ok());
    CHECK(board.run_trials(30) == TEMPER_MORE);
  }
  options.facts.value[TEMPER_FACT_CLOCK_KHZ] *= 3;
  SimBoard board(pack, on_board(slower_device()), options);
  CHECK(board.run({3600 * kSecond, 0, 12}).ok());
  CHECK(board.tried.size() == 12);
  CHECK(is_default(board.tried[0].config));
  REQUIRE(board.committed(0));
  CHECK(on_board(slower_device()).time_ns(0, board.commit(0)) < board.default_ns(0));
}

TEST_CASE("a default that was kept is confirmed with few trials") {
  const OpenPack pack(many_workloads(2, kFourKnobs));
  RamStorage storage(1 << 20, 1, 0);
  BoardOptions options;
  options.storage = storage.storage();
  const SimOptions flat = on_board(flat_device());
  {
    SimBoard board(pack, flat, options);
    CHECK(board.run(kBudget).ok());
    REQUIRE(board.commit_count() == 2);
  }
  size_t wanted = 2;
  SUBCASE("another clock") { options.facts.value[TEMPER_FACT_CLOCK_KHZ] *= 2; }
  SUBCASE("another driver, and what was next best with the old one is no better") {
    options.driver = 5;
    wanted = 6;
  }
  SimBoard board(pack, flat, options);
  CHECK(board.run(kBudget).ok());
  CHECK(board.tried.size() == wanted);
  CHECK(is_default(board.commit(0)));
  CHECK_FALSE(unconfirmed(board, 0));
}

TEST_CASE("what no longer gains is searched again, with what was good elsewhere tried first") {
  const OpenPack pack(many_workloads(kWorkloads, kFourKnobs));
  FirstBoot first(pack);
  BoardOptions options = first.on();
  SUBCASE("another core") { options.core_type = 2; }
  SUBCASE("another driver") { options.driver = 9; }
  SUBCASE("another clock") { options = first.on_clock(3); }
  SimBoard board(pack, other_device(), options);
  CHECK(board.run(kBudget).ok());
  CHECK(board.tried.size() > 20 * kWorkloads);
  for (uint32_t w = 0; w < kWorkloads; ++w) {
    REQUIRE(board.committed(w));
    CHECK_FALSE(board.commit(w) == first.winner[w]);
    CHECK(other_device().time_ns(w, board.commit(w)) <= other_device().time_ns(w, Config{}));
    CHECK_FALSE(unconfirmed(board, w));
  }
}

TEST_CASE("on another core with the same landscape the old winner is confirmed, not searched for") {
  const OpenPack pack(many_workloads(kWorkloads, kFourKnobs));
  FirstBoot first(pack);
  BoardOptions options = first.on();
  SUBCASE("core") { options.core_type = 2; }
  SUBCASE("driver") { options.driver = 9; }
  SUBCASE("pack") { options.pack_hash = 0x99; }
  SimBoard board(pack, board_device(5), options);
  for (uint32_t w = 0; w < kWorkloads; ++w) {
    CHECK_FALSE(board.committed(w));  // a hint is never believed
  }
  CHECK(board.run(kBudget).ok());
  CHECK(board.tried.size() == 2 * kWorkloads);
  for (uint32_t w = 0; w < kWorkloads; ++w) {
    REQUIRE(board.committed(w));
    CHECK(board.commit(w) == first.winner[w]);
  }
}

TEST_CASE("an old winner that is wrong or crashes here is not used") {
  const OpenPack pack(many_workloads(kWorkloads, kFourKnobs));
  FirstBoot first(pack);
  SimFate fate = SimFate::kWrongResult;
  SUBCASE("wrong") { fate = SimFate::kWrongResult; }
  SUBCASE("crashes") { fate = SimFate::kCrashes; }
  SUBCASE("hangs") { fate = SimFate::kHangs; }
  SimOptions sim = on_board(slower_device());
  sim.fate = [&first, fate](uint32_t workload, const Config& config) {
    return config == first.winner[workload] ? fate : SimFate::kOk;
  };
  SimBoard board(pack, sim, first.on_clock(3));
  CHECK(board.run(kBudget).ok());
  for (uint32_t w = 0; w < kWorkloads; ++w) {
    REQUIRE(board.committed(w));
    CHECK_FALSE(board.commit(w) == first.winner[w]);
    CHECK_FALSE(unconfirmed(board, w));
  }
}

TEST_CASE("a refresh that is cut short anywhere falls back to what was, and goes on at the next boot") {
  const OpenPack pack(many_workloads(kWorkloads, kFourKnobs));
  for (uint32_t cut = 0; cut <= 40; ++cut) {
    CAPTURE(cut);
    FirstBoot first(pack);
    const bool same = cut % 2 == 0;
    const SimOptions sim = same ? on_board(slower_device()) : other_device();
    {
      SimBoard board(pack, sim, first.on_clock(3));
      REQUIRE(board.start(kBudget).ok());
      (void)board.run_trials(cut);
    }
    SimBoard next(pack, sim, first.on_clock(3));
    for (uint32_t w = 0; w < kWorkloads; ++w) {
      CHECK(next.committed(w));
      CHECK((!unconfirmed(next, w) || next.commit(w) == first.winner[w]));
    }
    CHECK(next.run(kBudget).ok());
    SimBoard last(pack, sim, first.on_clock(3));
    CHECK(last.run(kBudget).ok());
    CHECK(last.tried.empty());
    for (uint32_t w = 0; w < kWorkloads; ++w) {
      CHECK_FALSE(unconfirmed(last, w));
      CHECK((!same || last.commit(w) == first.winner[w]));
    }
  }
}

TEST_CASE("a budget too short to confirm leaves the old winner in use") {
  const OpenPack pack(many_workloads(kWorkloads, kFourKnobs));
  FirstBoot first(pack);
  for (const uint64_t ms : {0, 1, 2, 5}) {
    SimBoard board(pack, on_board(slower_device()), first.on_clock(3));
    (void)board.run({ms * kMillisecond, 0, 0});
    for (uint32_t w = 0; w < kWorkloads; ++w) {
      CHECK(board.commit(w) == first.winner[w]);
    }
  }
}

}  // namespace temper::test
