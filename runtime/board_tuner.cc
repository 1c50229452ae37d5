#include "runtime/board_tuner.h"

#include <new>

#include "runtime/learning.h"

namespace temper {
namespace {

constexpr uint32_t kNoWorkload = UINT32_MAX;
constexpr uint32_t kStopTicks = 1000000000u >> kTickShift;  // what a run that was stopped may still take
constexpr uint32_t kPatience = 8;                           // failures of one kind in a row that end a workload;
constexpr uint32_t kMorePatience = 32;      // where candidates did work: the failures are a corner of its space
constexpr uint32_t kEarlyTrials = 2;        // each workload gets them before the large ones get all
constexpr uint32_t kMostWeight = 1u << 19;  // in units of 4.096 us
constexpr uint32_t kMostCount = 1u << 11;   // of occurrences: times a saturated time it fits 32 bits
constexpr uint32_t kShareBits = 12;         // of a workload's share of what is left, as a fraction
constexpr uint32_t kWhole = 1u << kShareBits;
constexpr uint32_t kUnknownWeight = 1u << 8;  // of a workload whose default fails, as if it took a millisecond

// A rematch takes about as long as this many trials: a dozen rounds of two samples each, at most with a build.
constexpr uint32_t kRematchTrials = 12;

uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

uint32_t ticks_of(uint64_t ns) {
  const uint64_t ticks = ns >> kTickShift;
  return ticks >> 32 != 0 ? UINT32_MAX : static_cast<uint32_t>(ticks);
}

uint32_t share_of(uint32_t total, uint32_t fraction) {
  return (total >> kShareBits) * fraction + ((total & (kWhole - 1)) * fraction >> kShareBits);
}

uint32_t or_unlimited(uint32_t limit) { return limit == 0 ? UINT32_MAX : limit; }

// Observed: testing one candidate and predicting its time takes, for the matmul template, some 13,000 instructions on a
// Cortex-M4 and half as many cycles on x86-64. A step may take about one millisecond, so the clock in kHz over 16,000
// is how many fit, with the tuner's own work. A wrong clock only makes steps longer.
uint32_t candidates_per_ms(const temper_facts& facts) {
  const int32_t fitting = facts.value[TEMPER_FACT_CLOCK_KHZ] / 16000;
  return fitting < 1 ? 1u : least(static_cast<uint32_t>(fitting), 128);
}

}  // namespace

size_t BoardTuner::search_bytes(const temper_config& config, const PackView& pack) {
  Arena visited;
  (void)VisitedSet(visited, config.max_trials);
  size_t most = visited.used;
  for (uint32_t i = 0; config.learning != nullptr && i < pack.template_count(); ++i) {
    Arena with_learner = visited;
    (void)config.learning->place(with_learner, pack.get_template(i));
    most = with_learner.used > most ? with_learner.used : most;
  }
  return most;
}

BoardTuner::BoardTuner(const temper_config* config, CurrentSpace* spaces, Lookup* lookup, History* history,
                       const Fingerprint* fingerprint, const Runner& runner, void* search_memory)
    : config_(config),
      spaces_(spaces),
      lookup_(lookup),
      history_(history),
      fingerprint_(fingerprint),
      search_memory_(static_cast<uint8_t*>(search_memory)),
      search_bytes_(static_cast<uint32_t>(search_bytes(*config, spaces->pack()))),
      note_(&lookup->note(0)),
      runner_(runner) {}

// A clock that runs backwards, against its contract, goes on from where it was: else the budget would have no end. What
// passed meanwhile is not counted. One that jumps forwards ends the budget early.
uint32_t BoardTuner::elapsed() const {
  if (run_.phase == Phase::kIdle) {
    return run_.finished;
  }
  const uint64_t now = config_->port->now_ns(config_->port->self);
  if (now < run_.latest_ns) {
    run_.started_ns += now - run_.latest_ns;
  }
  run_.latest_ns = now;
  return ticks_of(now - run_.started_ns);
}

uint32_t BoardTuner::left(uint32_t end) const {
  const uint32_t now = elapsed();
  return now < end ? end - now : 0;
}

uint32_t BoardTuner::default_ns() const { return expand_saturated(note().default_time); }

// Of the search; 0: nothing that works is known.
uint32_t BoardTuner::best_ns() const {
  const Span<const Elite> elites = searcher_.elites();
  return elites.empty() ? 0 : saturated_ns(elites[0].time_ns);
}

bool BoardTuner::may_start() const { return !run_.stopping && run_.trials < run_.trial_limit && left(run_.end) != 0; }

Status BoardTuner::start(const temper_budget& budget, RunPurpose purpose) {
  if (running()) {
    return TEMPER_INVALID_ARGUMENT;
  }
  run_ = Run();
  run_.started_ns = config_->port->now_ns(config_->port->self);
  run_.phase = Phase::kDefaults;
  run_.purpose = purpose;
  run_.end = ticks_of(budget.time_ns);
  run_.trial_limit = or_unlimited(budget.trials);
  run_.per_workload = or_unlimited(budget.trials_per_workload);
  for (uint32_t i = 0; i < spaces_->pack().workload_count(); ++i) {
    WorkloadNote& own = lookup_->note(i);
    const bool committed = own.miss == TEMPER_MISS_NONE;
    run_.any_works = run_.any_works || committed;
    const bool stale = committed && (own.fingerprint_fields & kFingerprintConfirm) != 0;
    const bool like_here = own.ratio_q15 != kWholeQ15 || (own.fingerprint_fields & kFingerprintOtherDevice) == 0;
    const bool may_hold = own.known == Known::kElsewhere && like_here;
    own.flags &= static_cast<uint8_t>(~(kConcluded | kUnconfirmed));
    if (purpose == RunPurpose::kTune) {
      own.flags |= stale || may_hold ? kUnconfirmed : committed ? kConcluded : 0;
    }
    if (stale) {
      own.default_time = 0;  // it was another one's
    }
  }
  return TEMPER_OK;
}

void BoardTuner::stop() {
  run_.stopping = true;
  run_.end = least(run_.end, elapsed() + kStopTicks);
}

void BoardTuner::progress(temper_progress* out) const {
  const bool searched = run_.phase == Phase::kSearch || run_.phase == Phase::kRematch;
  const uint32_t best = searched ? best_ns() : 0;
  out->trials = run_.trials;
  out->workload = workload_;
  out->elapsed_ns = uint64_t{elapsed()} << kTickShift;
  out->default_ns = default_ns();
  out->best_ns = best != 0 ? best : note().miss == TEMPER_MISS_NONE ? expand_time(note().tuned_time) : out->default_ns;
  out->last_outcome = run_.last_outcome;
}

Status BoardTuner::step() {
  if (!running()) {
    return TEMPER_INVALID_ARGUMENT;
  }
  if (run_.activity == Activity::kNone && run_.phase != Phase::kRematch && make_room()) {
    return TEMPER_MORE;
  }
  space();  // a look-up since the last step may have selected another
  if (run_.activity != Activity::kNone) {
    poll();
    return run_.clock_stands ? finish() : TEMPER_MORE;
  }
  switch (run_.phase) {
    case Phase::kDefaults:
      next_default();
      break;
    case Phase::kSearch:
      search_step();
      break;
    case Phase::kRematch:
      rematch_step();
      break;
    default:
      return next_workload();
  }
  return TEMPER_MORE;
}

// It becomes this workload's turn: its space, its default, and a searcher that knows what the history knows. Where the
// pack tells no default that is legal here, anything that works is better.
void BoardTuner::select(uint32_t workload) {
  workload_ = workload;
  note_ = &lookup_->note(workload);
  const bool has_default = spaces_->find_default(workload, &default_).ok();
  Arena arena{search_memory_, search_bytes_, 0};
  visited_ = VisitedSet(arena, config_->max_trials);
  new (&searcher_)
      Searcher(arena, run_.purpose == RunPurpose::kTune ? SearcherKind::kAuto : SearcherKind::kCollect, &space(),
               &visited_, new (shared_) Proposal(), analytic_prior(), config_->seed, config_->learning);
  run_.trial_cost = 0;
  if (!has_default) {
    note().flags |= kDefaultFailed;
  }
  if (note().known != Known::kNothing) {
    searcher_.hint(note().config);  // before those of the history
  }
  load_history();
}

// Every workload has its first turn, and its default measured where it was not.
void BoardTuner::next_default() {
  const uint32_t workload = run_.next_workload;
  if (workload == spaces_->pack().workload_count() || !may_start()) {
    run_.is_default = false;
    run_.phase = Phase::kNext;
    return;
  }
  ++run_.next_workload;
  if ((lookup_->note(workload).flags & kConcluded) != 0) {
    return;
  }
  select(workload);
  if (note().default_time == 0 && (note().flags & kDefaultFailed) == 0) {
    candidate_ = default_;
    run_.is_default = true;
    begin_candidate(candidate_);
  }
}

// Where its time goes in the network: what one percent less would gain.
uint32_t BoardTuner::weight_of(uint32_t workload) const {
  const uint32_t time = expand_saturated(lookup_->note(workload).default_time) >> 12;
  const uint32_t count = least(spaces_->pack().workload(workload).count, kMostCount);
  return least((time == 0 ? kUnknownWeight : time) * count, kMostWeight) + 1;
}

// The workload with most to gain of those that are left, with its share of what is left. So what one does not use goes
// to those after it.
Status BoardTuner::next_workload() {
  uint32_t best = kNoWorkload;
  uint32_t best_weight = 0;
  uint32_t sum = 0;
  uint32_t others = 0;
  bool confirms = false;  // what still holds is confirmed before anything is searched
  for (uint32_t i = 0; i < spaces_->pack().workload_count(); ++i) {
    const WorkloadNote& own = lookup_->note(i);
    if ((own.flags & kConcluded) != 0) {
      continue;
    }
    if (own.default_time == 0 && (own.flags & (kDefaultFailed | kDefaultCrashed)) == 0) {
      run_.any_left = true;
      continue;
    }
    const uint32_t weight = weight_of(i);
    sum += weight;
    others += best == kNoWorkload ? 0 : 1;
    const bool unconfirmed = (own.flags & kUnconfirmed) != 0;
    if (unconfirmed > confirms || (unconfirmed == confirms && weight > best_weight)) {
      best = i;
      best_weight = weight;
      confirms = unconfirmed;
    }
  }
  if (best == kNoWorkload || run_.stopping || left(run_.end) == 0) {
    return finish();
  }
  select(best);
  begin_search(least((best_weight << kShareBits) / sum + 1, kWhole), others);
  return TEMPER_MORE;
}

void BoardTuner::begin_search(uint32_t fraction, uint32_t others) {
  run_.phase = Phase::kSearch;
  run_.share_begin = elapsed();
  run_.share_end = run_.share_begin + share_of(left(run_.end), fraction);
  if (!searcher_.visited(default_)) {
    searcher_.observe(default_, default_works() ? TEMPER_OUTCOME_OK : TEMPER_OUTCOME_CRASHED, default_ns());
  }
  run_.any_works = run_.any_works || !searcher_.elites().empty();
  const uint32_t trials_left = run_.trial_limit - run_.trials;
  const uint32_t kept = kEarlyTrials * others;
  uint32_t share = share_of(trials_left, fraction) | 1;
  share = least(share, trials_left > kept ? trials_left - kept : trials_left);
  const uint32_t so_far = searcher_.trial_count();
  run_.own_limit = least(so_far + share < share ? UINT32_MAX : so_far + share, run_.per_workload);
  searcher_.choose_kind(run_.own_limit == UINT32_MAX ? 0 : run_.own_limit);
  if ((note().flags & kUnconfirmed) != 0) {
    run_.own_limit = so_far + trials_to_confirm();
  }
}

// Besides the default: an earlier winner, or what comes next to a default that another driver or pack kept.
uint32_t BoardTuner::trials_to_confirm() const {
  if (note().ratio_q15 != kWholeQ15) {
    return searcher_.visited(note().config) ? 0 : 1;
  }
  return note().known == Known::kElsewhere ? kHintsAgainstDefault : 0;
}

uint32_t BoardTuner::reserved() const {
  return least(kRematchTrials * run_.trial_cost, (run_.share_end - run_.share_begin) / 3);
}

bool BoardTuner::may_search() const {
  const bool any_candidate = searcher_.elites().size > (default_works() ? 1u : 0u);
  return may_start() && searcher_.trial_count() < run_.own_limit && !visited_.full() &&
         searcher_.failed_in_a_row() < (any_candidate ? kMorePatience : kPatience) &&
         left(run_.share_end) > run_.trial_cost + reserved();
}

uint32_t BoardTuner::spent_q8() const {
  const uint32_t of_time = (elapsed() - run_.share_begin) / ((run_.share_end - run_.share_begin) / 256 + 1);
  const uint32_t of_trials = searcher_.trial_count() * 256 / run_.own_limit;
  return of_time > of_trials ? of_time : of_trials;
}

void BoardTuner::search_step() {
  Status found = TEMPER_NOT_FOUND;
  if (may_search()) {
    searcher_.set_progress(spent_q8());
    const uint32_t fitting = candidates_per_ms(config_->facts);
    found = searcher_.propose(&candidate_, fitting < 4 ? 8 : 2 * fitting, fitting);
  }
  if (found.ok()) {
    begin_candidate(candidate_);
  } else if (found != TEMPER_MORE) {
    end_search();
  }
}

// A search that tried others and found none faster keeps the default for good; a default that does not work is replaced
// by what does. Where there was no time to tell, nothing is committed; where there is no room to remember another
// config, no later run could tell more.
void BoardTuner::end_search() {
  const Span<const Elite> elites = searcher_.elites();
  note().flags |= kConcluded;
  run_.phase = Phase::kNext;
  if (run_.purpose == RunPurpose::kCollect) {
    return;
  }
  if ((note().flags & kUnconfirmed) != 0) {
    confirm();
    return;
  }
  if (!default_works()) {
    if (!elites.empty()) {
      conclude(elites[0].config, 0, best_ns());
    }
  } else if (!begin_rematch() && (searcher_.trial_count() > 1 || searcher_.exhausted() || visited_.full())) {
    conclude(default_, default_ns(), default_ns());
  }
}

// The default and an earlier winner are measured. Where the default was kept, it stays unless it is beaten now.
void BoardTuner::confirm() {
  if (default_works() && begin_rematch()) {
    return;
  }
  if (default_works() && note().ratio_q15 == kWholeQ15) {
    conclude(default_, default_ns(), default_ns());
  } else {
    search_anew();
  }
}

// What was committed at another time does not hold here, or cannot be told to: the workload's next turn is a search.
void BoardTuner::search_anew() { note().flags &= static_cast<uint8_t>(~(kConcluded | kUnconfirmed)); }

Status BoardTuner::finish() {
  if (run_.activity != Activity::kNone) {
    release();
  }
  (void)check_storage();
  run_.finished = elapsed();
  run_.phase = Phase::kIdle;
  if (run_.clock_stands) {
    return TEMPER_PORT_ERROR;
  }
  if (run_.trials == 0 && run_.any_left) {
    return TEMPER_BUDGET_SPENT;
  }
  return run_.any_works ? TEMPER_OK : TEMPER_NOTHING_TO_TUNE;
}

}  // namespace temper
