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

// By type, from kFingerprint on: the fixed part, and where in it the number of knob values stands that follow it.
constexpr uint8_t kNoKnobs = 0xFF;
struct Layout {
  uint8_t head_bytes, knob_count_at;
};
constexpr Layout kLayouts[] = {
    {sizeof(Fingerprint), kNoKnobs}, {sizeof(format::WorkloadName), kNoKnobs},
    {sizeof(format::Intent), 12},    {sizeof(format::Trial), 32},
    {sizeof(format::Commit), 30},
};

const Layout& layout_of(FrameType type) {
  return kLayouts[static_cast<uint32_t>(type) - static_cast<uint32_t>(FrameType::kFingerprint)];
}

// Puts the fixed part into the next frame; the rest belongs at *rest.
Status begin_record(History& history, FrameType type, const void* head, uint8_t** rest) {
  const Status status = history.reserve(rest);
  if (status.ok()) {
    std::memcpy(*rest, head, layout_of(type).head_bytes);
    *rest += layout_of(type).head_bytes;
  }
  return status;
}

// The fixed part, then, if a space is given, the id and value of every knob and, in a commit, the workload's dimensions
// where all of them fit.
Status append_record(History& history, FrameType type, const void* head, const Space* space, const Config* config) {
  uint8_t* rest;
  const Status status = begin_record(history, type, head, &rest);
  if (!status.ok()) {
    return status;
  }
  KnobValue* const knobs = reinterpret_cast<KnobValue*>(rest);
  const uint32_t count = space == nullptr ? 0 : space->knob_count();
  for (uint32_t k = 0; k < count; ++k) {
    knobs[k] = KnobValue(space->view().knob_id(k), static_cast<uint16_t>(space->value(k, config->choice[k])));
  }
  size_t bytes = layout_of(type).head_bytes + count * sizeof *knobs;
  if (type == FrameType::kCommit) {
    const Span<const int32_t> dims = space->workload().dims;
    const size_t room = (kMaxPayload - bytes) / sizeof *dims.data, kept = dims.size < room ? dims.size : room;
    int32_t* const out = reinterpret_cast<int32_t*>(knobs + count);
    for (size_t i = 0; i < kept; ++i) {
      out[i] = dims[i];
    }
    bytes += kept * sizeof *out;
  }
  return history.append_reserved(type, static_cast<uint32_t>(bytes));
}

// `knobs` is nullptr for types without.
Status read_record(const FrameView& frame, FrameType type, void* head, Span<const KnobValue>* knobs) {
  const Layout& layout = layout_of(type);
  const uint8_t* const payload = frame.payload.data;
  if (frame.type != type || frame.payload.size < layout.head_bytes) {
    return TEMPER_BAD_DATA;
  }
  std::memcpy(head, payload, layout.head_bytes);
  if (knobs == nullptr) {
    return TEMPER_OK;
  }
  const uint32_t count = payload[layout.knob_count_at];
  if (count > TEMPER_MAX_KNOBS || frame.payload.size < layout.head_bytes + count * sizeof(KnobValue)) {
    return TEMPER_BAD_DATA;
  }
  *knobs = {reinterpret_cast<const KnobValue*>(payload + layout.head_bytes), count};
  return TEMPER_OK;
}

uint32_t saturated(uint64_t value) { return value > UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(value); }

}  // namespace

Status append_fingerprint(History& history, const Fingerprint& fingerprint) {
  return append_record(history, FrameType::kFingerprint, &fingerprint, nullptr, nullptr);
}

Status append_workload(History& history, const WorkloadView& workload) {
  const size_t length = std::strlen(workload.name);
  const size_t kept = length < kMaxNameBytes ? length : kMaxNameBytes;
  const format::WorkloadName head(workload.key, workload.flops, workload.count, static_cast<uint16_t>(kept), 0);
  uint8_t* name;
  const Status status = begin_record(history, FrameType::kWorkload, &head, &name);
  if (!status.ok()) {
    return status;
  }
  std::memcpy(name, workload.name, kept);
  return history.append_reserved(FrameType::kWorkload, static_cast<uint32_t>(sizeof head + kept));
}

Status append_intent(History& history, const Space& space, const Config& config) {
  const format::Intent intent(space.workload().key, space.view().id, space.view().version, space.view().knob_count, 0,
                              0);
  return append_record(history, FrameType::kIntent, &intent, &space, &config);
}

Status append_trial(History& history, const Space& space, const Config& config, uint16_t fingerprint,
                    const TrialResult& result) {
  const format::Trial trial(space.workload().key, result.median_ns, saturated(result.spread_ns), result.build_us,
                            space.view().id, space.view().version, fingerprint, static_cast<uint8_t>(result.outcome),
                            result.sample_count, space.view().knob_count, result.is_default ? 1 : 0, 0);
  return append_record(history, FrameType::kTrial, &trial, &space, &config);
}

Status append_commit(History& history, const Space& space, const Config& config, uint16_t fingerprint,
                     const CommitResult& result) {
  const format::Commit commit(space.workload().key, result.default_ns, result.tuned_ns, space.view().id,
                              space.view().version, fingerprint, space.view().knob_count, result.kept_default ? 1 : 0);
  return append_record(history, FrameType::kCommit, &commit, &space, &config);
}

Status read_trial(const FrameView& frame, TrialView* out) {
  const Status status = read_record(frame, FrameType::kTrial, &out->trial, &out->knobs);
  return status.ok() && out->trial.outcome() >= TEMPER_OUTCOME_COUNT ? Status(TEMPER_BAD_DATA) : status;
}

Status read_commit(const FrameView& frame, CommitView* out) {
  const Status status = read_record(frame, FrameType::kCommit, &out->commit, &out->knobs);
  if (status.ok()) {
    const int32_t* const dims = reinterpret_cast<const int32_t*>(out->knobs.end());
    const uint8_t* const end = frame.payload.data + frame.payload.size;
    out->dims = {dims, static_cast<size_t>(end - reinterpret_cast<const uint8_t*>(dims)) / sizeof *dims};
  }
  return status;
}

Status read_intent(const FrameView& frame, IntentView* out) {
  return read_record(frame, FrameType::kIntent, &out->intent, &out->knobs);
}

Status read_fingerprint(const FrameView& frame, Fingerprint* out) {
  return read_record(frame, FrameType::kFingerprint, out, nullptr);
}

Status read_workload(const FrameView& frame, WorkloadNameView* out) {
  const Status status = read_record(frame, FrameType::kWorkload, &out->head, nullptr);
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
  *out = Config();
  for (uint32_t k = 0; k < knobs.size; ++k) {
    const uint16_t id = space.view().knob_id(k);
    const KnobValue* at = knobs.begin();
    while (at->id() != id) {
      if (++at == knobs.end()) {
        return TEMPER_NOT_FOUND;
      }
    }
    if (!space.choose(k, at->value(), out).ok()) {
      return TEMPER_NOT_FOUND;
    }
  }
  return TEMPER_OK;
}

}  // namespace temper
