// The tuner's trials, from proposal to record: builds overlap, one run at a time. See runtime/tuner.h.
#include "runtime/tuner.h"

namespace temper {
namespace {

constexpr uint32_t kNoWorkload = UINT32_MAX;
constexpr uint64_t kRunFloorNs = 50000000;  // no run is cut before: the limit ends hangs, it does not judge speed
constexpr uint64_t kRunMargin = 4;          // nor before this multiple of the incumbent
constexpr uint64_t kCheckMargin = 8;
constexpr uint64_t kDefaultFloorNs = 1000000000;  // a default gets a quarter of the budget, between these two
constexpr uint64_t kDefaultCeilingNs = 60000000000;
constexpr uint64_t kBuildFloorNs = 5000000000;  // a build that takes this long, and 16 times the usual, hangs
constexpr uint64_t kWaitNs = 2000000;
constexpr uint32_t kChunk = 4;

// Moves a running estimate: up at once, down by a quarter of the way.
void estimate(uint64_t* value, uint64_t seen) { *value = seen > *value ? seen : *value - (*value - seen) / 4; }

}  // namespace

Status Tuner::search_step() {
  if (past_end()) {
    cut_everything();
    return finish();
  }
  bool progress = poll_builds();
  RunResult result;
  if (poll_run(&result)) {
    on_run(result);
    progress = true;
  }
  if (clock_stands_) {
    cut_everything();
    return finish();
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
      estimate(&build_ns_, took);
      slot.phase = SlotPhase::kReady;
      if (outcome != TEMPER_OUTCOME_OK) {
        record(i, outcome);
      }
    } else if (left_ns() == 0 || stopping_) {
      drop(i);
      progress = true;
    } else if (took > kBuildFloorNs && took > 16 * build_ns_) {
      record(i, TEMPER_OUTCOME_TIMEOUT);
      progress = true;
    }
  }
  return progress;
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
      if (slot.phase == SlotPhase::kTiming && slot.measurement.finish()) {
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
    limits.max_total_ns = limits.max_total_ns < left ? limits.max_total_ns : left;
    slot.measurement = Measurement(limits, slot.is_default ? 0 : state.best_ns);
    slot.phase = SlotPhase::kTiming;
    return;
  }
  slot.measurement.add(result.elapsed_ns);
  after_sample(slot);
}

void Tuner::after_sample(Slot& slot) {
  const uint8_t index = static_cast<uint8_t>(&slot - slots_);
  if (slot.measurement.clock_stands()) {
    clock_stands_ = true;
  } else if (slot.measurement.state() == MeasurementState::kDone) {
    record(index, TEMPER_OUTCOME_OK);
  } else if (slot.measurement.state() == MeasurementState::kTooSlow) {
    record(index, TEMPER_OUTCOME_TOO_SLOW);
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
    (void)append_intent(*history_, state.space, slot.config);
    check_storage();
    slot.intent = true;
  }
  slot.phase = SlotPhase::kChecking;
  slot.since_ns = elapsed_ns();
  return request_run(index, RunKind::kCheck, 1, run_limit(state, slot.is_default, RunKind::kCheck, 1));
}

