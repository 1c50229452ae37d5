#include "runtime/lookup.h"

#include <cstring>
#include <new>

namespace temper {
namespace {

constexpr uint32_t kCoarse = 1u << 31;
constexpr uint32_t kCoarseShift = 10;

}  // namespace

uint32_t compact_time(uint64_t ns) {
  if (ns < kCoarse) {
    return static_cast<uint32_t>(ns);
  }
  const uint64_t coarse = ns >> kCoarseShift;
  return coarse < kCoarse ? kCoarse | static_cast<uint32_t>(coarse) : UINT32_MAX;
}

[[gnu::noinline]] uint64_t expand_time(uint32_t compact) {
  return compact < kCoarse ? compact : uint64_t{compact & ~kCoarse} << kCoarseShift;
}

uint16_t time_ratio_q15(uint32_t default_time, uint32_t tuned_time) {
  while (default_time > UINT16_MAX) {
    default_time >>= 1;
    tuned_time >>= 1;
  }
  return tuned_time >= default_time ? kWholeQ15 : static_cast<uint16_t>(tuned_time * kWholeQ15 / default_time);
}

uint32_t expand_saturated(uint32_t compact) { return saturated_ns(expand_time(compact)); }

uint32_t saturated_ns(uint64_t ns) { return ns >> 32 != 0 ? UINT32_MAX : static_cast<uint32_t>(ns); }

temper_miss translate(const PackView& pack, const Space& space, uint16_t template_id, uint16_t template_version,
                      const Span<const format::KnobValue>& knobs, Config* config) {
  const TemplateView& view = space.view();
  if (template_id != view.id || template_version != view.version || !config_from_knobs(space, knobs, config).ok()) {
    return TEMPER_MISS_ILLEGAL;
  }
  if (space.legal(*config)) {
    return TEMPER_MISS_NONE;
  }
  return pack.variant_count() > 0 && space.find_variant(*config) < 0 ? TEMPER_MISS_NO_VARIANT : TEMPER_MISS_ILLEGAL;
}

Lookup::Lookup(Arena& arena, const PackView& pack, CurrentSpace* spaces, const Fingerprint* fingerprint,
               Span<const temper_table> tables, const temper_table_functions* reader,
               const temper_nearest_functions* nearest)
    : spaces_(spaces),
      fingerprint_(fingerprint),
      reader_(reader),
      nearest_(nearest),
      table_count_(static_cast<uint32_t>(tables.size)) {
  const uint32_t workload_count = pack.workload_count();
  notes_ = arena.take_array<WorkloadNote>(workload_count);
  if (reader_ != nullptr) {
    tables_ = reader_->open(arena, tables);
  }
  for (uint32_t i = 0; notes_ != nullptr && i < workload_count; ++i) {
    new (&notes_[i])
        WorkloadNote{0, 0, 0, TEMPER_MISS_UNKNOWN_WORKLOAD, 0, {0}, Known::kNothing, TEMPER_MISS_UNKNOWN_WORKLOAD, {}};
  }
}

bool Lookup::agrees(uint32_t ordinal, uint32_t fields) const {
  return ordinal < fingerprints_seen_ && fingerprints_seen_ - ordinal <= kKnownFingerprints &&
         (differs_[ordinal % kKnownFingerprints] & fields) == 0;
}

uint16_t Lookup::own_ordinal(bool* is_new) const {
  const uint32_t last = fingerprints_seen_ - 1;
  *is_new = fingerprints_seen_ == 0 || differs_[last % kKnownFingerprints] != 0;
  return static_cast<uint16_t>(*is_new ? fingerprints_seen_ : last);
}

void Lookup::add_fingerprint(uint32_t differing_fields) {
  differs_[fingerprints_seen_++ % kKnownFingerprints] = static_cast<uint16_t>(differing_fields);
}

void Lookup::drop_fingerprints(uint32_t count) {
  uint16_t moved[kKnownFingerprints];
  for (uint32_t i = 0; i < kKnownFingerprints; ++i) {
    moved[i] = differs_[(i + count) % kKnownFingerprints];
  }
  std::memcpy(differs_, moved, sizeof moved);
  fingerprints_seen_ -= count;
}

void Lookup::offer(const FrameView& frame) {
  if (frame.type == FrameType::kFingerprint) {
    Fingerprint made_on;
    const bool whole = read_fingerprint(frame, &made_on).ok();
    add_fingerprint(whole ? compare(made_on, *fingerprint_) : (1u << kFingerprintFieldCount) - 1);
    return;
  }
  CommitView view;
  if (frame.type == FrameType::kCommit && read_commit(frame, &view).ok()) {
    offer_commit(view);
  }
}

void Lookup::offer_tables() {
  if (nearest_ != nullptr && reader_ != nullptr) {
    reader_->lend(tables_, table_count_, *fingerprint_, *nearest_, spaces_, notes_);
  }
}

void Lookup::offer_commit(const CommitView& view) {
  const PackView& pack = spaces_->pack();
  const format::Commit& commit = view.commit;
  const uint32_t index = pack.find_workload(commit.workload());
  const bool unknown = index == pack.workload_count();
  const uint32_t ordinal = commit.fingerprint();
  const bool known = agrees(ordinal, 0);
  const uint32_t fields = known ? differs_[ordinal % kKnownFingerprints] : 0;
  Config config;
  temper_miss legal = TEMPER_MISS_UNKNOWN_WORKLOAD;
  if (!unknown) {
    legal =
        translate(pack, spaces_->select(index), commit.template_id(), commit.template_version(), view.knobs, &config);
  }
  const temper_miss miss = same_device(ordinal) ? legal : TEMPER_MISS_FINGERPRINT;
  if (miss == TEMPER_MISS_NONE) {
    record(index, config, commit.default_ns(), commit.tuned_ns(), fields);
    return;
  }
  if (known && nearest_ != nullptr) {
    nearest_->offer_commit(spaces_, notes_, index, fields, view);
  }
  if (unknown || notes_[index].miss == TEMPER_MISS_NONE) {
    return;  // of another network, or an earlier commit is valid here
  }
  WorkloadNote& own = notes_[index];
  own.fingerprint_fields = static_cast<uint16_t>(fields);
  own.miss = static_cast<uint8_t>(miss);
  if (legal == TEMPER_MISS_NONE) {
    own.config = config;
    own.known = Known::kElsewhere;
    own.ratio_q15 = time_ratio_q15(compact_time(commit.default_ns()), compact_time(commit.tuned_ns()));
  }
}

void Lookup::record(uint32_t workload, const Config& config, uint64_t default_ns, uint64_t tuned_ns, uint32_t fields) {
  WorkloadNote& own = notes_[workload];
  own.config = config;
  own.default_time = compact_time(default_ns);
  own.tuned_time = compact_time(tuned_ns);
  own.fingerprint_fields = static_cast<uint16_t>(fields);
  own.miss = TEMPER_MISS_NONE;
  own.known = Known::kCommit;
  own.ratio_q15 = time_ratio_q15(own.default_time, own.tuned_time);
  if (nearest_ != nullptr) {
    nearest_->offer_own(spaces_, notes_, workload);
  }
}

Status Lookup::find(uint32_t workload, Config* config, temper_answer* answer) const {
  *answer = {};
  const WorkloadNote& own = notes_[workload];
  const Space& space = spaces_->select(workload);
  Status status;
  answer->table = UINT32_MAX;
  answer->fingerprint_fields[TEMPER_SOURCE_HISTORY] = own.fingerprint_fields;
  temper_miss missed = static_cast<temper_miss>(own.miss);
  if (missed == TEMPER_MISS_UNKNOWN_WORKLOAD && history_ != HistoryState::kIntact) {
    missed = history_ == HistoryState::kAbsent ? TEMPER_MISS_ABSENT : TEMPER_MISS_DAMAGED;
  }
  answer->missed[TEMPER_SOURCE_HISTORY] = missed;
  if (missed == TEMPER_MISS_NONE) {
    *config = own.config;
    answer->default_ns = expand_time(own.default_time);
    answer->tuned_ns = expand_time(own.tuned_time);
  } else {
    for (uint32_t source = TEMPER_SOURCE_TABLE; source < TEMPER_SOURCE_DEFAULT; ++source) {
      answer->missed[source] = TEMPER_MISS_ABSENT;
    }
    if ((reader_ == nullptr ||
         !reader_->find(tables_, table_count_, spaces_->pack(), space, *fingerprint_, config, answer)) &&
        (nearest_ == nullptr || !nearest_->find(own, config, answer))) {
      answer->source = TEMPER_SOURCE_DEFAULT;
      status = spaces_->find_default(workload, config);
    }
  }
  if (status.ok()) {
    answer->knob_count = static_cast<uint8_t>(space.knob_count());
    space.values_of(*config, answer->value);
  }
  return status;
}

}  // namespace temper
