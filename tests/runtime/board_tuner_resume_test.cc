#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "tests/runtime/scanned_history.h"
#include "tests/runtime/sim_board.h"
#include "tests/runtime/sim_devices.h"

namespace temper::test {
namespace {

SimOptions board_device(uint64_t seed = 1) {
  SimOptions sim = crashing_bowl_device(seed);
  sim.synchronous = true;
  return sim;
}

TEST_CASE("a run abandoned after any trial is taken up: nothing is measured again, and all trials count") {
  const OpenPack pack(many_workloads(2, kFourKnobs));
  for (uint32_t cut = 0; cut <= 50; ++cut) {
    CAPTURE(cut);
    RamStorage storage(1 << 20, 1, 0);
    std::set<std::string> seen;
    uint32_t finished = 0;
    {
      SimBoard first(pack, board_device(), on(storage));
      REQUIRE(first.start({3600 * kSecond, 0, 30}).ok());
      CHECK(first.run_trials(cut) == TEMPER_MORE);
      for (const BoardTrial& trial : first.tried) {
        seen.insert(text_of(trial.workload, trial.config));
      }
      finished = static_cast<uint32_t>(first.tried.size());
    }
    SimBoard second(pack, board_device(2), on(storage));
    CHECK(second.run({3600 * kSecond, 0, 30}).ok());
    for (const BoardTrial& trial : second.tried) {
      CHECK(seen.insert(text_of(trial.workload, trial.config)).second);
    }
    CHECK(second.tried.size() + finished == 60);
    const std::map<FrameType, int> counts = count_frames(storage.storage());
    CHECK(counts.at(FrameType::kFingerprint) == 1);
    CHECK(counts.at(FrameType::kWorkload) == 2);
    CHECK(counts.at(FrameType::kTrial) == 60);
    CHECK(counts.at(FrameType::kCommit) == 2);
    CHECK(!storage.misused());
  }
}

TEST_CASE("committed workloads are left alone on a second boot") {
  const OpenPack pack(many_workloads(3, kFourKnobs));
  RamStorage storage(1 << 20, 1, 0);
  SimBoard first(pack, board_device(), on(storage));
  CHECK(first.run({3600 * kSecond, 60, 0}).ok());
  CHECK(first.commit_count() == 3);
  const size_t bytes = storage.bytes().size();
  SimBoard second(pack, board_device(), on(storage));
  CHECK(second.run({3600 * kSecond, 60, 0}).ok());
  CHECK(second.tried.empty());
  CHECK(second.device.build_count == 0);
  CHECK(storage.bytes().size() == bytes);
  for (uint32_t w = 0; w < 3; ++w) {
    CHECK(second.commit(w) == first.commit(w));
    CHECK(second.default_ns(w) == first.default_ns(w));
  }
}

TEST_CASE("results of another device are hints: tried first, never believed") {
  const OpenPack pack(plain_pack(kFourKnobs));
  RamStorage storage(1 << 20, 1, 0);
  SimBoard first(pack, board_device(), on(storage));
  CHECK(first.run({3600 * kSecond, 80, 0}).ok());
  BoardOptions elsewhere = on(storage);
  elsewhere.target = 2;
  SimOptions other = flat_device();
  other.synchronous = true;
  SimBoard second(pack, other, elsewhere);
  CHECK(!second.committed(0));
  CHECK(second.run({3600 * kSecond, 12, 0}).ok());
  REQUIRE(second.tried.size() == 12);
  CHECK(is_default(second.tried[0].config));
  CHECK(second.tried[1].config == first.commit(0));
  const std::map<FrameType, int> counts = count_frames(storage.storage());
  CHECK(counts.at(FrameType::kFingerprint) == 2);
  CHECK(counts.at(FrameType::kWorkload) == 1);
  SimBoard third(pack, board_device(), on(storage));  // the first device again: its own commit holds
  CHECK(third.committed(0));
  CHECK(third.commit(0) == first.commit(0));
}

TEST_CASE("an intent without a trial quarantines the config for ever") {
  const OpenPack pack(plain_pack(kFourKnobs));
  RamStorage storage(1 << 20, 1, 0);
  Config guilty;
  uint32_t finished = 0;
  {
    SimBoard first(pack, board_device(), on(storage));
    REQUIRE(first.start({3600 * kSecond, 0, 0}).ok());
    CHECK(first.run_trials(10) == TEMPER_MORE);
    // The device resets while the next one runs: step until its check began.
    const uint32_t checks = first.device.check_count;
    while (first.device.check_count == checks) {
      REQUIRE(first.step() == TEMPER_MORE);
    }
    finished = static_cast<uint32_t>(first.tried.size());
    guilty = first.device.built.back().second;
    const ScannedHistory scanned(storage.storage());
    REQUIRE(scanned.frames.back().type == FrameType::kIntent);
  }
  for (int boot = 0; boot < 3; ++boot) {
    SimBoard next(pack, board_device(), on(storage));
    REQUIRE(next.start({3600 * kSecond, 20, 0}).ok());
    CHECK(next.run_trials(boot == 2 ? 100 : 5) == (boot == 2 ? TEMPER_OK : TEMPER_MORE));
    CHECK(std::none_of(next.device.built.begin(), next.device.built.end(),
                       [&](const auto& built) { return built.second == guilty; }));
  }
  const std::map<FrameType, int> counts = count_frames(storage.storage());
  CHECK(counts.at(FrameType::kTrial) == static_cast<int>(finished) + 1 + 5 + 5 + 20);
}

TEST_CASE("a default that resets the device twice is not run a third time") {
  const OpenPack pack(plain_pack(kFourKnobs));
  RamStorage storage(1 << 20, 1, 0);
  for (int boot = 0; boot < 2; ++boot) {
    SimBoard next(pack, board_device(), on(storage));
    REQUIRE(next.start({3600 * kSecond, 0, 0}).ok());
    while (next.device.check_count == 0) {
      REQUIRE(next.step() == TEMPER_MORE);
    }
    CHECK(is_default(next.device.built.back().second));
  }
  SimBoard third(pack, board_device(), on(storage));
  CHECK(third.run({3600 * kSecond, 20, 0}).ok());
  CHECK(std::none_of(third.device.built.begin(), third.device.built.end(),
                     [](const auto& built) { return is_default(built.second); }));
  REQUIRE(third.committed(0));
  CHECK(!is_default(third.commit(0)));
}

TEST_CASE("intents of trials that ended, or were cut by the budget, quarantine nothing") {
  const OpenPack pack(plain_pack(kFourKnobs));
  RamStorage storage(1 << 20, 1, 0);
  SimOptions sim = board_device();
  sim.time_ns = [](uint32_t, const Config&) { return 3e7; };
  {
    SimBoard first(pack, sim, on(storage));
    REQUIRE(first.start({1234 * kMillisecond, 0, 0}).ok());
    while (first.progress.elapsed_ns < 700 * kMillisecond) {
      REQUIRE(first.step() == TEMPER_MORE);
    }
    first.tuner->stop();
    CHECK(first.finish().ok());
  }
  const std::map<FrameType, int> counts = count_frames(storage.storage());
  CHECK(counts.at(FrameType::kIntent) > 3);
  CHECK(counts.at(FrameType::kIntent) == counts.at(FrameType::kTrial));
  SimBoard second(pack, sim, on(storage));
  CHECK(second.run({60 * kSecond, 1, 0}).ok());
  for (const ScannedFrame& frame : ScannedHistory(storage.storage()).frames) {
    TrialView trial;
    if (read_trial({frame.type, frame.sequence, {frame.payload.data(), frame.payload.size()}}, &trial).ok()) {
      CHECK(trial.trial.outcome() != TEMPER_OUTCOME_CRASHED);
    }
  }
}

TEST_CASE("storage that fails is told once, and the run goes on in memory") {
  const OpenPack pack(plain_pack(kFourKnobs));
  RamStorage storage(1 << 20, 1, 0);
  SimBoard board(pack, board_device(), on(storage));
  storage.room_bytes = 700;
  CHECK(board.run({3600 * kSecond, 40, 0}).ok());
  REQUIRE(board.device.logged.size() == 1);
  CHECK(board.device.logged[0].find("memory only") != std::string::npos);
  CHECK(board.tried.size() == 40);
  CHECK(board.committed(0));
}

TEST_CASE("power cut at any write leaves a history that the next boots take up and finish") {
  const OpenPack pack(many_workloads(2, {up_to(4), up_to(3), up_to(2)}));
  uint32_t all_operations = 0;
  {
    RamStorage storage(1 << 14, 8, 4096);
    SimBoard whole(pack, board_device(), on(storage));
    CHECK(whole.run({3600 * kSecond, 0, 8}).ok());
    all_operations = storage.operations();
  }
  for (uint32_t cut = 0; cut < all_operations; ++cut) {
    CAPTURE(cut);
    RamStorage storage(1 << 14, 8, 4096);
    {
      SimBoard first(pack, board_device(), on(storage));
      storage.cut_power_after(cut);
      REQUIRE(first.start({3600 * kSecond, 0, 8}).ok());
      while (first.device.logged.empty() && first.step() == TEMPER_MORE) {
      }  // once storage fails it is dead
    }
    storage.restore_power();
    std::set<std::string> kept;
    for (const ScannedFrame& frame : ScannedHistory(storage.storage()).frames) {
      TrialView trial;
      if (read_trial({frame.type, frame.sequence, {frame.payload.data(), frame.payload.size()}}, &trial).ok()) {
        kept.insert(std::string(frame.payload.begin() + sizeof(format::Trial), frame.payload.end()) +
                    std::to_string(trial.trial.workload()));
      }
    }
    SimBoard second(pack, board_device(), on(storage));
    CHECK(second.run({3600 * kSecond, 0, 8}).ok());
    CHECK(second.commit_count() == 2);
    CHECK(second.tried.size() + kept.size() <= 17);  // 16 and, where a default's first trial was cut, once more
    SimBoard third(pack, board_device(), on(storage));
    CHECK(third.run({3600 * kSecond, 0, 8}).ok());
    CHECK(third.tried.empty());
    CHECK(!storage.misused());
  }
}

TEST_CASE("frames of workloads, knobs or values that this pack does not know are passed over") {
  const OpenPack known(many_workloads(2, kFourKnobs));
  RamStorage storage(1 << 20, 1, 0);
  {
    SimBoard first(known, board_device(), on(storage));
    REQUIRE(first.start({3600 * kSecond, 40, 0}).ok());
    CHECK(first.run_trials(39) == TEMPER_MORE);
  }
  const OpenPack smaller(many_workloads(1, {up_to(4), up_to(4), up_to(6), up_to(6)}));
  SimBoard second(smaller, board_device(), on(storage));
  CHECK(second.run({3600 * kSecond, 20, 0}).ok());
  CHECK(second.tried.size() == (second.trials_of(0)));
}

}  // namespace
}  // namespace temper::test
