// A tuner on a simulated device, with the memory it needs: what the tuner's tests share. Host only.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "runtime/tuner.h"
#include "tests/runtime/ram_storage.h"
#include "tests/runtime/scanned_history.h"
#include "tests/runtime/sim_packs.h"
#include "tests/runtime/sim_runner.h"

namespace temper::test {

inline Fingerprint test_fingerprint(uint64_t target = 1) {
  return make_fingerprint(target, test_facts(), 1, 0, 0x1234, 1);
}

/// A run on a device. The pack and the storage may be shared by several in turn: that is what a second boot is.
class SimTuning {
 public:
  SimTuning(const OpenPack& pack, SimOptions sim, TunerOptions options = {}, const temper_storage* storage = nullptr,
            const Fingerprint& fingerprint = test_fingerprint())
      : device(std::move(sim)), memory_(Tuner::bytes_needed(pack.view(), options) + 64) {
    Arena arena;
    const auto address = reinterpret_cast<uintptr_t>(memory_.data());
    arena.base = memory_.data() + (64 - address % 64) % 64;
    arena.capacity = Tuner::bytes_needed(pack.view(), options);
    History* history = nullptr;
    if (storage != nullptr) {
      scanned = std::make_unique<ScannedHistory>(storage);
      REQUIRE(scanned->status.ok());
      history = &scanned->history;
    }
    REQUIRE(tuner
                .init(arena, &pack.view(), &facts_, fingerprint, device.runner(), analytic_prior(), history,
                      SimRunner::now_ns, &device, options)
                .ok());
    if (storage != nullptr) {
      for (const ScannedFrame& frame : scanned->frames) {
        tuner.resume({frame.type, frame.sequence, {frame.payload.data(), frame.payload.size()}});
      }
    }
    tuner.set_listener(this, [](void* self, const TunerEvent& event) {
      auto* tuning = static_cast<SimTuning*>(self);
      tuning->commits += event.kind == TunerEvent::Kind::kCommit ? 1 : 0;
      if (event.kind == TunerEvent::Kind::kTrial) {
        tuning->tried.emplace_back(event.workload, *event.config);
        tuning->outcomes.push_back(event.trial.outcome);
        tuning->medians.push_back(event.trial.median_ns);
      }
    });
  }
  SimTuning(const SimTuning&) = delete;
  SimTuning& operator=(const SimTuning&) = delete;

  /// Steps to the end; fails the test when that does not come, or the runner's contract was broken.
  Status run(const temper_budget& budget) {
    REQUIRE(tuner.start(budget).ok());
    return finish();
  }
  Status finish() {
    Status status = TEMPER_MORE;
    for (uint64_t steps = 0; status == TEMPER_MORE; ++steps) {
      if (steps == 20000000) {
        FAIL("the run does not end");
      }
      status = tuner.step();
    }
    for (const std::string& fault : device.faults) {
      FAIL(fault);
    }
    CHECK(device.slots_in_use() == 0);
    return status;
  }
  /// Steps until this many trials are recorded, or the end.
  Status run_trials(uint32_t count) {
    Status status = TEMPER_MORE;
    while (status == TEMPER_MORE && tried.size() < count) {
      status = tuner.step();
    }
    return status;
  }

  SimRunner device;
  Tuner tuner;
  std::unique_ptr<ScannedHistory> scanned;
  std::vector<std::pair<uint32_t, Config>> tried;
  std::vector<temper_outcome> outcomes;
  std::vector<uint64_t> medians;
  uint32_t commits = 0;

 private:
  temper_facts facts_ = test_facts();
  std::vector<uint8_t> memory_;
};

}  // namespace temper::test
