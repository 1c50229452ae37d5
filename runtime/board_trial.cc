// The board tuner's trials: build, check, time, record. See runtime/board_tuner.h.
#include <new>

#include "runtime/board_tuner.h"

namespace temper {
namespace {

constexpr uint32_t kMinGraceTicks = 100000000u >> kTickShift;
constexpr uint32_t kRunFloorTicks = 50000000u >> kTickShift;  // no run is cut before: the limit ends hangs, it does
                                                              // not judge speed;
constexpr uint32_t kWaitNs = 2000000;
constexpr uint32_t kRunMarginShift = 2;  // nor before this multiple of what it is to beat

// A first sample this many times longer or shorter than its calls would take going by the check, a cold call, tells of
// a clock that jumped or stood meanwhile, or of something rare: it is taken once more. Without that such a sample,
// where the budget ends with it, would be kept as the default's time for good.
constexpr uint32_t kFarLonger = 8;
constexpr uint32_t kFarShorter = 64;

}  // namespace

void BoardTuner::begin_candidate(const Config& config) {
  run_.candidate_began = elapsed();
  run_.intent_written = false;
  run_.activity = Activity::kBuilding;
  if (!runner_.build(runner_.self, 0, workload_, config).ok()) {
    fail(TEMPER_OUTCOME_BUILD_ERROR);
  }
}

void BoardTuner::release() {
  run_.activity = Activity::kNone;
  runner_.release(runner_.self, 0);
}

void BoardTuner::poll() {
  bool over = false;
  if (run_.activity == Activity::kBuilding) {
    temper_outcome outcome = TEMPER_OUTCOME_OK;
    uint32_t build_us = 0;
    over = runner_.poll_build(runner_.self, 0, &outcome, &build_us);
    if (over) {
      on_built(outcome);
    }
  } else {
    RunResult result{};
    over = runner_.poll_run(runner_.self, &result);
    if (over) {
      on_run(result);
    }
  }
  if (!over && runner_.wait != nullptr) {
    runner_.wait(runner_.self, kWaitNs);
  }
}

void BoardTuner::on_built(temper_outcome outcome) {
  if (outcome != TEMPER_OUTCOME_OK) {
    fail(outcome);
    return;
  }
  if (run_.phase == Phase::kRematch) {
    rematch_built();
    return;
  }
  if (write_frames()) {
    run_.intent_written = append_intent(*history_, space(), candidate_).ok();
  }
  begin_run(RunKind::kCheck, 1);
}

// What a call is held against: it may take several times as long before it is cut. 0: nothing is known.
uint32_t BoardTuner::reference_ns() const {
  return run_.phase == Phase::kRematch ? default_ns() : run_.is_default ? 0 : best_ns();
}

// A run past the budget's end may use half of the grace, max(100 ms, 3 x the slowest default); the other half is for
// what cannot be cut.
void BoardTuner::begin_run(RunKind kind, uint32_t calls) {
  run_.activity = kind == RunKind::kCheck ? Activity::kChecking : Activity::kTiming;
  const uint32_t slowest = 3 * run_.slowest_default;
  const uint32_t grace = slowest > kMinGraceTicks ? slowest : kMinGraceTicks;
  uint32_t limit = left(run_.end + grace / 2);
  const uint64_t expected_ns = uint64_t{calls} * reference_ns();
  const uint32_t deserved = kRunFloorTicks + static_cast<uint32_t>(expected_ns >> (kTickShift - kRunMarginShift));
  run_.cut_by_budget = expected_ns == 0 || limit < deserved;
  limit = run_.cut_by_budget ? limit : deserved;
  if (limit == 0) {
    on_cut();
  } else if (!runner_.run(runner_.self, 0, kind, calls, uint64_t{limit} << kTickShift).ok()) {
    fail(TEMPER_OUTCOME_CRASHED);
  }
}

void BoardTuner::on_run(const RunResult& result) {
  const bool late = result.outcome == TEMPER_OUTCOME_TIMEOUT || result.outcome == TEMPER_OUTCOME_TOO_SLOW;
  if (late && run_.cut_by_budget) {
    on_cut();
  } else if (result.outcome != TEMPER_OUTCOME_OK) {
    fail(result.outcome);
  } else if (run_.phase == Phase::kRematch) {
    rematch_sample(saturated_ns(result.elapsed_ns));
  } else if (run_.activity == Activity::kTiming) {
    on_sample(saturated_ns(result.elapsed_ns));
  } else {
    new (&measurement_) Measurement(&kLimits, reference_ns());  // in place: a temporary weighs stack
    run_.checked_ns = saturated_ns(result.elapsed_ns);
    next_sample();
  }
}

void BoardTuner::next_sample() {
  const uint32_t expected_ns = measurement_.number() * measurement_.fastest_ns();
  if (left(run_.end) <= expected_ns >> kTickShift && measurement_.finish()) {
    record(TEMPER_OUTCOME_OK);
  } else {
    begin_run(RunKind::kTime, measurement_.number());
  }
}

void BoardTuner::on_sample(uint32_t elapsed_ns) {
  const uint32_t per_call_ns = elapsed_ns / measurement_.number();
  const uint32_t checked_ns = run_.checked_ns;
  if (checked_ns != 0 && (per_call_ns / kFarLonger > checked_ns || per_call_ns < checked_ns / kFarShorter)) {
    run_.checked_ns = 0;
    next_sample();
    return;
  }
  measurement_.add(elapsed_ns);
  if (measurement_.clock_stands()) {
    run_.clock_stands = true;
  } else if (measurement_.state() == MeasurementState::kMore) {
    next_sample();
  } else {
    record(measurement_.state() == MeasurementState::kDone ? TEMPER_OUTCOME_OK : TEMPER_OUTCOME_TOO_SLOW);
  }
}

// The budget ended a run: what was measured counts, else nothing was; but an intent that stayed open would look like a
// crash to the next start.
void BoardTuner::on_cut() {
  if (run_.phase == Phase::kRematch) {
    end_rematch(false);
  } else if (run_.activity == Activity::kTiming && measurement_.finish()) {
    record(TEMPER_OUTCOME_OK);
  } else {
    release();
    if (run_.intent_written) {
      keep_trial(TEMPER_OUTCOME_TOO_SLOW, false);
    }
  }
}

void BoardTuner::fail(temper_outcome outcome) {
  if (run_.phase == Phase::kRematch) {
    drop_contestant();
  } else {
    record(outcome);
  }
}

// Ends the trial of candidate_, whatever became of it.
void BoardTuner::record(temper_outcome outcome) {
  const bool timed = run_.activity == Activity::kTiming && has_time(outcome);
  release();
  const uint32_t cost = elapsed() - run_.candidate_began;
  run_.trial_cost = cost > run_.trial_cost ? cost : run_.trial_cost - (run_.trial_cost - cost) / 4;
  ++run_.trials;
  run_.last_outcome = outcome;
  run_.any_works = run_.any_works || outcome == TEMPER_OUTCOME_OK;
  finish_trial(outcome, timed);
}

void BoardTuner::finish_trial(temper_outcome outcome, bool timed) {
  const uint32_t median_ns = timed ? measurement_.median_ns() : 0;
  searcher_.observe(candidate_, outcome, median_ns);
  if (run_.is_default) {
    note_default(outcome, median_ns);
    const uint32_t ticks = default_ns() >> kTickShift;
    run_.slowest_default = ticks > run_.slowest_default ? ticks : run_.slowest_default;
  }
  keep_trial(outcome, timed);
}

// A power cut may look like a crash; twice is no accident.
void BoardTuner::note_default(temper_outcome outcome, uint32_t median_ns) {
  WorkloadNote& own = note();
  uint32_t flags = own.flags & ~uint32_t{kDefaultCrashed | kDefaultFailed};
  if (outcome == TEMPER_OUTCOME_OK) {
    const bool committed = own.miss == TEMPER_MISS_NONE && (own.fingerprint_fields & kFingerprintConfirm) == 0;
    own.default_time = committed ? own.default_time : compact_time(median_ns);
  } else if (outcome == TEMPER_OUTCOME_TOO_SLOW) {
    flags = own.flags;
  } else {
    const bool again = outcome == TEMPER_OUTCOME_CRASHED && (own.flags & kDefaultCrashed) == 0;
    flags |= again ? kDefaultCrashed : kDefaultFailed;
  }
  own.flags = static_cast<uint8_t>(flags);
}

}  // namespace temper