bool Tuner::begin_sample(uint8_t index) {
  Slot& slot = slots_[index];
  const uint32_t calls = slot.measurement.number();
  const uint64_t expected = calls * slot.measurement.fastest_ns();
  if (left_ns() <= expected && slot.measurement.finish()) {
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
    const uint64_t share = budget_.time_ns / 4;
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
  --chunk_left_;
  WorkloadState& state = states_[workload];
  Config config;
  state.searcher.set_progress(spent_q8(state));
  if (!state.searcher.propose(&config, options_.proposal_effort).ok()) {
    chunk_left_ = 0;
    if (visited_.full()) {
      stop_workload(workload, StopReason::kBudget);
    } else {
      settle(workload);
    }
    return true;
  }
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

void Tuner::drop(uint8_t index) {
  Slot& slot = slots_[index];
  WorkloadState& state = states_[slot.workload];
  runner_.release(runner_.self, index);
  slot.phase = SlotPhase::kFree;
  --state.in_flight;
  if (slot.is_default) {
    state.default_phase = DefaultPhase::kTodo;
  }
  if (slot.intent && write_frames(state)) {  // else the next start would take it for a crash
    const TrialResult cut{TEMPER_OUTCOME_TOO_SLOW, 0, 0, slot.build_us, 0, slot.is_default};
    (void)append_trial(*history_, state.space, slot.config, ordinal_, cut);
    check_storage();
  }
  settle(slot.workload);
}

void Tuner::record(uint8_t index, temper_outcome outcome) {
  Slot& slot = slots_[index];
  WorkloadState& state = states_[slot.workload];
  runner_.release(runner_.self, index);
  const bool ran = slot.phase == SlotPhase::kChecking || slot.phase == SlotPhase::kTiming;
  const uint64_t cost = ran ? elapsed_ns() - slot.since_ns : 0;
  slot.phase = SlotPhase::kFree;
  --state.in_flight;
  ++state.trials;
  ++trials_;
  ++state.outcomes[outcome];
  const bool timed = outcome == TEMPER_OUTCOME_OK || outcome == TEMPER_OUTCOME_TOO_SLOW;
  const Measurement& measured = slot.measurement;
  const TrialResult trial{outcome,
                          timed ? measured.median_ns() : 0,
                          timed ? measured.spread_ns() : 0,
                          slot.build_us,
                          timed ? measured.sample_count() : uint8_t{0},
                          slot.is_default};
  if (ran) {
    estimate(&state.trial_cost_ns, cost);
    if (slot.is_default) {
      estimate(&default_cost_ns_, cost);
    }
  }
  learn(state, slot, trial);
  if (write_frames(state)) {
    (void)append_trial(*history_, state.space, slot.config, ordinal_, trial);
    check_storage();
  }
  emit(TunerEvent::Kind::kTrial, slot.workload, &slot.config, &trial);
  settle(slot.workload);
}

void Tuner::learn(WorkloadState& state, const Slot& slot, const TrialResult& trial) {
  const uint64_t before = state.best_ns;
  state.searcher.observe(slot.config, trial.outcome, trial.median_ns);
  if (slot.is_default) {
    const bool works = trial.outcome == TEMPER_OUTCOME_OK;
    state.default_phase = works ? DefaultPhase::kMeasured : DefaultPhase::kFailed;
    state.default_ns = works ? trial.median_ns : 0;
    slowest_default_ns_ = state.default_ns > slowest_default_ns_ ? state.default_ns : slowest_default_ns_;
  }
  const Span<const Elite> elites = state.searcher.elites();
  if (!elites.empty()) {
    state.best_ns = elites[0].time_ns;
    state.best_config = state.history_committed ? state.best_config : elites[0].config;
  }
  if (slot.is_default) {
    return;
  }
  state.gain_q8 -= state.gain_q8 / 8;
  if (trial.outcome != TEMPER_OUTCOME_OK || (before != 0 && trial.median_ns >= before)) {
    ++state.since_improvement;
    state.gain_q8 = state.gain_q8 < 8 ? 8 : state.gain_q8;
    return;
  }
  state.since_improvement = 0;
  const uint64_t gain = before == 0 ? 256 : (before - trial.median_ns) * 1024 / before;  // four times the relative gain
  state.gain_q8 = gain > 256 ? 256 : gain > state.gain_q8 ? static_cast<uint32_t>(gain) : state.gain_q8;
}

// Ends a workload's search where there is a reason to.
void Tuner::settle(uint32_t workload) {
  WorkloadState& state = states_[workload];
  const Searcher& searcher = state.searcher;
  if (state.stop != StopReason::kRunning || state.default_phase == DefaultPhase::kInFlight) {
    return;
  }
  // A workload where candidates did work gets more patience: its failures are a corner of the space.
  const bool worked = state.outcomes[TEMPER_OUTCOME_OK] > (state.default_phase == DefaultPhase::kMeasured ? 1u : 0u);
  const uint32_t patience = options_.stop_after_failures * (worked ? 4u : 1u);
  if (options_.stop_after_failures != 0 && searcher.failed_in_a_row() >= patience) {
    stop_workload(workload, StopReason::kFailures);
  } else if (options_.early_stopping != 0 && state.since_improvement >= options_.early_stopping) {
    stop_workload(workload, StopReason::kNoGain);
  } else if (state.in_flight == 0 && searcher.exhausted()) {
    const bool nothing = searcher.elites().empty() && state.default_phase == DefaultPhase::kFailed;
    stop_workload(workload, nothing ? StopReason::kDefaultFailed : StopReason::kExhausted);
  }
}

void Tuner::stop_workload(uint32_t workload, StopReason reason) {
  states_[workload].stop = reason;
  emit(TunerEvent::Kind::kWorkloadStopped, workload, &states_[workload].best_config, nullptr);
}

// Nothing is in flight and nothing can start. False: the run is over.
bool Tuner::advance() {
  bool running = false;
  for (uint32_t i = 0; i < workload_count_; ++i) {
    running = running || states_[i].stop == StopReason::kRunning;
  }
  const uint32_t due = choose_rematch();
  if (due == kNoWorkload && running) {
    end_search();
    return true;
  }
  if (due != kNoWorkload) {
    begin_rematch(due);
  }
  return due != kNoWorkload;
}

void Tuner::end_search() {
  for (uint32_t i = 0; i < workload_count_; ++i) {
    const WorkloadState& state = states_[i];
    if (state.stop == StopReason::kRunning) {
      const bool failed = state.default_phase == DefaultPhase::kFailed && state.searcher.elites().empty();
      stop_workload(i, state.trials == 0 ? StopReason::kUntouched
                       : failed          ? StopReason::kDefaultFailed
                                         : StopReason::kBudget);
    }
  }
}

void Tuner::cut_everything() {
  run_.active = false;
  for (uint8_t i = 0; i < runner_.slot_count; ++i) {
    if (slots_[i].phase == SlotPhase::kContestant) {
      runner_.release(runner_.self, i);
      slots_[i].phase = SlotPhase::kFree;
    } else if (slots_[i].phase == SlotPhase::kTiming && slots_[i].measurement.finish() && !clock_stands_) {
      record(i, TEMPER_OUTCOME_OK);
    } else if (slots_[i].phase != SlotPhase::kFree) {
      drop(i);
    }
  }
  end_search();
}

Status Tuner::finish() {
  if (phase_ != Phase::kDone) {
    for (uint32_t i = 0; i < workload_count_; ++i) {
      WorkloadState& state = states_[i];
      if (!state.concluded) {
        state.concluded = true;
        conclude_without_rematch(i);
      }
    }
    finished_ns_ = elapsed_ns();
    phase_ = Phase::kDone;
  }
  if (clock_stands_) {
    return TEMPER_PORT_ERROR;
  }
  bool any = false;
  bool untouched = false;
  for (uint32_t i = 0; i < workload_count_; ++i) {
    any = any || !states_[i].searcher.elites().empty() || states_[i].stop == StopReason::kCommitted;
    untouched = untouched || states_[i].stop == StopReason::kUntouched;
  }
  if (trials_ == 0 && untouched) {
    return TEMPER_BUDGET_SPENT;
  }
  return any ? TEMPER_OK : TEMPER_NOTHING_TO_TUNE;
}

}  // namespace temper
