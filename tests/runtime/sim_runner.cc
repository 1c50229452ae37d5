#include "tests/runtime/sim_runner.h"

#include <algorithm>
#include <cmath>

namespace temper::test {
namespace {

constexpr uint64_t kNever = UINT64_MAX;
constexpr double kColdFactor = 1.4;

SimRunner* self_of(void* self) { return static_cast<SimRunner*>(self); }

}  // namespace

uint64_t SimRunner::now_ns(void* self) {
  self_of(self)->clock_ns += 100;  // reading it takes time, and so does whatever happens between two readings
  return self_of(self)->shown(self_of(self)->clock_ns);
}

Runner SimRunner::runner() {
  Runner runner{};
  runner.self = this;
  runner.slot_count = options_.slot_count;
  runner.build = [](void* self, uint8_t slot, uint32_t workload, const Config& config) {
    return self_of(self)->build(slot, workload, config);
  };
  runner.poll_build = [](void* self, uint8_t slot, temper_outcome* outcome, uint32_t* build_us) {
    return self_of(self)->poll_build(slot, outcome, build_us);
  };
  runner.run = [](void* self, uint8_t slot, RunKind kind, uint32_t number, uint64_t limit_ns) {
    return self_of(self)->run(slot, kind, number, limit_ns);
  };
  runner.poll_run = [](void* self, RunResult* result) { return self_of(self)->poll_run(result); };
  runner.release = [](void* self, uint8_t slot) { self_of(self)->release(slot); };
  if (!options_.synchronous) {
    runner.wait = [](void* self, uint64_t limit_ns) { self_of(self)->wait(limit_ns); };
  }
  return runner;
}

uint32_t SimRunner::slots_in_use() const {
  return static_cast<uint32_t>(
      std::count_if(std::begin(slots_), std::end(slots_), [](const Slot& slot) { return slot.state != State::kFree; }));
}

uint8_t SimRunner::known(uint8_t slot, const char* call) {
  if (slot >= options_.slot_count) {
    faults.push_back(std::string(call) + ": slot out of range");
    return 0;
  }
  return slot;
}

double SimRunner::noise_factor() {
  double sum = -6;  // of twelve uniform numbers: normal enough, and the same everywhere
  for (int i = 0; i < 12; ++i) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    sum += static_cast<double>(state_ >> 40) / static_cast<double>(1u << 24);
  }
  return std::exp(options_.noise * sum);
}

Status SimRunner::build(uint8_t index, uint32_t workload, const Config& config) {
  Slot& slot = slots_[known(index, "build")];
  if (slot.state != State::kFree) {
    faults.push_back("build: slot in use");
  }
  ++build_count;
  built.emplace_back(workload, config);
  const SimFate fate = options_.fate(workload, config);
  const uint64_t cost = fate == SimFate::kBuildHangs ? kNever / 4 : options_.build_ns;
  slot = Slot{};
  slot.state = State::kBuilding;
  slot.workload = workload;
  slot.config = config;
  if (options_.synchronous) {
    clock_ns += options_.build_ns;
    slot.ready_ns = clock_ns;
    return {};
  }
  const auto worker = std::min_element(worker_free_ns_.begin(), worker_free_ns_.begin() + options_.build_workers);
  slot.ready_ns = std::max(*worker, clock_ns) + cost;
  *worker = fate == SimFate::kBuildHangs ? *worker : slot.ready_ns;  // a hanging build's worker is replaced on release
  const auto building = std::count_if(std::begin(slots_), std::end(slots_),
                                      [](const Slot& other) { return other.state == State::kBuilding; });
  builds_in_flight_max = std::max(builds_in_flight_max, static_cast<uint32_t>(building));
  return {};
}

bool SimRunner::poll_build(uint8_t index, temper_outcome* outcome, uint32_t* build_us) {
  Slot& slot = slots_[known(index, "poll_build")];
  if (slot.state != State::kBuilding) {
    faults.push_back("poll_build: nothing is being built");
  }
  if (clock_ns < slot.ready_ns) {
    ++busy_polls;
    return false;
  }
  const bool failed = options_.fate(slot.workload, slot.config) == SimFate::kBuildError;
  slot.state = failed ? State::kFailed : State::kReady;
  *outcome = failed ? TEMPER_OUTCOME_BUILD_ERROR : TEMPER_OUTCOME_OK;
  *build_us = static_cast<uint32_t>(options_.build_ns / 1000);
  return true;
}

Status SimRunner::run(uint8_t index, RunKind kind, uint32_t number, uint64_t limit_ns) {
  Slot& slot = slots_[known(index, "run")];
  if (slot.state != State::kReady) {
    faults.push_back("run: slot is not ready");
  }
  if (running_) {
    faults.push_back("run: another run is in flight");
  }
  const std::string name =
      std::to_string(slot.workload) + std::string(std::begin(slot.config.choice), std::end(slot.config.choice));
  if (kind == RunKind::kTime && checked_.count(name) == 0) {
    faults.push_back("run: timed before it was checked");
  }
  ++(kind == RunKind::kCheck ? check_count : time_count);
  const SimFate fate = options_.fate(slot.workload, slot.config);
  const double one = options_.time_ns(slot.workload, slot.config) * noise_factor();
  const double cold = slot.warm ? 0 : (kColdFactor - 1) * one;
  const auto elapsed = static_cast<uint64_t>(one * number + cold);
  slot.warm = true;
  checked_.insert(name);
  running_ = true;
  running_slot_ = index;
  run_result_ = RunResult{TEMPER_OUTCOME_OK, shown(clock_ns + elapsed) - shown(clock_ns)};
  uint64_t duration = elapsed + options_.overhead_ns;
  if (fate == SimFate::kHangs || elapsed > limit_ns) {
    run_result_.outcome = TEMPER_OUTCOME_TIMEOUT;
    duration = limit_ns;
  } else if (fate == SimFate::kCrashes) {
    run_result_.outcome = TEMPER_OUTCOME_CRASHED;
  } else if (fate == SimFate::kWrongResult && kind == RunKind::kCheck) {
    run_result_.outcome = TEMPER_OUTCOME_WRONG_RESULT;
  }
  run_end_ns_ = clock_ns + duration;
  clock_ns = options_.synchronous ? run_end_ns_ : clock_ns;
  return {};
}

bool SimRunner::poll_run(RunResult* result) {
  if (!running_) {
    faults.push_back("poll_run: nothing runs");
    return false;
  }
  if (clock_ns < run_end_ns_) {
    ++busy_polls;
    return false;
  }
  running_ = false;
  *result = run_result_;
  return true;
}

void SimRunner::release(uint8_t index) {
  Slot& slot = slots_[known(index, "release")];
  if (slot.state == State::kFree) {
    faults.push_back("release: slot is free");
  }
  running_ = running_ && running_slot_ != index;
  slot = Slot{};
}

void SimRunner::wait(uint64_t limit_ns) {
  uint64_t next = clock_ns + limit_ns;
  for (const Slot& slot : slots_) {
    if (slot.state == State::kBuilding && slot.ready_ns > clock_ns) {
      next = std::min(next, slot.ready_ns);
    }
  }
  if (running_ && run_end_ns_ > clock_ns) {
    next = std::min(next, run_end_ns_);
  }
  clock_ns = next;
}

}  // namespace temper::test
