// The tuner's budget: what still fits, what is kept back for rematches, and whose turn it is. See runtime/tuner.h.
#include "runtime/tuner.h"

namespace temper {
namespace {

constexpr uint32_t kNoWorkload = UINT32_MAX;
constexpr uint64_t kMinGraceNs = 100000000;
constexpr uint64_t kStopGraceNs = 1000000000;  // what a run that was stopped may still take to confirm its best
constexpr uint32_t kEarlyTrials = 2;           // each workload gets them before the large ones get all
constexpr int32_t kEarlyBonusQ8 = 4 * 256;

}  // namespace

uint64_t Tuner::left_ns() const {
  const uint64_t elapsed = elapsed_ns();
  uint64_t end = budget_.time_ns;
  if (stopping_ && stopped_ns_ + kStopGraceNs < end) {
    end = stopped_ns_ + kStopGraceNs;
  }
  return elapsed < end ? end - elapsed : 0;
}

uint64_t Tuner::grace_ns() const {
  const uint64_t slow = 3 * slowest_default_ns_;
  return slow > kMinGraceNs ? slow : kMinGraceNs;
}

// A little before the end of the grace: cutting and the last records take time too.
bool Tuner::past_end() const {
  const uint64_t grace = grace_ns() / 8 * 7;
  const uint64_t elapsed = elapsed_ns();
  return elapsed > budget_.time_ns && elapsed - budget_.time_ns >= grace;
}

uint64_t Tuner::rematch_cost_ns(const WorkloadState& state, uint32_t contestants) const {
  const uint64_t sample = options_.measurement.min_sample_ns;
  const uint64_t reference = state.default_ns > sample ? state.default_ns : sample;
  const uint64_t other = state.best_ns > sample ? state.best_ns : sample;
  const uint64_t round = reference + (contestants - 1) * other + contestants * overhead_ns_;
  const uint64_t builds = runner_.slot_count >= contestants ? 2 : uint64_t{options_.rematch_rounds} * contestants;
  return (options_.rematch_rounds + 1u) * round + builds * build_ns_ + contestants * state.check_ns;
}

// Twice what it takes to confirm each workload's best against its default, for what is not needed goes back to the
// searches; of a budget too small for that, a third.
uint64_t Tuner::reserved_ns() const {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < workload_count_; ++i) {
    if (rematch_due(states_[i])) {
      sum += 2 * rematch_cost_ns(states_[i], 2);
    }
  }
  const uint64_t most = budget_.time_ns / 3;
  return sum < most ? sum : most;
}

uint32_t Tuner::in_flight_total() const {
  uint32_t count = 0;
  for (uint8_t i = 0; i < runner_.slot_count; ++i) {
    count += slots_[i].phase != SlotPhase::kFree ? 1 : 0;
  }
  return count;
}

bool Tuner::trials_left(const WorkloadState& state) const {
  const bool run_has = budget_.trials == 0 || trials_ + in_flight_total() < budget_.trials;
  const bool workload_has =
      budget_.trials_per_workload == 0 || state.trials + state.in_flight < budget_.trials_per_workload;
  return run_has && workload_has;
}

// Where another driver or pack kept the default, it has to beat what was next best there.
bool Tuner::earlier_measured(const WorkloadState& state) const {
  const bool hints = state.kept_elsewhere && !state.committed;
  return hints ? state.trials + state.in_flight >= 1 + kHintsAgainstDefault
               : state.searcher.visited(state.earlier_config);
}

// An earlier winner is measured before anything else, and alone.
bool Tuner::searchable(const WorkloadState& state) const {
  return !(state.unconfirmed && earlier_measured(state)) && !state.searcher.exhausted() && trials_left(state);
}

// Where nothing is measured yet, arithmetic tells what weighs most.
uint32_t Tuner::choose_default() const {
  uint32_t best = kNoWorkload;
  int32_t best_weight = 0;
  for (uint32_t i = 0; i < workload_count_; ++i) {
    const WorkloadState& state = states_[i];
    if (state.stop != StopReason::kRunning || state.default_phase != DefaultPhase::kTodo || !trials_left(state)) {
      continue;
    }
    const WorkloadView& workload = state.space->workload();
    const int32_t weight = log2_q8(workload.count) + log2_q8(workload.flops);
    if (best == kNoWorkload || weight > best_weight) {
      best = i;
      best_weight = weight;
    }
  }
  return best;
}

// Observed (notes on sharing a budget over 24 workloads): chunks to the largest weight x time / trials come within a
// few percent of looking ahead. Gain is what trials of late brought; a workload that stands still gives way. Where the
// first trials mislead (a late discovery), early trials for all limit the harm.
int32_t Tuner::priority_q8(const WorkloadState& state) const {
  const uint64_t time = state.best_ns != 0 ? state.best_ns : state.trial_cost_ns;
  const uint32_t others = state.trials + state.resumed_trials;
  return log2_q8(state.space->workload().count) + log2_q8(time) + log2_q8(state.gain_q8) - log2_q8(others + 4) +
         (state.trials + state.in_flight <= kEarlyTrials ? kEarlyBonusQ8 : 0);
}

uint32_t Tuner::choose_workload() const {
  const uint64_t left = left_ns();
  const uint64_t reserved = reserved_ns();
  uint32_t best = kNoWorkload;
  int32_t best_priority = 0;
  for (uint32_t i = 0; i < workload_count_; ++i) {
    const WorkloadState& state = states_[i];
    const bool ready = state.default_phase == DefaultPhase::kMeasured || state.default_phase == DefaultPhase::kFailed;
    if (state.stop != StopReason::kRunning || !ready || !searchable(state)) {
      continue;
    }
    if (left <= reserved || left - reserved < build_ns_ + state.trial_cost_ns) {
      continue;
    }
    if (chunk_left_ > 0 && i == chunk_workload_) {
      return i;
    }
    const int32_t priority = priority_q8(state);
    if (best == kNoWorkload || priority > best_priority) {
      best = i;
      best_priority = priority;
    }
  }
  return best;
}

uint32_t Tuner::spent_q8(const WorkloadState& state) const {
  const uint64_t elapsed = elapsed_ns();
  uint64_t spent = elapsed >= budget_.time_ns ? 256 : elapsed / (budget_.time_ns / 256 + 1);
  if (budget_.trials != 0 && trials_ * uint64_t{256} / budget_.trials > spent) {
    spent = trials_ * uint64_t{256} / budget_.trials;
  }
  if (budget_.trials_per_workload != 0 && state.trials * uint64_t{256} / budget_.trials_per_workload > spent) {
    spent = state.trials * uint64_t{256} / budget_.trials_per_workload;
  }
  return spent > 256 ? 256 : static_cast<uint32_t>(spent);
}

}  // namespace temper
