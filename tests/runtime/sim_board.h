// A board tuner on a simulated device, with the memory it needs: what the board tuner's tests share. Host only.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/board_tuner.h"
#include "runtime/learning.h"
#include "tests/runtime/ram_storage.h"
#include "tests/runtime/sim_packs.h"
#include "tests/runtime/sim_runner.h"

namespace temper::test {

struct BoardOptions {
  uint32_t max_trials = 1024;
  uint64_t seed = 0;
  uint64_t target = 1;
  temper_facts facts = test_facts();
  uint32_t core_type = 1;
  uint32_t driver = 0;
  uint32_t pack_hash = 0x1234;
  const temper_learning_functions* learning = nullptr;
  const temper_storage* storage = nullptr;
};

inline BoardOptions on(const RamStorage& storage) {
  BoardOptions options;
  options.storage = storage.storage();
  return options;
}

struct BoardTrial {
  uint32_t workload;
  Config config;
  temper_outcome outcome;
};

/// A boot of a device. The pack and the storage may be shared by several in turn: that is what a second boot is.
class SimBoard {
 public:
  SimBoard(const OpenPack& pack, SimOptions sim, BoardOptions options = {}) : device(one_slot(std::move(sim))) {
    facts = options.facts;
    port.self = &device;
    port.now_ns = SimRunner::now_ns;
    port.storage = options.storage;
    port.log = [](void* self, const char* line) { static_cast<SimRunner*>(self)->logged.push_back(line); };
    config.pack = &pack.pack();
    config.port = &port;
    config.facts = facts;
    config.max_trials = options.max_trials;
    config.seed = options.seed;
    config.learning = options.learning;
    fingerprint = make_fingerprint(options.target, facts, options.core_type, options.driver, options.pack_hash, 1);
    values_.resize(pack.view().scratch_values());
    intervals_.resize(pack.view().scratch_intervals());
    spaces = CurrentSpace(&pack.view(), &config.facts, {values_.data(), intervals_.data()});
    Arena counting;
    const Lookup counted(counting, pack.view(), nullptr, nullptr, {}, nullptr);
    lookup_memory_.resize(counting.used / 8 + 1);
    Arena arena{reinterpret_cast<uint8_t*>(lookup_memory_.data()), lookup_memory_.size() * 8, 0};
    lookup = Lookup(arena, pack.view(), &spaces, &fingerprint, {}, nullptr);
    search_memory_.resize(BoardTuner::search_bytes(config, pack.view()) / 8 + 1);
    tuner = std::make_unique<BoardTuner>(&config, &spaces, &lookup, options.storage == nullptr ? nullptr : &history,
                                         &fingerprint, device.runner(), search_memory_.data());
    if (options.storage != nullptr) {
      ScanReport report{};
      const auto visit = [](void* self, const FrameView& frame) {
        static_cast<SimBoard*>(self)->lookup.offer(frame);
        static_cast<SimBoard*>(self)->tuner->note_history(frame.type);
      };
      REQUIRE(history.open(options.storage, {buffer_, sizeof buffer_}, this, visit, &report).ok());
    }
  }
  SimBoard(const SimBoard&) = delete;
  SimBoard& operator=(const SimBoard&) = delete;

  Status start(const temper_budget& budget, RunPurpose purpose = RunPurpose::kTune) {
    seen_ = 0;
    return tuner->start(budget, purpose);
  }
  Status step() {
    const Status status = tuner->step();
    tuner->progress(&progress);
    if (progress.trials != seen_) {
      seen_ = progress.trials;
      tried.push_back({device.built.back().first, device.built.back().second, progress.last_outcome});
    }
    return status;
  }
  /// Steps to the end; fails the test when that does not come, or the runner's contract was broken.
  Status run(const temper_budget& budget) {
    REQUIRE(start(budget).ok());
    return finish();
  }
  Status finish() {
    Status status = TEMPER_MORE;
    for (uint64_t steps = 0; status == TEMPER_MORE; ++steps) {
      if (steps == 20000000) {
        FAIL("the run does not end");
      }
      status = step();
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
      status = step();
    }
    return status;
  }

  bool committed(uint32_t workload) const { return lookup.note(workload).miss == TEMPER_MISS_NONE; }
  const Config& commit(uint32_t workload) const { return lookup.note(workload).config; }
  uint64_t default_ns(uint32_t workload) const { return expand_time(lookup.note(workload).default_time); }
  uint32_t commit_count() const {
    uint32_t count = 0;
    for (uint32_t w = 0; w < spaces.pack().workload_count(); ++w) {
      count += committed(w) ? 1 : 0;
    }
    return count;
  }
  uint32_t trials_of(uint32_t workload) const {
    uint32_t count = 0;
    for (const BoardTrial& trial : tried) {
      count += trial.workload == workload ? 1 : 0;
    }
    return count;
  }

  SimRunner device;
  temper_facts facts{};
  temper_port port{};
  temper_config config{};
  Fingerprint fingerprint{};
  CurrentSpace spaces;
  Lookup lookup;
  History history;
  std::unique_ptr<BoardTuner> tuner;
  temper_progress progress{};
  std::vector<BoardTrial> tried;

 private:
  static SimOptions one_slot(SimOptions sim) {
    sim.slot_count = 1;
    return sim;
  }

  std::vector<int32_t> values_;
  std::vector<Interval> intervals_;
  std::vector<uint64_t> lookup_memory_, search_memory_;
  alignas(8) uint8_t buffer_[kHistoryBufferBytes];
  uint32_t seen_ = 0;
};

}  // namespace temper::test
