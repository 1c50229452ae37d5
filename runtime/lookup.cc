#include "runtime/lookup.h"

#include <new>

namespace temper {
namespace {

/// Whether persisted knobs mean a config that is legal and served here; if not, why.
temper_miss translate(const PackView& pack, const Space& space, uint16_t template_id, uint16_t template_version,
                      Span<const format::KnobValue> knobs, Config* config) {
  const TemplateView& view = space.view();
  if (template_id != view.id || template_version != view.version) {
    return TEMPER_MISS_ILLEGAL;
  }
  if (!config_from_knobs(space, knobs, config).ok()) {
    return TEMPER_MISS_ILLEGAL;
  }
  if (space.legal(*config)) {
    return TEMPER_MISS_NONE;
  }
  return pack.variant_count() > 0 && space.find_variant(*config) < 0 ? TEMPER_MISS_NO_VARIANT : TEMPER_MISS_ILLEGAL;
}

}  // namespace

Lookup::Lookup(Arena& arena, const PackView* pack, const Fingerprint* fingerprint, Span<const temper_table> tables)
    : pack_(pack), fingerprint_(fingerprint), table_count_(static_cast<uint32_t>(tables.size)) {
  const uint32_t workload_count = pack->workload_count();
  commits_ = arena.take_array<Commit>(workload_count);
  tables_ = arena.take_array<TableView>(table_count_);
  table_whole_ = arena.take_array<bool>(table_count_);
  if (commits_ == nullptr || (table_count_ > 0 && table_whole_ == nullptr)) {
    return;
  }
  for (uint32_t i = 0; i < workload_count; ++i) {
    new (&commits_[i]) Commit{{}, 0, 0, 0, TEMPER_MISS_UNKNOWN_WORKLOAD};
  }
  for (uint32_t i = 0; i < table_count_; ++i) {
    new (&tables_[i]) TableView();
    table_whole_[i] = TableView::open(tables[i], &tables_[i], nullptr).ok();
  }
}

void Lookup::offer(const FrameView& frame, Span<const Space> spaces) {
  if (frame.type == FrameType::kFingerprint) {
    Fingerprint made_on;
    const bool whole = read_fingerprint(frame, &made_on).ok();
    const uint32_t all = (1u << kFingerprintFieldCount) - 1;
    differs_[fingerprints_seen_ % kKnownFingerprints] =
        static_cast<uint16_t>(whole ? compare(made_on, *fingerprint_) : all);
    ++fingerprints_seen_;
    return;
  }
  CommitView view;
  if (frame.type == FrameType::kCommit && read_commit(frame, &view).ok()) {
    offer_commit(view, spaces);
  }
}

void Lookup::offer_commit(const CommitView& view, Span<const Space> spaces) {
  uint32_t index = 0;
  while (index < spaces.size && spaces[index].workload().key != view.commit.workload()) {
    ++index;
  }
  if (index == spaces.size) {
    return;
  }
  Commit& commit = commits_[index];
  const uint32_t ordinal = view.commit.fingerprint();
  Config config;
  temper_miss miss = TEMPER_MISS_FINGERPRINT;
  uint32_t fields = 0;
  if (ordinal < fingerprints_seen_ && fingerprints_seen_ - ordinal <= kKnownFingerprints) {
    fields = differs_[ordinal % kKnownFingerprints];
    if ((fields & kFingerprintDecisive) == 0) {
      miss = translate(*pack_, spaces[index], view.commit.template_id(), view.commit.template_version(), view.knobs,
                       &config);
    }
  }
  if (miss != TEMPER_MISS_NONE && commit.miss == TEMPER_MISS_NONE) {
    return;  // an earlier commit is valid here, this one is not
  }
  commit = {config, view.commit.default_ns(), view.commit.tuned_ns(), fields, miss};
}

void Lookup::record(uint32_t workload, const Config& config, uint64_t default_ns, uint64_t tuned_ns) {
  commits_[workload] = {config, default_ns, tuned_ns, 0, TEMPER_MISS_NONE};
}

temper_miss Lookup::find_in_tables(const Space& space, Config* config, temper_answer* answer) const {
  temper_miss miss = TEMPER_MISS_ABSENT;
  for (uint32_t i = 0; i < table_count_; ++i) {
    if (!table_whole_[i]) {
      miss = TEMPER_MISS_DAMAGED;
      continue;
    }
    TableEntryView entry;
    if (!tables_[i].find(space.workload().key, &entry).ok()) {
      miss = TEMPER_MISS_UNKNOWN_WORKLOAD;
      continue;
    }
    const uint32_t fields = compare(tables_[i].fingerprint(), *fingerprint_);
    if ((fields & kFingerprintDecisive) != 0) {
      answer->fingerprint_fields |= fields;
      miss = TEMPER_MISS_FINGERPRINT;
      continue;
    }
    miss = translate(*pack_, space, entry.template_id, entry.template_version, entry.knobs, config);
    if (miss == TEMPER_MISS_NONE) {
      answer->fingerprint_fields |= fields;
      answer->default_ns = entry.default_ns;
      answer->tuned_ns = entry.tuned_ns;
      return miss;
    }
  }
  return miss;
}

Status Lookup::find(uint32_t workload, const Space& space, Config* config, temper_answer* answer) const {
  *answer = {};
  const Commit& commit = commits_[workload];
  answer->fingerprint_fields = commit.fingerprint_fields;
  temper_miss missed = commit.miss;
  if (missed == TEMPER_MISS_UNKNOWN_WORKLOAD && history_ != HistoryState::kWhole) {
    missed = history_ == HistoryState::kAbsent ? TEMPER_MISS_ABSENT : TEMPER_MISS_DAMAGED;
  }
  answer->missed[TEMPER_SOURCE_HISTORY] = missed;
  if (missed == TEMPER_MISS_NONE) {
    *config = commit.config;
    answer->source = TEMPER_SOURCE_HISTORY;
    answer->default_ns = commit.default_ns;
    answer->tuned_ns = commit.tuned_ns;
  } else {
    answer->missed[TEMPER_SOURCE_TABLE] = find_in_tables(space, config, answer);
    if (answer->missed[TEMPER_SOURCE_TABLE] == TEMPER_MISS_NONE) {
      answer->source = TEMPER_SOURCE_TABLE;
    } else {
      answer->source = TEMPER_SOURCE_DEFAULT;
      const Status status = space.default_config(config);
      if (!status.ok()) {
        return status;
      }
    }
  }
  answer->knob_count = static_cast<uint8_t>(space.knob_count());
  space.values_of(*config, answer->value);
  return {};
}

}  // namespace temper
