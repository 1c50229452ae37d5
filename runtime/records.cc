#include <cstring>

#include "runtime/history.h"

namespace temper {
namespace {

using format::KnobValue;

constexpr size_t kMaxNameBytes = 200;  // longer names are cut: they are shown, never compared

static_assert(sizeof(format::Intent) == 16 && sizeof(format::Trial) == 40 && sizeof(format::Commit) == 32 &&
                  sizeof(format::WorkloadName) == 24 && sizeof(Fingerprint) == 56 && sizeof(KnobValue) == 4,
              "payload layouts are persisted");
static_assert(sizeof(format::Trial) + TEMPER_MAX_KNOBS * sizeof(KnobValue) <= kMaxPayload, "every record fits a frame");

template <class T>
Span<const uint8_t> bytes_of(const T* items, size_t count) {
  return {reinterpret_cast<const uint8_t*>(items), count * sizeof(T)};
}

// The record's fixed part, then the id and value of every knob. Not a template: the code exists once.
Status append_record(History& history, FrameType type, Span<const uint8_t> record, const Space& space,
                     const Config& config) {
  uint8_t* payload;
  const Status status = history.reserve(&payload);
  if (!status.ok()) {
    return status;
  }
  std::memcpy(payload, record.data, record.size);
  KnobValue* const knobs = reinterpret_cast<KnobValue*>(payload + record.size);
  const uint32_t count = space.knob_count();
  for (uint32_t k = 0; k < count; ++k) {
    knobs[k] = KnobValue(space.view().knob_id(k), static_cast<uint16_t>(space.value(k, config.choice[k])));
  }
  return history.append_reserved(type, static_cast<uint32_t>(record.size + count * sizeof *knobs));
}

Status read_head(const FrameView& frame, FrameType type, void* head, size_t head_bytes) {
  if (frame.type != type || frame.payload.size < head_bytes) {
    return TEMPER_BAD_DATA;
  }
  std::memcpy(head, frame.payload.data, head_bytes);
  return TEMPER_OK;
}

Status read_knobs(const FrameView& frame, size_t head_bytes, size_t count, Span<const KnobValue>* knobs) {
  if (count > TEMPER_MAX_KNOBS || frame.payload.size < head_bytes + count * sizeof(KnobValue)) {
    return TEMPER_BAD_DATA;
  }
  *knobs = {reinterpret_cast<const KnobValue*>(frame.payload.data + head_bytes), count};
  return TEMPER_OK;
}

template <class T>
Status read_record(const FrameView& frame, FrameType type, T* head, Span<const KnobValue>* knobs) {
  const Status status = read_head(frame, type, head, sizeof *head);
  return status.ok() ? read_knobs(frame, sizeof *head, head->knob_count(), knobs) : status;
}

uint32_t saturated(uint64_t value) { return value > UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(value); }

}  // namespace

Status append_fingerprint(History& history, const Fingerprint& fingerprint) {
  return history.append(FrameType::kFingerprint, bytes_of(&fingerprint, 1));
}

Status append_workload(History& history, const WorkloadView& workload) {
  const size_t length = std::strlen(workload.name);
  const size_t kept = length < kMaxNameBytes ? length : kMaxNameBytes;
  const format::WorkloadName head(workload.key, workload.flops, workload.count, static_cast<uint16_t>(kept), 0);
  return history.append(FrameType::kWorkload, bytes_of(&head, 1), bytes_of(workload.name, kept));
}

Status append_intent(History& history, const Space& space, const Config& config) {
  const format::Intent intent(space.workload().key, space.view().id, space.view().version, space.view().knob_count, 0,
                              0);
  return append_record(history, FrameType::kIntent, bytes_of(&intent, 1), space, config);
}

Status append_trial(History& history, const Space& space, const Config& config, uint16_t fingerprint,
                    const TrialResult& result) {
  const format::Trial trial(space.workload().key, result.median_ns, saturated(result.spread_ns), result.build_us,
                            space.view().id, space.view().version, fingerprint, static_cast<uint8_t>(result.outcome),
                            result.sample_count, space.view().knob_count, result.is_default ? 1 : 0, 0);
  return append_record(history, FrameType::kTrial, bytes_of(&trial, 1), space, config);
}

Status append_commit(History& history, const Space& space, const Config& config, uint16_t fingerprint,
                     const CommitResult& result) {
  const format::Commit commit(space.workload().key, result.default_ns, result.tuned_ns, space.view().id,
                              space.view().version, fingerprint, space.view().knob_count, result.kept_default ? 1 : 0);
  return append_record(history, FrameType::kCommit, bytes_of(&commit, 1), space, config);
}

Status read_trial(const FrameView& frame, TrialView* out) {
  const Status status = read_record(frame, FrameType::kTrial, &out->trial, &out->knobs);
  return status.ok() && out->trial.outcome() >= TEMPER_OUTCOME_COUNT ? Status(TEMPER_BAD_DATA) : status;
}

Status read_commit(const FrameView& frame, CommitView* out) {
  return read_record(frame, FrameType::kCommit, &out->commit, &out->knobs);
}

Status read_intent(const FrameView& frame, IntentView* out) {
  return read_record(frame, FrameType::kIntent, &out->intent, &out->knobs);
}

Status read_fingerprint(const FrameView& frame, Fingerprint* out) {
  return read_head(frame, FrameType::kFingerprint, out, sizeof *out);
}

Status read_workload(const FrameView& frame, WorkloadNameView* out) {
  const Status status = read_head(frame, FrameType::kWorkload, &out->head, sizeof out->head);
  if (!status.ok() || frame.payload.size < sizeof out->head + out->head.name_bytes()) {
    return TEMPER_BAD_DATA;
  }
  out->name = reinterpret_cast<const char*>(frame.payload.data + sizeof out->head);
  return TEMPER_OK;
}

Status config_from_knobs(const Space& space, Span<const KnobValue> knobs, Config* out) {
  if (knobs.size != space.knob_count()) {
    return TEMPER_NOT_FOUND;
  }
  Config config;
  for (uint32_t k = 0; k < space.knob_count(); ++k) {
    const uint16_t id = space.view().knob_id(k);
    size_t at = 0;
    while (at < knobs.size && knobs[at].id() != id) {
      ++at;
    }
    if (at == knobs.size || !space.choose(k, knobs[at].value(), &config).ok()) {
      return TEMPER_NOT_FOUND;
    }
  }
  *out = config;
  return TEMPER_OK;
}

}  // namespace temper
