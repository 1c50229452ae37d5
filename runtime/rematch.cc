// The rematch: the best few against the default, side by side, before anything is committed. See runtime/tuner.h.
#include <new>

#include "runtime/tuner.h"

namespace temper {
namespace {

constexpr uint32_t kNoWorkload = UINT32_MAX;
constexpr uint64_t kRunFloorNs = 50000000;
constexpr uint64_t kRunMargin = 8;
constexpr uint64_t kWaitNs = 2000000;

}  // namespace

// Contestant 0 is the default; then what looked faster in the search, and what an earlier run committed.
uint32_t Tuner::contenders(const WorkloadState& state, Contender out[kMaxContestants]) const {
  uint32_t most = options_.rematch_contenders + 1u;
  most = most < kMaxContestants ? most : kMaxContestants;
  if (runner_.slot_count > 1 && runner_.slot_count < most) {
    most = runner_.slot_count;
  }
  out[0] = {&state.default_config, state.default_ns};
  uint32_t count = 1;
  bool has_committed = !state.best_is_committed || state.best_config == state.default_config;
  for (const Elite& elite : state.searcher.elites()) {
    const bool committed = state.best_is_committed && elite.config == state.best_config;
    const bool faster = elite.time_ns < state.default_ns;
    if (count < most && (faster || committed) && !(elite.config == state.default_config)) {
      has_committed = has_committed || committed;
      out[count++] = {&elite.config, elite.time_ns};
    }
  }
  if (!has_committed && most > 1) {
    out[count < most ? count++ : most - 1] = {&state.best_config,
                                              state.rematch_best_ns != 0 ? state.rematch_best_ns : state.default_ns};
  }
  return count;
}

bool Tuner::rematch_due(const WorkloadState& state) const {
  if (state.concluded || state.default_phase != DefaultPhase::kMeasured || options_.rematch_contenders == 0 ||
      !options_.commits) {
    return false;
  }
  if (state.best_is_committed && state.trials <= 1 && !state.unconfirmed) {
    return false;  // nothing new is known
  }
  Contender contender[kMaxContestants];
  return contenders(state, contender) > 1;
}

// Of those whose search is over and that still fit, the one with the most time to gain.
uint32_t Tuner::choose_rematch() const {
  const uint64_t left = left_ns();
  uint32_t best = kNoWorkload;
  uint64_t best_gain = 0;
  for (uint32_t i = 0; i < workload_count_; ++i) {
    const WorkloadState& state = states_[i];
    if (state.stop == StopReason::kRunning || state.in_flight != 0 || !rematch_due(state)) {
      continue;
    }
    if (left < rematch_cost_ns(state, 2) / 2) {
      continue;
    }
    const uint64_t gain =
        state.default_ns > state.best_ns ? (state.default_ns - state.best_ns) * state.space->workload().count : 0;
    if (best == kNoWorkload || gain > best_gain) {
      best = i;
      best_gain = gain;
    }
  }
  return best;
}

void Tuner::begin_rematch(uint32_t workload) {
  const WorkloadState& state = states_[workload];
  new (&rematch_) Rematch();  // in place: a temporary would weigh a kilobyte of stack
  rematch_.workload = workload;
  Contender contender[kMaxContestants];
  uint32_t count = contenders(state, contender);
  // What the others' rematches need stays reserved, but half of what is left may always be used.
  const uint64_t left = left_ns();
  const uint64_t own = 2 * rematch_cost_ns(state, 2);
  const uint64_t reserved = reserved_ns();
  const uint64_t others = reserved > own ? reserved - own : 0;
  uint64_t share = left > others ? left - others : 0;
  share = share < left / 2 ? left / 2 : share;
  share = share < own && own <= left ? own : share;
  if (stopping_ && count > 2) {
    count = 2;
  }
  while (count > 2 && rematch_cost_ns(state, count) > share) {
    --count;
  }
  rematch_.count = static_cast<uint8_t>(count);
  rematch_.loaded = kMaxContestants;
  rematch_.end_ns = elapsed_ns() + share;
  rematch_.build_since_ns = elapsed_ns();
  new (&rematch_.comparison) LongComparison(state.default_ns, options_.min_gain_permille);
  for (uint32_t i = 0; i < count; ++i) {
    Contestant& contestant = rematch_.contestant[i];
    contestant.config = *contender[i].config;
    contestant.expected_ns = contender[i].time_ns;
    const uint32_t sample_ns = options_.measurement.min_sample_ns;
    const bool fills = contender[i].time_ns >= sample_ns;
    contestant.calls = fills ? 1 : calls_per_sample(sample_ns, static_cast<uint32_t>(contender[i].time_ns));
  }
  phase_ = Phase::kRematch;
}

uint8_t Tuner::slot_of(uint32_t contestant) const {
  return runner_.slot_count == 1 ? uint8_t{0} : static_cast<uint8_t>(contestant);
}

Status Tuner::rematch_step() {
  if (past_end() || (left_ns() == 0 && !run_.active)) {
    end_rematch(false);
    return TEMPER_MORE;
  }
  poll_contestants();
  RunResult result;
  if (poll_run(&result)) {
    on_rematch_run(result);
    return TEMPER_MORE;
  }
  if (phase_ != Phase::kRematch) {
    return TEMPER_MORE;
  }
  if (!run_.active && next_rematch_run()) {
    return TEMPER_MORE;
  }
  if (runner_.wait != nullptr) {
    runner_.wait(runner_.self, kWaitNs);
  }
  return TEMPER_MORE;
}

void Tuner::drop_contestant(uint32_t index) {
  Contestant& contestant = rematch_.contestant[index];
  contestant.phase = ContestantPhase::kDropped;
  const uint8_t slot = slot_of(index);
  if (slots_[slot].phase == SlotPhase::kContestant) {
    free_slot(slot);
  }
  rematch_.loaded = kMaxContestants;
}

void Tuner::poll_contestants() {
  for (uint32_t i = 0; i < rematch_.count; ++i) {
    Contestant& contestant = rematch_.contestant[i];
    if (contestant.phase != ContestantPhase::kBuilding) {
      continue;
    }
    temper_outcome outcome = TEMPER_OUTCOME_OK;
    uint32_t build_us = 0;
    if (runner_.poll_build(runner_.self, slot_of(i), &outcome, &build_us)) {
      contestant.phase = ContestantPhase::kReady;
      if (outcome != TEMPER_OUTCOME_OK) {
        drop_contestant(i);
      }
    } else if (elapsed_ns() - rematch_.build_since_ns > build_limit_ns()) {
      drop_contestant(i);
    }
  }
}

// True when a build was requested: with one slot kernels alternate in it, else each contestant keeps its own.
bool Tuner::load_contestant(uint32_t index) {
  Contestant& contestant = rematch_.contestant[index];
  const bool single = runner_.slot_count == 1;
  if (contestant.phase == ContestantPhase::kReady && (!single || rematch_.loaded == index)) {
    return false;
  }
  const uint8_t slot = slot_of(index);
  if (slots_[slot].phase == SlotPhase::kContestant) {
    runner_.release(runner_.self, slot);
  }
  slots_[slot].phase = SlotPhase::kContestant;
  rematch_.loaded = static_cast<uint8_t>(index);
  rematch_.build_since_ns = elapsed_ns();
  contestant.phase = ContestantPhase::kBuilding;
  if (!runner_.build(runner_.self, slot, rematch_.workload, contestant.config).ok()) {
    drop_contestant(index);
  }
  return true;
}

uint32_t Tuner::contestant_in_turn() const {
  return (rematch_.place + rematch_.comparison.round_count()) % rematch_.count;  // who begins rotates
}

// One request: a build, a check or a sample. False while all of it is under way.
bool Tuner::next_rematch_run() {
  uint32_t live = 0;
  for (uint32_t i = 1; i < rematch_.count; ++i) {
    const Contestant& contestant = rematch_.contestant[i];
    live += contestant.phase != ContestantPhase::kDropped && !contestant.is_judged ? 1 : 0;
  }
  if (live == 0 || rematch_.contestant[0].phase == ContestantPhase::kDropped) {
    end_rematch(true);
    return true;
  }
  for (uint32_t i = 0; i < rematch_.count; ++i) {
    const Contestant& contestant = rematch_.contestant[i];
    if (contestant.phase == ContestantPhase::kBuilding) {
      return false;
    }
    if (contestant.phase == ContestantPhase::kUnbuilt && load_contestant(i)) {
      return true;
    }
    if (runner_.slot_count == 1 && contestant.phase == ContestantPhase::kReady && !contestant.is_checked) {
      break;
    }
  }
  const WorkloadState& state = states_[rematch_.workload];
  for (uint32_t i = 0; i < rematch_.count; ++i) {
    const Contestant& contestant = rematch_.contestant[i];
    if (contestant.phase != ContestantPhase::kDropped && !contestant.is_checked) {
      const uint64_t usual = state.check_ns > state.default_ns ? state.check_ns : state.default_ns;
      return load_contestant(i) || request_run(slot_of(i), RunKind::kCheck, 1, kRunFloorNs + kRunMargin * usual);
    }
  }
  for (; rematch_.place < rematch_.count; ++rematch_.place) {
    const uint32_t index = contestant_in_turn();
    const Contestant& contestant = rematch_.contestant[index];
    if (contestant.phase == ContestantPhase::kDropped || contestant.is_judged) {
      continue;
    }
    if (rematch_.place == 0 || rematch_.round_since_ns == 0) {
      // Its share of the time binds once there is something to decide on; until then only the budget's end does.
      if (rematch_.comparison.round_count() >= kMinRounds && elapsed_ns() + rematch_.round_ns > rematch_.end_ns) {
        end_rematch(false);
        return true;
      }
      rematch_.round_since_ns = rematch_.round_since_ns == 0 ? elapsed_ns() : rematch_.round_since_ns;
    }
    return load_contestant(index) || request_run(slot_of(index), RunKind::kTime, contestant.calls,
                                                 kRunFloorNs + kRunMargin * contestant.calls * contestant.expected_ns);
  }
  end_of_round();
  return true;
}

void Tuner::on_rematch_run(const RunResult& result) {
  // The slot tells the contestant, except with one slot for all.
  const uint32_t index = runner_.slot_count == 1 ? rematch_.loaded : run_.slot;
  Contestant& contestant = rematch_.contestant[index];
  if (result.outcome != TEMPER_OUTCOME_OK) {
    if (run_.cut_by_budget) {
      end_rematch(false);
    } else {
      drop_contestant(index);
    }
    return;
  }
  if (!contestant.is_checked) {
    contestant.is_checked = true;
    return;
  }
  note_overhead(result.elapsed_ns);
  rematch_.comparison.add(index, result.elapsed_ns, contestant.calls);
  ++rematch_.place;
}

// Looks at the results after a half, one, two and four times rematch_rounds rounds; each contestant goes on only while
// it is open.
void Tuner::end_of_round() {
  rematch_.place = 0;
  rematch_.comparison.next_round();
  const uint64_t now = elapsed_ns();
  rematch_.round_ns = now - rematch_.round_since_ns;
  rematch_.round_since_ns = 0;
  const uint32_t round = rematch_.comparison.round_count();
  const uint32_t wanted = options_.rematch_rounds;
  const bool last = round >= kMaxRounds || round >= 4 * wanted;
  if (!last && round != (wanted + 1) / 2 && round != wanted && round != 2 * wanted) {
    return;
  }
  bool open = false;
  for (uint32_t i = 1; i < rematch_.count; ++i) {
    Contestant& contestant = rematch_.contestant[i];
    if (contestant.phase == ContestantPhase::kDropped || contestant.is_judged) {
      continue;
    }
    const Verdict verdict = rematch_.comparison.verdict(i, last);
    contestant.is_judged = verdict == Verdict::kNotFaster;
    open = open || verdict == Verdict::kOpen;
    if (verdict == Verdict::kFaster) {
      end_rematch(true);
      return;
    }
  }
  if (!open) {
    end_rematch(true);
  }
}

// Commits the fastest of those that are faster by more than the noise; else the default is kept. Out of time: what is
// not proven by now is not committed, and nothing is said about it.
void Tuner::end_rematch(bool in_time) {
  if (run_.active) {
    run_.active = false;
  }
  const uint32_t workload = rematch_.workload;
  const LongComparison& comparison = rematch_.comparison;
  uint32_t winner = 0;
  bool held = rematch_.contestant[0].phase != ContestantPhase::kDropped;
  for (uint32_t i = 1; held && i < rematch_.count; ++i) {
    const Contestant& contestant = rematch_.contestant[i];
    const bool fit = contestant.phase != ContestantPhase::kDropped && !contestant.is_judged;
    if (fit && comparison.verdict(i, true) == Verdict::kFaster &&
        (winner == 0 || comparison.median_ns(i) < comparison.median_ns(winner))) {
      winner = i;
    }
  }
  for (uint8_t i = 0; i < runner_.slot_count; ++i) {
    if (slots_[i].phase == SlotPhase::kContestant) {
      free_slot(i);
    }
  }
  phase_ = Phase::kSearch;
  WorkloadState& state = states_[workload];
  state.concluded = true;
  const bool holds =
      winner != 0 && still_gains(state.earlier_q15, time_ratio_q15(compact_time(comparison.median_ns(0)),
                                                                   compact_time(comparison.median_ns(winner))));
  if (state.unconfirmed && in_time && !holds) {
    state.unconfirmed = false;
    state.concluded = false;
    state.stop = StopReason::kRunning;
    return;
  }
  if (winner != 0) {
    conclude(workload, &rematch_.contestant[winner].config, comparison.median_ns(0), comparison.median_ns(winner));
  } else if (in_time && held) {
    const bool timed = comparison.round_count() > 0;
    const uint64_t default_ns = timed ? comparison.median_ns(0) : state.default_ns;
    conclude(workload, nullptr, default_ns, default_ns);
  } else {
    conclude_without_rematch(workload);
  }
}

// winner nullptr: the default stays.
void Tuner::conclude(uint32_t workload, const Config* winner, uint64_t default_ns, uint64_t tuned_ns) {
  WorkloadState& state = states_[workload];
  state.committed = true;
  state.best_is_committed = true;
  state.stale = false;
  state.unconfirmed = false;
  state.kept_default = winner == nullptr;
  state.best_config = winner != nullptr ? *winner : state.default_config;
  state.rematch_default_ns = default_ns;
  state.rematch_best_ns = tuned_ns;
  if (write_frames(state)) {
    const CommitResult commit{default_ns, tuned_ns, state.kept_default};
    (void)append_commit(*history_, *state.space, state.best_config, ordinal_, commit);
    check_storage();
  }
  TrialResult trial{};
  trial.median_ns = tuned_ns;
  trial.is_default = state.kept_default;
  emit(TunerEvent::Kind::kCommit, workload, &state.best_config, &trial);
}

// Where there was nothing to compare, or no time: a search that tried others and found none faster keeps the default
// for good; a default that does not work is replaced by anything that does; else what was committed before stands, or
// the default does.
void Tuner::conclude_without_rematch(uint32_t workload) {
  if (!options_.commits) {
    return;
  }
  WorkloadState& state = states_[workload];
  const Span<const Elite> elites = state.searcher.elites();
  const bool measured = state.default_phase == DefaultPhase::kMeasured;
  if (state.default_phase == DefaultPhase::kFailed && !elites.empty() && state.trials > 0) {
    const Config best = elites[0].config;
    conclude(workload, &best, 0, elites[0].time_ns);
    return;
  }
  if (state.best_is_committed) {
    return;
  }
  Contender contender[kMaxContestants];
  const bool searched = state.trials > 1 || state.stop == StopReason::kExhausted;
  if (measured && searched && contenders(state, contender) == 1) {
    conclude(workload, nullptr, state.default_ns, state.default_ns);
    return;
  }
  state.kept_default = true;
  state.best_config = state.default_config;
}

}  // namespace temper
