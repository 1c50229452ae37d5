#include "runtime/compaction.h"

#include <cstring>

#include "runtime/crc32.h"

namespace temper {
namespace {

// Workload, template and knobs, of an intent and of the trial that closes it alike. 0: of neither.
uint32_t config_id(const FrameView& frame) {
  const bool is_trial = frame.type == FrameType::kTrial;
  const size_t head = is_trial ? sizeof(format::Trial) : sizeof(format::Intent);
  if ((!is_trial && frame.type != FrameType::kIntent) || frame.payload.size < head) {
    return 0;
  }
  const uint8_t* const payload = frame.payload.data;
  const uint32_t id = crc32(crc32(0, payload, 8), payload + (is_trial ? kTemplateInResult : kTemplateInIntent), 4);
  return crc32(id, payload + head, frame.payload.size - head);
}

}  // namespace

Compaction::Compaction(History* history, Lookup* lookup, CurrentSpace* spaces, Extent extent)
    : history_(history), lookup_(lookup), spaces_(spaces), source_(history->place()), extent_(extent) {
  const uint32_t seen = lookup->fingerprint_count();
  if (seen > kKnownFingerprints) {
    dropped_fingerprints_ = static_cast<uint16_t>(seen - kKnownFingerprints);
  }
  enter(Phase::kMeasure);
}

void Compaction::enter(Phase phase) {
  phase_ = phase;
  at_ = phase == Phase::kErase ? 0 : source_.begin;
  fingerprints_ = 0;
}

void Compaction::cancel() { history_->cancel_move(source_); }

Status Compaction::step() {
  Status status;
  if (phase_ == Phase::kErase) {
    status = history_->erase_block(at_++);
    if (status.ok() && at_ * history_->storage()->erase_bytes == history_->region_bytes()) {
      enter(Phase::kCopy);
    }
  } else if (at_ < source_.end || intent_at_ != 0) {
    status = frame_step();
  } else if (phase_ == Phase::kMeasure) {
    status = choose_level();
  } else {
    status = history_->finish_move();
    if (status.ok()) {
      lookup_->drop_fingerprints(dropped_fingerprints_);
      return status;
    }
  }
  if (status.ok()) {
    return TEMPER_MORE;
  }
  cancel();
  if (status != TEMPER_STORAGE_FULL) {
    history_->fail(status);
  }
  return status;
}

// An intent waits for the frame behind it: with the trial that closes it, it is dropped; else it is taken, and the
// frame behind it is looked at once more.
Status Compaction::frame_step() {
  const uint32_t at = at_;
  FrameView frame{};
  Status status;
  if (at < source_.end) {
    status = history_->read_next(&at_, source_.end, &frame);
    if (!status.ok() || frame.payload.data == nullptr) {
      return status;
    }
  }
  if (intent_at_ == 0 && frame.type == FrameType::kIntent) {
    intent_at_ = at;
    intent_id_ = config_id(frame);
    return status;
  }
  if (intent_at_ != 0) {
    const bool closed = frame.type == FrameType::kTrial && config_id(frame) == intent_id_;
    uint32_t intent = intent_at_;
    intent_at_ = 0;
    if (!closed) {
      at_ = at;
      status = history_->read_next(&intent, source_.end, &frame);
    }
  }
  return status.ok() ? take(frame) : status;
}

// The frame lies in the history's buffer, where the next one is put together.
Status Compaction::take(const FrameView& frame) {
  const Level level = level_of(frame);
  const uint32_t payload_bytes = static_cast<uint32_t>(frame.payload.size);
  if (phase_ == Phase::kMeasure) {
    bytes_[level] += frame_bytes(payload_bytes, history_->storage()->program_bytes);
    return {};
  }
  uint8_t* payload;
  const Status status = level > level_ ? history_->reserve(&payload) : Status();
  if (level <= level_ || !status.ok()) {
    return status;
  }
  if ((frame.type == FrameType::kTrial || frame.type == FrameType::kCommit) &&
      payload_bytes >= kFingerprintInResult + 2) {
    uint16_t ordinal;
    std::memcpy(&ordinal, payload + kFingerprintInResult, sizeof ordinal);
    ordinal = ordinal < dropped_fingerprints_ ? kNoFingerprint : static_cast<uint16_t>(ordinal - dropped_fingerprints_);
    std::memcpy(payload + kFingerprintInResult, &ordinal, sizeof ordinal);
  }
  return history_->append_reserved(frame.type, payload_bytes);
}

// The mildest level that leaves a quarter of the region to be written before the next compaction: this bounds the wear.
Status Compaction::choose_level() {
  const uint32_t program_bytes = history_->storage()->program_bytes;
  const uint32_t region = history_->region_bytes();
  uint32_t needed = region / 4 + trial_room_bytes(program_bytes) + 2 * frame_bytes(kHeaderPayload, program_bytes);
  for (const uint32_t bytes : bytes_) {
    needed += bytes;
  }
  for (uint8_t level = kClosed; level < static_cast<uint8_t>(extent_); ++level) {
    needed -= bytes_[level];
    if (needed <= region) {
      level_ = static_cast<Level>(level);
      enter(Phase::kErase);
      history_->start_move();
      return {};
    }
  }
  return TEMPER_STORAGE_FULL;
}

// Asked for every frame in order. Intents are open ones.
Compaction::Level Compaction::level_of(const FrameView& frame) {
  if (frame.type == FrameType::kHeader) {
    return kClosed;
  }
  if (frame.type == FrameType::kFingerprint) {
    return fingerprints_++ < dropped_fingerprints_ ? kClosed : kKept;
  }
  uint64_t key;
  if (frame.type > FrameType::kCommit || frame.payload.size < sizeof key) {
    return kUnknown;
  }
  std::memcpy(&key, frame.payload.data, sizeof key);
  const uint32_t workload = spaces_->pack().find_workload(key);
  if (workload == spaces_->pack().workload_count()) {
    return kUnknown;
  }
  return frame.type < FrameType::kTrial ? kKept : level_of_result(frame, workload);
}

// Of a trial or a commit. Of this device's commits the last valid one counts, which is the one that the look-up noted.
// Whether a config is legal takes long to tell, and does not matter here.
Compaction::Level Compaction::level_of_result(const FrameView& frame, uint32_t workload) const {
  TrialView trial;
  CommitView commit;
  const bool is_trial = frame.type == FrameType::kTrial;
  if (!(is_trial ? read_trial(frame, &trial) : read_commit(frame, &commit)).ok()) {
    return kUnknown;
  }
  uint16_t ordinal;
  std::memcpy(&ordinal, frame.payload.data + kFingerprintInResult, sizeof ordinal);
  const WorkloadNote& note = lookup_->note(workload);
  const bool committed = note.miss == TEMPER_MISS_NONE;
  if (!lookup_->same_device(ordinal)) {
    return !is_trial ? kUnknown : committed ? kSuperseded : kOrdinary;
  }
  constexpr uint32_t kFailures =
      1u << TEMPER_OUTCOME_WRONG_RESULT | 1u << TEMPER_OUTCOME_CRASHED | 1u << TEMPER_OUTCOME_TIMEOUT;
  if (!committed || (is_trial && ((kFailures >> trial.trial.outcome() & 1u) != 0 || trial.trial.is_default() != 0))) {
    return kKept;
  }
  Config config;
  const bool won = config_from_knobs(spaces_->select(workload), is_trial ? trial.knobs : commit.knobs, &config).ok() &&
                   config == note.config && (is_trial || note.tuned_time == compact_time(commit.commit.tuned_ns()));
  return won ? kKept : is_trial ? kOrdinary : kSuperseded;
}

}  // namespace temper
