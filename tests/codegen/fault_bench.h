// The host's runner over the worker that plants faults (fault_worker.cc), and what must not leak: shared by the tests
// of the runner. Host only.
#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

#include "codegen/jit_runner.h"
#include "schedules/spaces.h"
#include "tests/codegen/planted_faults.h"

namespace temper {

inline constexpr uint64_t kSecond = 1'000'000'000;
inline constexpr uint64_t kMillisecond = 1'000'000;

inline size_t open_descriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

/// A runner over the faulty worker, with one workload per fault: the index of a workload is its fault minus one.
class Bench {
 public:
  explicit Bench(JitRunnerOptions options = quick()) {
    std::vector<NetworkWorkload> workloads;
    std::vector<std::string> texts;
    for (int fault = 1; fault < static_cast<int>(Fault::kFaultEnd); ++fault) {
      const Workload workload = workload_with(static_cast<Fault>(fault));
      workloads.push_back(NetworkWorkload{workload, std::to_string(fault), 1});
      texts.push_back(canonical_text(workload));
    }
    PackOptions pack_options;
    pack_options.target = "native";
    pack_options.digests = false;
    const Result<std::vector<uint8_t>> bytes = write_pack(workloads, pack_options);
    REQUIRE(bytes);
    words_.resize((bytes->size() + 7) / 8);
    std::memcpy(words_.data(), bytes->data(), bytes->size());
    pack_ = temper_pack{words_.data(), bytes->size(), nullptr, 0};
    REQUIRE(PackView::open(pack_, &view_, nullptr).ok());
    facts_ = temper_facts{{8, 16, 32768, 1 << 20, 1 << 22, 2, 1, 3000000, 10000, 4, 2}};
    values_.resize(view_.scratch_values());
    intervals_.resize(view_.scratch_intervals());
    Result<std::unique_ptr<JitRunner>> made = JitRunner::create(pack_, facts_, texts, options);
    REQUIRE(made);
    jit_ = std::move(*made);
    runner_ = jit_->runner();
  }

  static JitRunnerOptions quick() {
    JitRunnerOptions options;
    options.command.path = TEMPER_FAULT_WORKER;
    options.build_limit_ns = 4 * kSecond;  // a loaded machine may take its time to start a process
    options.grace_ns = 20 * kMillisecond;
    return options;
  }

  Config config_of(Fault fault, uint32_t nth = 0) {
    const Space space(&view_, static_cast<uint32_t>(fault) - 1, &facts_, Scratch{values_.data(), intervals_.data()});
    Config config;
    REQUIRE(space.default_config(&config).ok());
    Random random(nth);
    for (uint32_t i = 0; nth > 0 && i < 8; ++i) {
      static_cast<void>(space.sample(random, &config));
    }
    return config;
  }

  void start_build(uint8_t slot, Fault fault, uint32_t nth = 0) {
    REQUIRE(runner_.build(runner_.self, slot, static_cast<uint32_t>(fault) - 1, config_of(fault, nth)).ok());
  }
  temper_outcome end_build(uint8_t slot) {
    temper_outcome outcome = TEMPER_OUTCOME_OK;
    uint32_t build_us = 0;
    while (!runner_.poll_build(runner_.self, slot, &outcome, &build_us)) {
      runner_.wait(runner_.self, kSecond);
    }
    return outcome;
  }
  temper_outcome build(uint8_t slot, Fault fault, uint32_t nth = 0) {
    start_build(slot, fault, nth);
    return end_build(slot);
  }
  RunResult run(uint8_t slot, RunKind kind, uint32_t number, uint64_t limit_ns = 20 * kSecond) {
    REQUIRE(runner_.run(runner_.self, slot, kind, number, limit_ns).ok());
    RunResult result{};
    while (!runner_.poll_run(runner_.self, &result)) {
      runner_.wait(runner_.self, kSecond);
    }
    return result;
  }
  temper_outcome check(uint8_t slot, uint64_t limit_ns = 20 * kSecond) {
    return run(slot, RunKind::kCheck, 1, limit_ns).outcome;
  }
  void release(uint8_t slot) { runner_.release(runner_.self, slot); }

  /// Build, check and release in slot 1: what becomes of the trial.
  temper_outcome trial(Fault fault, uint64_t limit_ns = 20 * kSecond) {
    temper_outcome outcome = build(1, fault);
    if (outcome == TEMPER_OUTCOME_OK) {
      outcome = check(1, limit_ns);
    }
    release(1);
    return outcome;
  }

  JitRunner& jit() { return *jit_; }
  Runner& table() { return runner_; }

 private:
  std::vector<uint64_t> words_;
  temper_pack pack_{};
  PackView view_;
  temper_facts facts_{};
  std::vector<int32_t> values_;
  std::vector<Interval> intervals_;
  std::unique_ptr<JitRunner> jit_;
  Runner runner_{};
};

}  // namespace temper
