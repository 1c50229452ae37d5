// The tuner's set-up: placing, resuming from a history, starting and stopping. See runtime/tuner.h.
#include "runtime/tuner.h"

#include <new>

#include "runtime/learning.h"

namespace temper {
namespace {

constexpr uint32_t kNoWorkload = UINT32_MAX;
constexpr uint8_t kDefaultCrashes = 2;  // a power cut may look like one; twice is no accident

uint32_t max_entries(const PackView& pack, const TunerOptions& options) {
  return options.max_trials > pack.workload_count() ? options.max_trials : pack.workload_count();
}

}  // namespace

void Tuner::place(Arena& arena, const PackView& pack, const temper_facts* facts, const TunerOptions& options,
                  Tuner* tuner) {
  const uint32_t workload_count = pack.workload_count();
  VisitedSet visited(arena, max_entries(pack, options));
  // Values and intervals are never needed at the same time.
  const size_t of_values = pack.scratch_values() * sizeof(int32_t);
  const size_t of_intervals = pack.scratch_intervals() * sizeof(Interval);
  void* const memory = arena.take(of_values > of_intervals ? of_values : of_intervals, alignof(Interval));
  const Scratch scratch{static_cast<int32_t*>(memory), static_cast<Interval*>(memory)};
  Slot* const slots = arena.take_array<Slot>(options.max_slots);
  Space* const spaces = arena.take_array<Space>(workload_count);
  WorkloadState* const states = arena.take_array<WorkloadState>(workload_count);
  if (tuner == nullptr || arena.overflowed()) {
    for (uint32_t i = 0; i < workload_count; ++i) {
      TrialModel::place(arena, pack.get_template(pack.workload(i).template_index));
    }
    return;
  }
  for (uint8_t i = 0; i < options.max_slots; ++i) {
    new (&slots[i]) Slot();
  }
  tuner->visited_ = visited;
  tuner->slots_ = slots;
  tuner->spaces_ = spaces;
  tuner->states_ = states;
  tuner->workload_count_ = workload_count;
  for (uint32_t i = 0; i < workload_count; ++i) {
    const Space* const space = new (&spaces[i]) Space(&pack, i, facts, scratch);
    WorkloadState* const state = new (&states[i]) WorkloadState();
    state->space = space;
    new (&state->searcher)
        Searcher(arena, options.searcher, space, &tuner->visited_, &tuner->proposal_, tuner->model_, options.seed);
  }
}

size_t Tuner::bytes_needed(const PackView& pack, const TunerOptions& options) {
  Arena arena;
  const temper_facts no_facts{};
  place(arena, pack, &no_facts, options, nullptr);
  return arena.used + 64;
}

Status Tuner::init(Arena& arena, const PackView* pack, const temper_facts* facts, const Fingerprint& fingerprint,
                   Runner runner, CostModel model, History* history, uint64_t (*now_ns)(void*), void* clock_self,
                   const TunerOptions& options) {
  pack_ = pack;
  facts_ = facts;
  fingerprint_ = fingerprint;
  runner_ = runner;
  runner_.slot_count = runner.slot_count > options.max_slots ? options.max_slots : runner.slot_count;
  model_ = model;
  history_ = history;
  now_ns_ = now_ns;
  clock_self_ = clock_self;
  options_ = options;
  if (runner_.slot_count == 0 || arena.counting()) {
    return TEMPER_INVALID_ARGUMENT;
  }
  place(arena, *pack, facts, options_, this);
  if (arena.overflowed()) {
    workload_count_ = 0;
    return TEMPER_NO_MEMORY;
  }
  for (uint32_t i = 0; i < workload_count_; ++i) {
    WorkloadState& state = states_[i];
    if (!state.space->default_config(&state.default_config).ok()) {
      state.default_phase = DefaultPhase::kAbsent;
    }
    state.best_config = state.default_config;
  }
  return {};
}

void Tuner::set_listener(void* context, void (*listener)(void* context, const TunerEvent& event)) {
  listener_context_ = context;
  listener_ = listener;
}

void Tuner::emit(TunerEvent::Kind kind, uint32_t workload, const Config* config, const TrialResult* trial) {
  if (listener_ != nullptr) {
    const TrialResult none{};
    listener_(listener_context_, TunerEvent{kind, workload, config, trial != nullptr ? *trial : none});
  }
}

uint64_t Tuner::elapsed_ns() const {
  if (phase_ == Phase::kIdle || phase_ == Phase::kDone) {
    return finished_ns_;
  }
  const uint64_t now = now_ns_(clock_self_);
  if (now < latest_ns_) {  // as runtime/board_tuner.cc does
    started_ns_ += now - latest_ns_;
  }
  latest_ns_ = now;
  return now - started_ns_;
}

uint32_t Tuner::find_workload(uint64_t key) const {
  for (uint32_t i = 0; i < workload_count_; ++i) {
    if (states_[i].space->workload().key == key) {
      return i;
    }
  }
  return kNoWorkload;
}

// Whether this fingerprint frame of the history differs from this device's in none of these fields.
bool Tuner::agrees(uint32_t ordinal, uint32_t fields) const {
  return ordinal < fingerprint_count_ && ordinal < kMaxFingerprints && (differs_[ordinal] & fields) == 0;
}

// With options_.refresh times of another clock are another device's.
bool Tuner::same_times(uint32_t ordinal) const {
  return agrees(ordinal, kFingerprintDecisive | (options_.refresh ? kFingerprintConfirm : 0u));
}

// The workload with this key, when the knobs mean a config that is legal here; else kNoWorkload.
uint32_t Tuner::find_legal(uint64_t key, Span<const format::KnobValue> knobs, Config* config) const {
  const uint32_t index = find_workload(key);
  const bool legal =
      index != kNoWorkload && config_from_knobs(spaces_[index], knobs, config).ok() && spaces_[index].legal(*config);
  return legal ? index : kNoWorkload;
}

void Tuner::resume_trial(const TrialView& view) {
  Config config;
  const uint32_t index = find_legal(view.trial.workload(), view.knobs, &config);
  if (index == kNoWorkload) {
    return;
  }
  if (intent_open_ && intent_workload_ == index && intent_config_ == config) {
    intent_open_ = false;
  }
  WorkloadState& state = states_[index];
  const TemplateView& space = state.space->view();
  const temper_outcome outcome = static_cast<temper_outcome>(view.trial.outcome());
  const bool same =
      (has_time(outcome) ? same_times(view.trial.fingerprint()) : same_device(view.trial.fingerprint())) &&
      view.trial.template_id() == space.id && view.trial.template_version() == space.version;
  if (!same) {
    if (outcome == TEMPER_OUTCOME_OK) {
      state.searcher.hint(config, view.trial.median_ns());
    }
    return;
  }
  state.searcher.observe(config, outcome, view.trial.median_ns());
  ++state.resumed_trials;
  if (config == state.default_config) {
    state.default_ns = outcome == TEMPER_OUTCOME_OK ? view.trial.median_ns() : state.default_ns;
    state.default_crashes = static_cast<uint8_t>(
        outcome == TEMPER_OUTCOME_CRASHED && state.default_crashes < kDefaultCrashes ? state.default_crashes + 1
        : outcome == TEMPER_OUTCOME_OK                                               ? 0
                                                                                     : state.default_crashes);
  }
  const Span<const Elite> elites = state.searcher.elites();
  if (!elites.empty()) {
    state.best_ns = elites[0].time_ns;
    state.best_config = state.best_is_committed ? state.best_config : elites[0].config;
  }
}

void Tuner::resume_commit(const CommitView& view) {
  Config config;
  const uint32_t index = find_legal(view.commit.workload(), view.knobs, &config);
  if (index == kNoWorkload) {
    return;
  }
  WorkloadState& state = states_[index];
  const TemplateView& space = state.space->view();
  const bool same_template = view.commit.template_id() == space.id && view.commit.template_version() == space.version;
  const bool here = same_template && same_device(view.commit.fingerprint());
  if (same_template && (here || !state.committed)) {
    state.earlier_config = config;
    state.kept_elsewhere =
        !here && agrees(view.commit.fingerprint(), kFingerprintOtherDevice) && view.commit.kept_default() != 0;
    state.earlier_q15 = time_ratio_q15(compact_time(view.commit.default_ns()), compact_time(view.commit.tuned_ns()));
  }
  if (!here) {
    state.searcher.hint(config, view.commit.tuned_ns());
    return;
  }
  state.stale = !same_times(view.commit.fingerprint());
  state.committed = true;
  state.best_is_committed = true;
  state.best_config = config;
  state.kept_default = view.commit.kept_default() != 0;
  state.rematch_default_ns = view.commit.default_ns();
  state.rematch_best_ns = view.commit.tuned_ns();
}

// A config whose trial never ended took the device down with it, or power failed: it is not tried again. That is
// written down as a trial, so that it holds whatever becomes of the intent; but not while the history is being scanned.
void Tuner::quarantine(bool scanning) {
  if (!intent_open_) {
    return;
  }
  intent_open_ = false;
  WorkloadState& state = states_[intent_workload_];
  const bool is_default = intent_config_ == state.default_config;
  if (is_default && state.default_crashes < kDefaultCrashes) {
    ++state.default_crashes;
  }
  state.searcher.observe(intent_config_, TEMPER_OUTCOME_CRASHED, 0);
  ++state.resumed_trials;
  if (!scanning) {
    keep_trial(state, intent_config_, {TEMPER_OUTCOME_CRASHED, 0, 0, 0, 0, is_default});
  }
}

void Tuner::resume(const FrameView& frame) {
  if (frame.type == FrameType::kFingerprint && read_fingerprint(frame, &last_fingerprint_).ok()) {
    if (fingerprint_count_ < kMaxFingerprints) {
      differs_[fingerprint_count_] = static_cast<uint16_t>(compare(last_fingerprint_, fingerprint_));
    }
    ++fingerprint_count_;
  } else if (frame.type == FrameType::kWorkload) {
    WorkloadNameView view;
    const uint32_t index = read_workload(frame, &view).ok() ? find_workload(view.head.workload()) : kNoWorkload;
    if (index != kNoWorkload) {
      states_[index].named = true;
    }
  } else if (frame.type == FrameType::kIntent) {
    IntentView view;
    if (!read_intent(frame, &view).ok()) {
      return;
    }
    quarantine(true);  // at most one trial is open at a time, so the one before this never ended
    const uint32_t index = find_workload(view.intent.workload());
    intent_open_ = index != kNoWorkload && view.intent.template_id() == states_[index].space->view().id &&
                   view.intent.template_version() == states_[index].space->view().version &&
                   config_from_knobs(*states_[index].space, view.knobs, &intent_config_).ok();
    intent_workload_ = index;
  } else if (frame.type == FrameType::kTrial) {
    TrialView view;
    if (read_trial(frame, &view).ok()) {
      resume_trial(view);
    }
  } else if (frame.type == FrameType::kCommit) {
    CommitView view;
    if (read_commit(frame, &view).ok()) {
      resume_commit(view);
    }
  }
}

void Tuner::check_storage() {
  if (!storage_lost_ && !history_->failure().ok()) {
    storage_lost_ = true;
    emit(TunerEvent::Kind::kStorageLost, 0, nullptr, nullptr);
  }
}

// The frames that a trial or commit of this workload refers to. False: there is no history to write to.
bool Tuner::write_frames(WorkloadState& state) {
  if (history_ == nullptr) {
    return false;
  }
  if (!fingerprint_written_) {
    fingerprint_written_ = true;
    const bool known = fingerprint_count_ > 0 && compare(last_fingerprint_, fingerprint_) == 0;
    ordinal_ = static_cast<uint16_t>(known ? fingerprint_count_ - 1 : fingerprint_count_);
    if (!known) {
      (void)append_fingerprint(*history_, fingerprint_);
    }
  }
  if (!state.named) {
    state.named = true;
    (void)append_workload(*history_, state.space->workload());
  }
  check_storage();
  return history_->writable();
}

void Tuner::keep_trial(WorkloadState& state, const Config& config, const TrialResult& trial) {
  if (write_frames(state)) {
    (void)append_trial(*history_, *state.space, config, ordinal_, trial);
    check_storage();
  }
}

void Tuner::reset_run_state() {
  trials_ = 0;
  reopened_at_ = 0;
  slowest_default_ns_ = 0;
  run_ = InFlight();
  chunk_left_ = 0;
  stopping_ = false;
  clock_stands_ = false;
  stopped_ns_ = 0;
  for (uint32_t i = 0; i < workload_count_; ++i) {
    WorkloadState& state = states_[i];
    const bool absent = state.default_phase == DefaultPhase::kAbsent;
    const bool left_alone = state.committed && (!options_.retune_committed || options_.refresh) && !state.stale;
    const bool may_hold = state.earlier_q15 != kWholeQ15 || state.kept_elsewhere;
    state.unconfirmed = options_.refresh && options_.commits && (state.stale || (!state.committed && may_hold));
    if (state.unconfirmed) {
      state.searcher.hint(state.earlier_config);
    }
    state.trials = 0;
    state.since_improvement = 0;
    state.gain_q8 = 256;
    state.in_flight = 0;
    state.best_is_committed = state.committed;
    for (uint32_t& outcome : state.outcomes) {
      outcome = 0;
    }
    state.stop = left_alone ? StopReason::kCommitted : absent ? StopReason::kExhausted : StopReason::kRunning;
    state.concluded = state.stop != StopReason::kRunning;
    if (!absent) {
      state.default_phase = state.default_crashes >= kDefaultCrashes ? DefaultPhase::kFailed : DefaultPhase::kTodo;
      if (!state.searcher.visited(state.default_config)) {
        state.searcher.visit(state.default_config);
      }
    }
    const uint32_t share = budget_.trials / workload_count_;
    const uint32_t limit = budget_.trials_per_workload != 0 && (share == 0 || budget_.trials_per_workload < share)
                               ? budget_.trials_per_workload
                               : share;
    state.searcher.choose_kind(limit == 0 ? 0 : limit + state.resumed_trials);
  }
}

Status Tuner::start(const temper_budget& budget) {
  if (workload_count_ == 0) {
    return TEMPER_NOTHING_TO_TUNE;
  }
  if (phase_ == Phase::kSearch || phase_ == Phase::kRematch) {
    return TEMPER_INVALID_ARGUMENT;
  }
  budget_ = budget;
  started_ns_ = latest_ns_ = now_ns_(clock_self_);
  phase_ = Phase::kSearch;
  quarantine(false);
  reset_run_state();
  return {};
}

Status Tuner::step() {
  switch (phase_) {
    case Phase::kIdle:
      return TEMPER_INVALID_ARGUMENT;
    case Phase::kDone:
      return finish();
    case Phase::kSearch:
      return search_step();
    case Phase::kRematch:
      return rematch_step();
  }
  return TEMPER_INVALID_ARGUMENT;
}

void Tuner::stop() {
  if (!stopping_ && (phase_ == Phase::kSearch || phase_ == Phase::kRematch)) {
    stopped_ns_ = elapsed_ns();
    stopping_ = true;
  }
}

}  // namespace temper
