// The board tuner's dealings with the history: what earlier boots left, and what it writes. See runtime/board_tuner.h.
#include "runtime/board_tuner.h"

namespace temper {
void BoardTuner::visit_frame(void* self, const FrameView& frame) {
  BoardTuner& tuner = *static_cast<BoardTuner*>(self);
  const uint64_t key = tuner.space().workload().key;
  WorkloadNameView named;
  IntentView intent;
  TrialView trial;
  if (read_workload(frame, &named).ok()) {
    if (named.head.workload() == key) {
      tuner.note().flags |= kNamed;
    }
  } else if (read_intent(frame, &intent).ok()) {
    tuner.intent_open_ =
        intent.intent.workload() == key &&
        translate(tuner.spaces_->pack(), tuner.space(), intent.intent.template_id(), intent.intent.template_version(),
                  intent.knobs, &tuner.candidate_) == TEMPER_MISS_NONE;
  } else if (read_trial(frame, &trial).ok() && trial.trial.workload() == key) {
    tuner.load_trial(trial);
  }
}

void BoardTuner::load_trial(const TrialView& view) {
  Config config;
  if (translate(spaces_->pack(), space(), view.trial.template_id(), view.trial.template_version(), view.knobs,
                &config) != TEMPER_MISS_NONE) {
    return;
  }
  intent_open_ = intent_open_ && !(config == candidate_);
  const temper_outcome outcome = static_cast<temper_outcome>(view.trial.outcome());
  if (!lookup_->same_device(view.trial.fingerprint())) {
    if (outcome == TEMPER_OUTCOME_OK) {
      searcher_.hint(config, view.trial.median_ns());
    }
    return;
  }
  searcher_.observe(config, outcome, view.trial.median_ns());
  if (config == default_) {
    note_default(outcome, saturated_ns(view.trial.median_ns()));
  }
}

// The workload's trials, read where they lie: they are not kept in RAM from boot on. A config whose trial never ended
// took the device down with it, or power failed: it is not tried again. That is written down as a trial, so that it
// holds whatever becomes of the intent.
void BoardTuner::load_history() {
  intent_open_ = false;
  if (!old_trials_ || !history_->writable()) {
    return;
  }
  note().flags &= static_cast<uint8_t>(~(kDefaultCrashed | kDefaultFailed));  // they are counted anew
  (void)history_->rescan(this, visit_frame);  // of a history that fails what was read counts
  if (intent_open_) {
    run_.is_default = candidate_ == default_;
    finish_trial({TEMPER_OUTCOME_CRASHED, 0, 0, 0, 0, run_.is_default});
  }
}

// The frames that an intent, a trial or a commit of this workload refers to. False: there is no history to write to.
bool BoardTuner::write_frames() {
  if (history_ == nullptr || !history_->writable()) {
    return false;
  }
  if (!fingerprint_written_) {
    fingerprint_written_ = true;
    bool is_new = false;
    ordinal_ = lookup_->own_ordinal(&is_new);
    if (is_new && append_fingerprint(*history_, *fingerprint_).ok()) {
      lookup_->add_fingerprint(0);
    }
  }
  if ((note().flags & kNamed) == 0) {
    note().flags |= kNamed;
    (void)append_workload(*history_, space().workload());
  }
  check_storage();
  return history_->writable();
}

void BoardTuner::check_storage() {
  if (storage_lost_ || history_->failure().ok()) {
    return;
  }
  storage_lost_ = true;
  log_memory_only(*config_->port);
}

void BoardTuner::keep_trial(const TrialResult& trial) {
  if (write_frames()) {
    (void)append_trial(*history_, space(), candidate_, ordinal_, trial);
    check_storage();
  }
}

void log_memory_only(const temper_port& port) {
  if (port.log != nullptr) {
    port.log(port.self, "history: unusable or full; results are kept in memory only");
  }
}

}  // namespace temper
