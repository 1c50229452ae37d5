#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "tests/runtime/sim_devices.h"
#include "tests/runtime/sim_tuning.h"

namespace temper::test {
namespace {

TEST_CASE("a run abandoned after any trial is taken up: nothing but defaults is measured again") {
  const OpenPack pack(many_workloads(2, kFourKnobs));
  for (uint32_t cut = 0; cut <= 40; ++cut) {
    CAPTURE(cut);
    RamStorage storage(1 << 20, 1, 0);
    std::set<std::string> seen;
    uint32_t finished = 0;
    {
      SimTuning first(pack, crashing_bowl_device(), {}, storage.storage());
      REQUIRE(first.tuner.start({3600 * kSecond, 60, 0}).ok());
      CHECK(first.run_trials(cut) == TEMPER_MORE);
      for (const auto& [workload, config] : first.tried) {
        seen.insert(text_of(workload, config));
      }
      finished = static_cast<uint32_t>(first.tried.size());
    }
    SimTuning second(pack, crashing_bowl_device(2), {}, storage.storage());
    CHECK(second.tuner.state(0).resumed_trials + second.tuner.state(1).resumed_trials == finished);
    CHECK(second.run({3600 * kSecond, 30, 0}).ok());
    for (const auto& [workload, config] : second.tried) {
      CHECK((is_default(config) || seen.insert(text_of(workload, config)).second));
    }
    const std::map<FrameType, int> counts = count_frames(storage.storage());
    CHECK(counts.at(FrameType::kFingerprint) == 1);
    CHECK(counts.at(FrameType::kWorkload) == 2);
    CHECK(counts.at(FrameType::kTrial) == static_cast<int>(finished) + 30);
    CHECK(counts.at(FrameType::kCommit) == 2);
    CHECK(counts.count(FrameType::kIntent) == 0);
    CHECK(!storage.misused());
  }
}

TEST_CASE("an exhausted space stays so after a restart, and its commit stands") {
  const OpenPack pack(plain_pack({up_to(3), up_to(2), up_to(2)}));
  RamStorage storage(1 << 20, 1, 0);
  SimTuning first(pack, crashing_bowl_device(), {}, storage.storage());
  CHECK(first.run({3600 * kSecond, 0, 0}).ok());
  CHECK(!first.tuner.state(0).kept_default);
  SimTuning second(pack, crashing_bowl_device(), {}, storage.storage());
  CHECK(second.run({3600 * kSecond, 0, 0}).ok());
  CHECK(second.tuner.trials() == 1);
  CHECK(second.tuner.state(0).stop == StopReason::kExhausted);
  CHECK(second.tuner.state(0).committed);
  CHECK(second.tuner.state(0).best_config == first.tuner.state(0).best_config);
  CHECK(second.commits == 0);
}

TEST_CASE("committed workloads are left alone on a second boot") {
  const OpenPack pack(many_workloads(3, kFourKnobs));
  RamStorage storage(1 << 20, 1, 0);
  TunerOptions options;
  options.retune_committed = false;
  SimTuning first(pack, crashing_bowl_device(), options, storage.storage());
  CHECK(first.run({3600 * kSecond, 60, 0}).ok());
  const size_t bytes = storage.bytes().size();
  SimTuning second(pack, crashing_bowl_device(), options, storage.storage());
  CHECK(second.run({3600 * kSecond, 60, 0}).ok());
  CHECK(second.tuner.trials() == 0);
  CHECK(second.device.build_count == 0);
  CHECK(storage.bytes().size() == bytes);
  for (uint32_t w = 0; w < 3; ++w) {
    CHECK(second.tuner.state(w).stop == StopReason::kCommitted);
    CHECK(second.tuner.state(w).best_config == first.tuner.state(w).best_config);
    CHECK(second.tuner.state(w).rematch_best_ns == first.tuner.state(w).rematch_best_ns);
  }
}

TEST_CASE("a commit survives a later run too short to confirm anything") {
  const OpenPack pack(plain_pack(kFourKnobs));
  RamStorage storage(1 << 20, 1, 0);
  SimTuning first(pack, crashing_bowl_device(), {}, storage.storage());
  CHECK(first.run({3600 * kSecond, 60, 0}).ok());
  for (const uint64_t budget_ms : {0, 2, 5, 20}) {
    SimTuning second(pack, crashing_bowl_device(), {}, storage.storage());
    const Status status = second.run({budget_ms * kMillisecond, 0, 0});
    CHECK((status.ok() || status == TEMPER_BUDGET_SPENT));
    CHECK(second.tuner.state(0).committed);
    CHECK(!second.tuner.state(0).kept_default);
    CHECK(!is_default(second.tuner.state(0).best_config));
  }
}

TEST_CASE("results of another device are hints: tried first, never believed") {
  const OpenPack pack(plain_pack(kFourKnobs));
  RamStorage storage(1 << 20, 1, 0);
  SimTuning first(pack, crashing_bowl_device(), {}, storage.storage());
  CHECK(first.run({3600 * kSecond, 80, 0}).ok());
  SimTuning second(pack, crashing_bowl_device(), {}, storage.storage(), test_fingerprint(2));
  CHECK(second.tuner.state(0).resumed_trials == 0);
  CHECK(!second.tuner.state(0).committed);
  CHECK(second.run({3600 * kSecond, 12, 0}).ok());
  REQUIRE(second.tried.size() == 12);
  CHECK(is_default(second.tried[0].second));
  CHECK(std::any_of(second.tried.begin() + 1, second.tried.begin() + 3,
                    [&](const auto& trial) { return trial.second == first.tuner.state(0).best_config; }));
  const std::map<FrameType, int> counts = count_frames(storage.storage());
  CHECK(counts.at(FrameType::kFingerprint) == 2);
  CHECK(counts.at(FrameType::kWorkload) == 1);
  // The first device again: its own results count, the second one's are hints.
  SimTuning third(pack, crashing_bowl_device(), {}, storage.storage());
  CHECK(third.tuner.state(0).resumed_trials == 80);
  CHECK(third.tuner.state(0).committed);
}

TEST_CASE("a clock that drifted makes a new fingerprint but keeps the results") {
  const OpenPack pack(plain_pack(kFourKnobs));
  RamStorage storage(1 << 20, 1, 0);
  SimTuning first(pack, crashing_bowl_device(), {}, storage.storage());
  CHECK(first.run({3600 * kSecond, 20, 0}).ok());
  temper_facts facts = test_facts();
  facts.value[TEMPER_FACT_CLOCK_KHZ] = facts.value[TEMPER_FACT_CLOCK_KHZ] * 3 / 2 + 1000;
  const Fingerprint drifted = make_fingerprint(1, facts, 1, 0, 0x1234, 1);
  SimTuning second(pack, crashing_bowl_device(), {}, storage.storage(), drifted);
  CHECK(second.tuner.state(0).resumed_trials == 20);
  CHECK(second.run({3600 * kSecond, 5, 0}).ok());
  CHECK(count_frames(storage.storage()).at(FrameType::kFingerprint) == 2);
}

TEST_CASE("an intent without a trial quarantines the config for ever") {
  const OpenPack pack(plain_pack(kFourKnobs));
  RamStorage storage(1 << 20, 1, 0);
  TunerOptions options;
  options.write_intents = true;
  Config guilty;
  uint32_t finished = 0;
  {
    SimTuning first(pack, crashing_bowl_device(), options, storage.storage());
    REQUIRE(first.tuner.start({3600 * kSecond, 0, 0}).ok());
    CHECK(first.run_trials(10) == TEMPER_MORE);
    // The device resets while the next one runs: step until its check began.
    const uint32_t checks = first.device.check_count;
    while (first.device.check_count == checks) {
      REQUIRE(first.tuner.step() == TEMPER_MORE);
    }
    finished = static_cast<uint32_t>(first.tried.size());
    const ScannedHistory scanned(storage.storage());
    REQUIRE(scanned.frames.back().type == FrameType::kIntent);
    IntentView intent;
    const ScannedFrame& frame = scanned.frames.back();
    REQUIRE(read_intent({frame.type, frame.sequence, {frame.payload.data(), frame.payload.size()}}, &intent).ok());
    REQUIRE(config_from_knobs(*first.tuner.state(0).space, intent.knobs, &guilty).ok());
  }
  for (int boot = 0; boot < 3; ++boot) {
    SimTuning next(pack, crashing_bowl_device(), options, storage.storage());
    CHECK(next.run({3600 * kSecond, 20, 0}).ok());
    CHECK(std::none_of(next.device.built.begin(), next.device.built.end(),
                       [&](const auto& built) { return built.second == guilty; }));
    CHECK(next.tuner.state(0).resumed_trials == finished + 1 + 20u * static_cast<uint32_t>(boot));
  }
  const std::map<FrameType, int> counts = count_frames(storage.storage());
  CHECK(counts.at(FrameType::kTrial) == static_cast<int>(finished) + 1 + 60);
}

TEST_CASE("a default that resets the device twice is not run a third time") {
  const OpenPack pack(plain_pack(kFourKnobs));
  RamStorage storage(1 << 20, 1, 0);
  TunerOptions options;
  options.write_intents = true;
  for (int boot = 0; boot < 2; ++boot) {
    SimTuning next(pack, crashing_bowl_device(), options, storage.storage());
    REQUIRE(next.tuner.start({3600 * kSecond, 0, 0}).ok());
    while (next.device.check_count == 0) {
      REQUIRE(next.tuner.step() == TEMPER_MORE);
    }
  }
  SimTuning third(pack, crashing_bowl_device(), options, storage.storage());
  CHECK(third.run({3600 * kSecond, 20, 0}).ok());
  CHECK(std::none_of(third.device.built.begin(), third.device.built.end(),
                     [](const auto& built) { return is_default(built.second); }));
  CHECK(third.tuner.state(0).committed);
  CHECK(!third.tuner.state(0).kept_default);
}

TEST_CASE("intents of trials that ended, or were cut by the budget, quarantine nothing") {
  const OpenPack pack(plain_pack(kFourKnobs));
  RamStorage storage(1 << 20, 1, 0);
  TunerOptions options;
  options.write_intents = true;
  SimOptions sim = crashing_bowl_device();
  sim.time_ns = [](uint32_t, const Config&) { return 3e7; };
  SimTuning first(pack, sim, options, storage.storage());
  CHECK(first.run({1234 * kMillisecond, 0, 0}).ok());
  const std::map<FrameType, int> counts = count_frames(storage.storage());
  CHECK(counts.at(FrameType::kIntent) > 3);
  SimTuning second(pack, sim, options, storage.storage());
  CHECK(second.tuner.state(0).resumed_trials == static_cast<uint32_t>(counts.at(FrameType::kTrial)));
  CHECK(second.run({0, 0, 0}) == TEMPER_BUDGET_SPENT);
  CHECK(count_frames(storage.storage()).at(FrameType::kTrial) == counts.at(FrameType::kTrial));
}

TEST_CASE("storage that fails is told once, and the run goes on in memory") {
  const OpenPack pack(plain_pack(kFourKnobs));
  RamStorage storage(1 << 20, 1, 0);
  SimTuning tuning(pack, crashing_bowl_device(), {}, storage.storage());
  struct Lost {
    int events = 0;
  } lost;
  tuning.tuner.set_listener(&lost, [](void* self, const TunerEvent& event) {
    static_cast<Lost*>(self)->events += event.kind == TunerEvent::Kind::kStorageLost ? 1 : 0;
  });
  storage.room_bytes = 700;
  CHECK(tuning.run({3600 * kSecond, 40, 0}).ok());
  CHECK(lost.events == 1);
  CHECK(tuning.tuner.trials() == 40);
  CHECK(tuning.tuner.state(0).committed);
}

TEST_CASE("power cut at any write leaves a history that the next run takes up") {
  const OpenPack pack(plain_pack(kFourKnobs));
  for (uint32_t cut = 0; cut < 1200; cut += 7) {
    CAPTURE(cut);
    RamStorage storage(1 << 16, 8, 4096);
    SimTuning first(pack, crashing_bowl_device(), {}, storage.storage());
    storage.cut_power_after(cut);
    CHECK(first.run({3600 * kSecond, 20, 0}).ok());
    storage.restore_power();
    SimTuning second(pack, crashing_bowl_device(), {}, storage.storage());
    CHECK(second.tuner.state(0).resumed_trials <= 20);
    CHECK(second.run({3600 * kSecond, 10, 0}).ok());
    CHECK(second.tuner.trials() == 10);
    CHECK(!storage.misused());
  }
}

TEST_CASE("frames of workloads, knobs or values that this pack does not know are passed over") {
  const OpenPack known(many_workloads(2, kFourKnobs));
  RamStorage storage(1 << 20, 1, 0);
  SimTuning first(known, crashing_bowl_device(), {}, storage.storage());
  CHECK(first.run({3600 * kSecond, 40, 0}).ok());
  const OpenPack smaller(many_workloads(1, {up_to(4), up_to(4), up_to(6), up_to(6)}));
  SimTuning second(smaller, crashing_bowl_device(), {}, storage.storage());
  CHECK(second.tuner.state(0).resumed_trials < 40);
  CHECK(second.run({3600 * kSecond, 20, 0}).ok());
  CHECK(second.tuner.trials() == 20);
}

}  // namespace
}  // namespace temper::test
