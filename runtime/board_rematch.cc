// The board tuner's rematch: the best few against the default, a sample of each in turn. See runtime/board_tuner.h.
#include <new>

#include "runtime/board_tuner.h"

namespace temper {
namespace {

constexpr uint32_t kRounds = 12;          // results are looked at after a half, one, two and four times as many
constexpr uint32_t kShortestSample = 16;  // ticks: 200 us, and what it takes to begin it
constexpr uint16_t kMinGainPermille = 5;
static_assert(4 * kRounds <= kMaxRounds && kRounds / 2 >= kMinRounds, "every look has the rounds it needs");

}  // namespace

// False when nothing is to be compared, or when no time is left to.
bool BoardTuner::begin_rematch() {
  const uint32_t reference = default_ns();
  uint32_t count = 1;
  Rematch& r = *(rematch_ = new (shared_) Rematch());  // the search is over, and its proposal with it
  r.config[0] = &default_;
  for (const Elite& elite : searcher_.elites()) {
    if (count < kMaxContestants && elite.time_ns < reference && !(elite.config == default_)) {
      r.config[count++] = &elite.config;
    }
  }
  if (count == 1) {
    return false;
  }
  // A dozen rounds have to fit; better two that are told apart than four that are not.
  const uint32_t sample = (reference >> kTickShift) + kShortestSample;
  while (count > 2 && count * kRounds * sample > left(run_.end)) {
    --count;
  }
  r.calls = calls_per_sample(kLimits.min_sample_ns, reference);
  new (&r.comparison) PairedComparison(reference, kMinGainPermille);  // in place: a temporary weighs stack
  r.count = static_cast<uint8_t>(count);
  r.loaded = kMaxContestants;
  r.end = run_.share_end + reserved();
  run_.phase = Phase::kRematch;
  return true;
}

void BoardTuner::rematch_step() {
  Rematch& r = rematch();
  const uint32_t everyone = (1u << r.count) - 1;
  if ((r.out_set & 1u) != 0 || (r.out_set | 1u) == everyone) {
    end_rematch(true);
    return;
  }
  const uint32_t round = r.comparison.round_count();
  if (r.place == r.count) {
    r.round_ticks = elapsed() - r.round_began;
    r.place = 0;
    r.comparison.next_round();
    if (end_of_round()) {
      end_rematch(true);
    }
    return;
  }
  if (r.place == 0) {
    r.round_began = elapsed();
    // Its share of the time binds once there is something to decide on; until then only the budget's end does.
    if (left(run_.end) == 0 || (round >= kMinRounds && r.round_began + r.round_ticks > r.end)) {
      end_rematch(false);
      return;
    }
  }
  const uint32_t index = (r.place + round) % r.count;  // who begins rotates
  if ((r.out_set >> index & 1u) != 0) {
    ++r.place;
  } else if (r.loaded != index) {
    if (r.loaded != kMaxContestants) {
      release();
    }
    r.loaded = static_cast<uint8_t>(index);
    begin_candidate(*r.config[index]);
  } else {
    rematch_built();
  }
}

void BoardTuner::rematch_built() {
  const Rematch& r = rematch();
  const bool checked = (r.checked_set >> r.loaded & 1u) != 0;
  begin_run(checked ? RunKind::kTime : RunKind::kCheck, checked ? r.calls : 1);
}

void BoardTuner::rematch_sample(uint32_t elapsed_ns) {
  Rematch& r = rematch();
  if (run_.activity == Activity::kTiming) {
    r.comparison.add(r.loaded, elapsed_ns, r.calls);
    ++r.place;
  } else {
    r.checked_set = static_cast<uint8_t>(r.checked_set | 1u << r.loaded);
  }
  run_.activity = Activity::kNone;
}

void BoardTuner::drop_contestant() {
  Rematch& r = rematch();
  r.out_set = static_cast<uint8_t>(r.out_set | 1u << r.loaded);
  r.loaded = kMaxContestants;
  release();
}

// True when the results decide: somebody is faster, or nobody may still turn out to be.
bool BoardTuner::end_of_round() {
  Rematch& r = rematch();
  const uint32_t round = r.comparison.round_count();
  const bool last = round == 4 * kRounds;
  if (!last && round != kRounds / 2 && round != kRounds && round != 2 * kRounds) {
    return false;
  }
  bool open = false;
  for (uint32_t i = 1; i < r.count; ++i) {
    const Verdict verdict = (r.out_set >> i & 1u) != 0 ? Verdict::kNotFaster : r.comparison.verdict(i, last);
    if (verdict == Verdict::kFaster) {
      return true;
    }
    open = open || verdict == Verdict::kOpen;
    r.out_set = static_cast<uint8_t>(r.out_set | (verdict == Verdict::kNotFaster ? 1u << i : 0u));
  }
  return !open;
}

// Commits the fastest of those that are faster by more than the noise; else the default is kept. Out of time: what is
// not proven by now is not committed, and nothing is said about it.
void BoardTuner::end_rematch(bool decided) {
  Rematch& r = rematch();
  uint32_t winner = 0;
  const bool default_held = (r.out_set & 1u) == 0;
  for (uint32_t i = 1; default_held && i < r.count; ++i) {
    if ((r.out_set >> i & 1u) == 0 && r.comparison.verdict(i, true) == Verdict::kFaster &&
        (winner == 0 || r.comparison.median_ns(i) < r.comparison.median_ns(winner))) {
      winner = i;
    }
  }
  if (r.loaded != kMaxContestants) {
    release();
  }
  run_.phase = Phase::kNext;
  if (!default_held || (!decided && winner == 0)) {
    return;
  }
  const uint32_t default_median = r.comparison.round_count() != 0 ? r.comparison.median_ns(0) : default_ns();
  const uint32_t winner_median = winner != 0 ? r.comparison.median_ns(winner) : default_median;
  if ((note().flags & kUnconfirmed) != 0 &&
      !still_gains(note().ratio_q15, time_ratio_q15(default_median, winner_median))) {
    search_anew();
  } else {
    conclude(*r.config[winner], default_median, winner_median);
  }
}

void BoardTuner::conclude(const Config& config, uint32_t default_ns, uint32_t tuned_ns) {
  lookup_->record(workload_, config, default_ns, tuned_ns);
  if (write_frames()) {
    const CommitResult commit{default_ns, tuned_ns, config == default_};
    (void)append_commit(*history_, space(), config, ordinal_, commit);
  }
}

}  // namespace temper
