// The tuner's trials, from proposal to record: builds overlap, one run at a time. See runtime/tuner.h.
#include <new>

#include "runtime/tuner.h"

namespace temper {
namespace {

constexpr uint32_t kNoWorkload = UINT32_MAX;
constexpr uint64_t kRunFloorNs = 50000000;  // no run is cut before: the limit ends hangs, it does not judge speed
constexpr uint64_t kRunMargin = 4;          // nor before this multiple of the incumbent
constexpr uint64_t kCheckMargin = 8;
constexpr uint64_t kDefaultFloorNs =
    1000000000;  // a default gets a quarter of the budget (a lone one all of it), between these
constexpr uint64_t kDefaultCeilingNs = 60000000000;
constexpr uint64_t kBuildMargin = 16;
constexpr uint64_t kBuildFloorNs = 5000000000;  // a build that takes this long, and 16 times the usual, hangs
constexpr uint64_t kWaitNs = 2000000;
constexpr uint32_t kChunk = 4;

}  // namespace

Status Tuner::search_step() {
  if (past_end()) {
    cut_everything();
    return finish();
  }
  const bool progress = poll_builds();
  RunResult result;
  if (poll_run(&result)) {
    on_run(result);
    if (clock_stands_) {
      cut_everything();
      return finish();
    }
    // The next run may start at once, but the search waits for a step of its own: learning and recording take time.
    (void)(!run_.active && start_next_run());
    return TEMPER_MORE;
  }
  if ((!run_.active && start_next_run()) || fill() || progress) {
    return TEMPER_MORE;
  }
  if (in_flight_total() == 0) {
    return advance() ? Status(TEMPER_MORE) : finish();
  }
  if (runner_.wait != nullptr) {
    runner_.wait(runner_.self, kWaitNs);
  }
  return TEMPER_MORE;
}

bool Tuner::poll_builds() {
  bool progress = false;
  for (uint8_t i = 0; i < runner_.slot_count; ++i) {
    Slot& slot = slots_[i];
    const uint64_t now = elapsed_ns();
    temper_outcome outcome = TEMPER_OUTCOME_OK;
    if (slot.phase == SlotPhase::kReady && (left_ns() == 0 || stopping_)) {
      drop(i);
      progress = true;
    }
    if (slot.phase != SlotPhase::kBuilding) {
      continue;
    }
    const uint64_t took = now - slot.since_ns;
    if (runner_.poll_build(runner_.self, i, &outcome, &slot.build_us)) {
      progress = true;
      update_estimate(&build_ns_, took);
      slot.phase = SlotPhase::kReady;
      if (outcome != TEMPER_OUTCOME_OK) {
        record(i, outcome);
      }
    } else if (left_ns() == 0 || stopping_) {
      drop(i);
      progress = true;
    } else if (took > build_limit_ns()) {
      record(i, TEMPER_OUTCOME_TIMEOUT);
      progress = true;
    }
  }
  return progress;
}

uint64_t Tuner::build_limit_ns() const {
  const uint64_t usual = build_ns_ == 0 ? budget_.time_ns / 4 : kBuildMargin * build_ns_;
  return usual < kBuildFloorNs ? kBuildFloorNs : usual < kDefaultCeilingNs ? usual : kDefaultCeilingNs;
}

// True when the run in flight ended. A runner that does not keep its limit is told to give up.
bool Tuner::poll_run(RunResult* result) {
  if (!run_.active) {
    return false;
  }
  if (runner_.poll_run(runner_.self, result)) {
    run_.active = false;
    return true;
  }
  const uint64_t took = elapsed_ns() - run_.since_ns;
  if (took / 2 <= run_.limit_ns + kRunFloorNs) {
    return false;
  }
  run_.active = false;
  *result = RunResult{TEMPER_OUTCOME_TIMEOUT, 0};
  return true;
}

void Tuner::on_run(const RunResult& result) {
  Slot& slot = slots_[run_.slot];
  WorkloadState& state = states_[slot.workload];
  if (result.outcome != TEMPER_OUTCOME_OK) {
    if (result.outcome == TEMPER_OUTCOME_TIMEOUT && run_.cut_by_budget) {
      if (slot.phase == SlotPhase::kTiming && measurement_.finish()) {
        record(run_.slot, TEMPER_OUTCOME_OK);
      } else {
        drop(run_.slot);
      }
      return;
    }
    record(run_.slot, result.outcome);
    return;
  }
  if (slot.phase == SlotPhase::kChecking) {
    if (slot.is_default) {
      state.check_ns = elapsed_ns() - slot.since_ns;
    }
    MeasurementLimits limits = options_.measurement;
    const uint64_t left = left_ns();
    limits.max_total_ns = limits.max_total_ns < left ? limits.max_total_ns : static_cast<uint32_t>(left);
    new (&measurement_) LongMeasurement(limits, slot.is_default ? 0 : state.best_ns);
    slot.phase = SlotPhase::kTiming;
    return;
  }
  note_overhead(result.elapsed_ns);
  // It came back within its limit, whatever a clock that jumps tells.
  measurement_.add(result.elapsed_ns < run_.limit_ns ? result.elapsed_ns : run_.limit_ns);
  after_sample();
}

void Tuner::note_overhead(uint64_t elapsed_ns) {
  const uint64_t took = Tuner::elapsed_ns() - run_.since_ns;
  const uint64_t overhead = took > elapsed_ns ? took - elapsed_ns : 0;
  overhead_ns_ = overhead_ns_ - overhead_ns_ / 8 + overhead / 8;
}

void Tuner::after_sample() {
  if (measurement_.clock_stands()) {
    clock_stands_ = true;
  } else if (measurement_.state() == MeasurementState::kDone) {
    record(run_.slot, TEMPER_OUTCOME_OK);
  } else if (measurement_.state() == MeasurementState::kTooSlow) {
    record(run_.slot, TEMPER_OUTCOME_TOO_SLOW);
  }
}

// The sample series that was begun goes on first; then candidates in the order of their proposal.
bool Tuner::start_next_run() {
  uint8_t next = runner_.slot_count;
  for (uint8_t i = 0; i < runner_.slot_count; ++i) {
    if (slots_[i].phase == SlotPhase::kTiming) {
      return begin_sample(i);
    }
    if (slots_[i].phase == SlotPhase::kReady && (next == runner_.slot_count || slots_[i].order < slots_[next].order)) {
      next = i;
    }
  }
  return next < runner_.slot_count && begin_check(next);
}

bool Tuner::begin_check(uint8_t index) {
  Slot& slot = slots_[index];
  WorkloadState& state = states_[slot.workload];
  const uint64_t left = left_ns();
  if (!slot.is_default && left < state.trial_cost_ns + reserved_ns()) {
    drop(index);
    return true;
  }
  if (options_.write_intents && write_frames(state)) {
    (void)append_intent(*history_, *state.space, slot.config);
    check_storage();
    slot.intent = true;
  }
  slot.phase = SlotPhase::kChecking;
  slot.since_ns = elapsed_ns();
  return request_run(index, RunKind::kCheck, 1, run_limit(state, slot.is_default, RunKind::kCheck, 1));
}

bool Tuner::begin_sample(uint8_t index) {
  Slot& slot = slots_[index];
  const uint32_t calls = measurement_.number();
  const uint64_t expected = calls * measurement_.fastest_ns();
  if (left_ns() <= expected && measurement_.finish()) {
    record(index, TEMPER_OUTCOME_OK);
    return true;
  }
  const WorkloadState& state = states_[slot.workload];
  return request_run(index, RunKind::kTime, calls, run_limit(state, slot.is_default, RunKind::kTime, calls));
}

bool Tuner::request_run(uint8_t index, RunKind kind, uint32_t calls, uint64_t limit_ns) {
  const uint64_t cut = left_ns() + grace_ns() / 2;
  run_ = InFlight{true, cut < limit_ns, index, calls, elapsed_ns(), cut < limit_ns ? cut : limit_ns};
  if (!runner_.run(runner_.self, index, kind, calls, run_.limit_ns).ok()) {
    run_.active = false;
    const RunResult refused{TEMPER_OUTCOME_CRASHED, 0};
    if (phase_ == Phase::kRematch) {
      on_rematch_run(refused);
    } else {
      on_run(refused);
    }
  }
  return true;
}

uint64_t Tuner::run_limit(const WorkloadState& state, bool is_default, RunKind kind, uint32_t calls) const {
  if (is_default || state.best_ns == 0) {
    const uint64_t share = budget_.time_ns / (workload_count_ == 1 ? 1 : 4);
    return share < kDefaultFloorNs ? kDefaultFloorNs : share > kDefaultCeilingNs ? kDefaultCeilingNs : share;
  }
  if (kind == RunKind::kCheck) {
    const uint64_t reference = state.check_ns > state.best_ns ? state.check_ns : state.best_ns;
    return kRunFloorNs + kCheckMargin * reference;
  }
  return kRunFloorNs + kRunMargin * calls * state.best_ns;
}

// Uses a free slot: first for defaults, then for candidates. While a rematch waits for the slots, nothing new begins.
bool Tuner::fill() {
  if (stopping_ || left_ns() == 0) {
    return false;
  }
  uint8_t slot = 0;
  while (slot < runner_.slot_count && slots_[slot].phase != SlotPhase::kFree) {
    ++slot;
  }
  if (slot == runner_.slot_count) {
    return false;
  }
  return fill_default(slot) || fill_candidate(slot);
}

bool Tuner::fill_default(uint8_t slot) {
  const uint32_t workload = choose_default();
  if (workload == kNoWorkload || left_ns() < build_ns_ + default_cost_ns_ / 2) {
    return false;
  }
  return submit(slot, workload, states_[workload].default_config, true);
}

bool Tuner::fill_candidate(uint8_t slot) {
  if (choose_default() != kNoWorkload || choose_rematch() != kNoWorkload) {
    return false;
  }
  const uint32_t workload = choose_workload();
  if (workload == kNoWorkload) {
    return false;
  }
  if (workload != chunk_workload_ || chunk_left_ == 0) {
    chunk_workload_ = workload;
    chunk_left_ = runner_.slot_count > kChunk ? runner_.slot_count : kChunk;
  }
  WorkloadState& state = states_[workload];
  Config config;
  state.searcher.set_progress(spent_q8(state));
  const Status found = state.searcher.propose(&config, options_.proposal_effort, options_.step_candidates);
  if (found == TEMPER_MORE) {
    return true;
  }
  if (!found.ok()) {
    chunk_left_ = 0;
    if (visited_.full()) {
      stop_workload(workload, StopReason::kBudget);
    } else {
      settle(workload);
    }
    return true;
  }
  --chunk_left_;
  return submit(slot, workload, config, false);
}

bool Tuner::submit(uint8_t index, uint32_t workload, const Config& config, bool is_default) {
  Slot& slot = slots_[index];
  slot = Slot();
  slot.phase = SlotPhase::kBuilding;
  slot.is_default = is_default;
  slot.workload = workload;
  slot.order = order_++;
  slot.since_ns = elapsed_ns();
  slot.config = config;
  WorkloadState& state = states_[workload];
  ++state.in_flight;
  if (is_default) {
    state.default_phase = DefaultPhase::kInFlight;
  }
  if (!runner_.build(runner_.self, index, workload, config).ok()) {
    record(index, TEMPER_OUTCOME_BUILD_ERROR);
  }
  return true;
}

}  // namespace temper
