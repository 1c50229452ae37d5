// The board tuner's dealings with the history: what earlier boots left, and what it writes. See runtime/board_tuner.h.
#include <cstring>
#include <new>

#include "runtime/board_tuner.h"

namespace temper {

// Whatever a frame tells of a workload begins with its key.
void BoardTuner::visit_frame(void* self, const FrameView& frame) {
  BoardTuner& tuner = *static_cast<BoardTuner*>(self);
  uint64_t key = 0;
  if (frame.type < FrameType::kWorkload || frame.payload.size < sizeof key) {
    return;
  }
  std::memcpy(&key, frame.payload.data, sizeof key);
  if (key != tuner.space().workload().key) {
    return;
  }
  if (frame.type == FrameType::kWorkload) {
    tuner.note().flags |= kNamed;
  } else if (frame.type == FrameType::kIntent) {
    tuner.load_intent(frame);
  } else if (frame.type == FrameType::kTrial) {
    tuner.load_trial(frame);
  }
}

bool BoardTuner::means(uint16_t template_id, uint16_t template_version, const Span<const format::KnobValue>& knobs,
                       Config* config) const {
  return translate(spaces_->pack(), space(), template_id, template_version, knobs, config) == TEMPER_MISS_NONE;
}

void BoardTuner::load_intent(const FrameView& frame) {
  IntentView view;
  intent_open_ = read_intent(frame, &view).ok() &&
                 means(view.intent.template_id(), view.intent.template_version(), view.knobs, &candidate_);
}

void BoardTuner::load_trial(const FrameView& frame) {
  TrialView view;
  Config config;
  if (!read_trial(frame, &view).ok() ||
      !means(view.trial.template_id(), view.trial.template_version(), view.knobs, &config)) {
    return;
  }
  intent_open_ = intent_open_ && !(config == candidate_);
  const temper_outcome outcome = static_cast<temper_outcome>(view.trial.outcome());
  const uint32_t median_ns = saturated_ns(view.trial.median_ns());
  if (!(has_time(outcome) ? lookup_->same_times(view.trial.fingerprint())
                          : lookup_->same_device(view.trial.fingerprint()))) {
    if (outcome == TEMPER_OUTCOME_OK) {
      searcher_.hint(config, median_ns);
    }
    return;
  }
  searcher_.observe(config, outcome, median_ns);
  if (config == default_) {
    note_default(outcome, median_ns);
  }
}

// The workload's trials, read where they lie: they are not kept in RAM from boot on. A config whose trial never ended
// took the device down with it, or power failed: it is not tried again. That is written down as a trial, so that it
// holds whatever becomes of the intent.
void BoardTuner::load_history() {
  intent_open_ = false;
  if (!old_trials_) {
    return;
  }
  const uint32_t failures = note().flags & (kDefaultCrashed | kDefaultFailed);
  note().flags = static_cast<uint8_t>(note().flags & ~failures);  // they are counted anew
  (void)history_->rescan(this, visit_frame);                      // of a history that fails what was read counts
  if (!history_->writable()) {
    note().flags = static_cast<uint8_t>(note().flags | failures);  // those of this run may not be in it
  }
  if (intent_open_) {
    run_.is_default = candidate_ == default_;
    finish_trial(TEMPER_OUTCOME_CRASHED, false);
  }
}

// The frames that an intent, a trial or a commit of this workload refers to. False: there is no history to write to.
bool BoardTuner::write_frames() {
  if (!check_storage()) {
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
  return check_storage();
}

// Whether the history takes more. That it was written to and takes no more is told once.
bool BoardTuner::check_storage() {
  const bool writable = history_ != nullptr && history_->writable();
  if (!writable && fingerprint_written_ && !storage_lost_) {
    storage_lost_ = true;
    log_memory_only(*config_->port);
  }
  return writable;
}

// Before a trial for which the history may have no room it is compacted, a step at a time; true while that goes on. So
// an intent never stays open for lack of room, and a commit finds its place. What the budget does not hold is given up.
// Where trials of workloads without a commit fill the storage, the search in turn ends early: its commit makes room.
bool BoardTuner::make_room() {
  if (history_ == nullptr || !history_->writable()) {
    return false;
  }
  if (left(run_.end) == 0) {
    if (compacting_) {
      compacting_ = false;
      compaction_.cancel();
    }
    return false;
  }
  const uint32_t wanted = trial_room_bytes(history_->storage()->program_bytes);
  if (!compacting_) {
    if (history_->room_bytes() >= wanted) {
      return false;
    }
    compacting_ = history_->has_other_region() && full_at_ != history_->place().end;
    if (compacting_) {
      const bool collects = run_.purpose == RunPurpose::kCollect;
      new (&compaction_) Compaction(history_, lookup_, spaces_,
                                    collects ? Compaction::Extent::kOwnTrialsStay : Compaction::Extent::kAll);
    }
  }
  Status status = TEMPER_STORAGE_FULL;
  if (compacting_) {
    status = compaction_.step();
    compacting_ = status == TEMPER_MORE;
    if (compacting_) {
      return true;
    }
    full_at_ = history_->place().end;
  }
  if (status.ok()) {
    ordinal_ = static_cast<uint16_t>(ordinal_ - compaction_.dropped_fingerprints());
    return true;
  }
  // Half of what is wanted holds an intent and its trial, whatever their knobs.
  if (history_->writable() && history_->has_other_region() && history_->room_bytes() >= wanted / 2 &&
      run_.purpose == RunPurpose::kTune) {
    if (run_.phase != Phase::kSearch) {
      return false;
    }
    if (searcher_.trial_count() > 1) {
      space();
      end_search();
      return true;
    }
  }
  history_->fail(status);
  storage_lost_ = true;
  log_memory_only(*config_->port);
  return false;
}

// `timed`: with what was measured of it.
void BoardTuner::keep_trial(temper_outcome outcome, bool timed) {
  if (!write_frames()) {
    return;
  }
  TrialResult trial{outcome, 0, 0, 0, 0, run_.is_default};
  if (timed) {
    trial.median_ns = measurement_.median_ns();
    trial.spread_ns = measurement_.spread_ns();
    trial.sample_count = measurement_.sample_count();
  }
  (void)append_trial(*history_, space(), candidate_, ordinal_, trial);
}

void log_memory_only(const temper_port& port) {
  if (port.log != nullptr) {
    port.log(port.self, "history: unusable or full; results are kept in memory only");
  }
}

}  // namespace temper
