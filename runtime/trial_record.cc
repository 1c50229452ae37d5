// The tuner's book-keeping: what a finished trial means for its workload, when a search is over, how a run ends.
// See runtime/tuner.h.
#include "runtime/tuner.h"

namespace temper {
namespace {

constexpr uint32_t kNoWorkload = UINT32_MAX;

}  // namespace

// Moves a running estimate: up at once, down by a quarter of the way.
void Tuner::update_estimate(uint64_t* value, uint64_t seen) {
  *value = seen > *value ? seen : *value - (*value - seen) / 4;
}

void Tuner::free_slot(uint8_t index) {
  runner_.release(runner_.self, index);
  slots_[index].phase = SlotPhase::kFree;
}

void Tuner::drop(uint8_t index) {
  Slot& slot = slots_[index];
  WorkloadState& state = states_[slot.workload];
  free_slot(index);
  --state.in_flight;
  if (slot.is_default) {
    state.default_phase = DefaultPhase::kTodo;
  }
  if (slot.intent) {  // else the next start would take it for a crash
    keep_trial(state, slot.config, {TEMPER_OUTCOME_TOO_SLOW, 0, 0, slot.build_us, 0, slot.is_default});
  }
  settle(slot.workload);
}

void Tuner::record(uint8_t index, temper_outcome outcome) {
  Slot& slot = slots_[index];
  WorkloadState& state = states_[slot.workload];
  const bool ran = slot.phase == SlotPhase::kChecking || slot.phase == SlotPhase::kTiming;
  const uint64_t cost = ran ? elapsed_ns() - slot.since_ns : 0;
  free_slot(index);
  --state.in_flight;
  ++state.trials;
  ++trials_;
  ++state.outcomes[outcome];
  const bool timed = has_time(outcome);
  const LongMeasurement& measured = measurement_;
  const TrialResult trial{outcome,
                          timed ? measured.median_ns() : 0,
                          timed ? measured.spread_ns() : 0,
                          slot.build_us,
                          timed ? measured.sample_count() : uint8_t{0},
                          slot.is_default};
  if (ran) {
    update_estimate(&state.trial_cost_ns, cost);
    if (slot.is_default) {
      update_estimate(&default_cost_ns_, cost);
    }
  }
  learn(state, slot, trial);
  keep_trial(state, slot.config, trial);
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
    state.best_config = state.best_is_committed ? state.best_config : elites[0].config;
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
  if (state.concluded && trial.median_ns < before - before / 50) {
    state.concluded = false;
  }
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
  if (state.unconfirmed && settle_earlier(workload)) {
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

// The default and the earlier winner are measured: what may hold is put to a rematch, else the search goes on. Where
// the default was kept at another clock, it stays. False: it is not settled yet, or does not hold.
bool Tuner::settle_earlier(uint32_t workload) {
  WorkloadState& state = states_[workload];
  if (state.in_flight != 0 || state.default_phase == DefaultPhase::kTodo ||
      !(earlier_measured(state) || state.searcher.exhausted())) {
    return false;
  }
  const bool due = rematch_due(state);
  if (!due && state.earlier_q15 == kWholeQ15 && state.default_phase == DefaultPhase::kMeasured) {
    state.concluded = true;
    stop_workload(workload, StopReason::kConfirmed);
    conclude(workload, nullptr, state.default_ns, state.default_ns);
    return true;
  }
  state.unconfirmed = due;
  if (due) {
    stop_workload(workload, StopReason::kConfirmed);
  }
  return due;
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
    return true;
  }
  return reopen();
}

// Time that was kept for rematches and not needed goes back to the searches that the budget had ended; a new best is
// confirmed again. Each time needs a trial since the last, so this ends.
bool Tuner::reopen() {
  if (stopping_ || clock_stands_ || reopened_at_ == trials_ + 1 || left_ns() < budget_.time_ns / 16) {
    return false;
  }
  reopened_at_ = trials_ + 1;
  bool any = false;
  for (uint32_t i = 0; i < workload_count_; ++i) {
    WorkloadState& state = states_[i];
    const bool ready = state.default_phase == DefaultPhase::kMeasured || state.default_phase == DefaultPhase::kFailed;
    if (state.stop == StopReason::kBudget && ready && !visited_.full() && trials_left(state)) {
      state.stop = StopReason::kRunning;
      any = true;
    }
  }
  return any;
}

void Tuner::end_search() {
  for (uint32_t i = 0; i < workload_count_; ++i) {
    WorkloadState& state = states_[i];
    state.searcher.look_ahead(options_.proposal_effort);
    if (state.trials > 0) {
      settle(i);
    }
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
      free_slot(i);
    } else if (slots_[i].phase == SlotPhase::kTiming && measurement_.finish() && !clock_stands_) {
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
