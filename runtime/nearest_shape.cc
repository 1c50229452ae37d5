// Configs borrowed from other shapes: what config.nearest points to. See runtime/lookup.h.
#include "runtime/current_space.h"
#include "runtime/lookup.h"

namespace temper {
namespace {

constexpr uint32_t kFarthest = UINT8_MAX;  // the distance of what lends nothing
constexpr uint32_t kStepsQ8 = 256 / 4;     // of a distance, in Q8

// Observed: what is best for a shape depends on the ratio of its extents to those of caches and tiles, so extents are
// compared by their ratio: the distance is the sum of |log2 a - log2 b| over the extents, in steps of 1/4, rounded up,
// so that only equal extents are at distance 0. Parameters (kernel size, stride, padding, epilogue) must be equal. What
// follows from both, strides above all, is not compared, but for 0 and 1: a tensor that is not there, or whose elements
// lie side by side, is another layout. Where it stops working: a shape just across the size of a cache.
uint32_t distance(const format::DimRoles& roles, Span<const int32_t> from, Span<const int32_t> to) {
  uint64_t extents = roles.extents(), parameters = roles.parameters();
  uint32_t apart_q8 = extents == 0 ? kFarthest * kStepsQ8 : 0;
  for (uint32_t i = 0; i < from.size && i < to.size; ++i, extents >>= 1, parameters >>= 1) {
    const uint32_t a = static_cast<uint32_t>(from[i]), b = static_cast<uint32_t>(to[i]);
    if (a == b) {
      continue;
    }
    const bool extent = (extents & 1u) != 0;
    if ((parameters & 1u) != 0 || (!extent && (a <= 1 || b <= 1))) {
      return kFarthest;
    }
    if (extent) {
      const int32_t ratio_q8 = log2_q8(a) - log2_q8(b);
      apart_q8 += static_cast<uint32_t>(ratio_q8 < 0 ? -ratio_q8 : ratio_q8);
    }
  }
  const uint32_t steps = (apart_q8 + kStepsQ8 - 1) / kStepsQ8;
  return extents != 0 || steps > kFarthest ? kFarthest : steps;  // an extent that is not told: unknown
}

void offer(CurrentSpace* spaces, WorkloadNote* notes, uint32_t from, const Lender& lender) {
  const PackView& pack = spaces->pack();
  const uint32_t count = pack.workload_count();
  const Span<const int32_t> dims = from < count ? pack.workload(from).dims : lender.dims;
  for (uint32_t i = 0; i < count; ++i) {
    WorkloadNote& note = notes[i];
    const WorkloadView workload = pack.workload(i);
    if (note.known > Known::kNearest || workload.template_index >= pack.dim_roles().size) {
      continue;
    }
    const format::DimRoles& roles = pack.dim_roles()[workload.template_index];
    if (roles.template_id() != lender.template_id || roles.template_version() != lender.template_version) {
      continue;
    }
    const uint32_t apart = distance(roles, dims, workload.dims);
    const bool known = note.known == Known::kNearest;
    if (apart >= kFarthest || (known && apart > note.distance)) {
      continue;
    }
    Config config;
    const temper_miss miss =
        translate(pack, spaces->select(i), lender.template_id, lender.template_version, lender.knobs, &config);
    if (miss == TEMPER_MISS_NONE) {
      note.known = Known::kNearest;
      note.lender_fields = lender.fingerprint_fields;
      note.config = config;
      note.distance = static_cast<uint8_t>(apart);
    } else if (!known && miss > note.distance) {
      note.distance = static_cast<uint8_t>(miss);
    }
  }
}

void offer_commit(CurrentSpace* spaces, WorkloadNote* notes, uint32_t workload, uint32_t fields,
                  const CommitView& view) {
  const format::Commit& commit = view.commit;
  if ((fields & kFingerprintClass) != 0 || !beats_default(commit.default_ns(), commit.tuned_ns())) {
    return;
  }
  offer(spaces, notes, workload,
        {commit.template_id(), commit.template_version(), static_cast<uint16_t>(fields), view.knobs, view.dims});
}

void offer_own(CurrentSpace* spaces, WorkloadNote* notes, uint32_t workload) {
  const WorkloadNote& note = notes[workload];
  if (!beats_default(note.default_time, note.tuned_time)) {
    return;
  }
  const Space& space = spaces->select(workload);
  const uint16_t id = space.view().id, version = space.view().version;
  const uint32_t count = space.knob_count();
  format::KnobValue knobs[TEMPER_MAX_KNOBS];
  for (uint32_t k = 0; k < count; ++k) {
    knobs[k] = format::KnobValue(space.view().knob_id(k), static_cast<uint16_t>(space.value(k, note.config.choice[k])));
  }
  offer(spaces, notes, workload, {id, version, note.fingerprint_fields, {knobs, count}, {}});
}

// A commit for the workload itself, made on another device of this class, is the nearest shape there can be.
bool find(const WorkloadNote& note, Config* config, temper_answer* answer) {
  temper_miss& missed = answer->missed[TEMPER_SOURCE_NEAREST];
  if (note.known == Known::kNothing) {
    missed = static_cast<temper_miss>(note.distance);
    return false;
  }
  const uint16_t fields = note.known == Known::kNearest ? note.lender_fields : note.fingerprint_fields;
  answer->fingerprint_fields[TEMPER_SOURCE_NEAREST] = fields;
  missed = (fields & kFingerprintClass) == 0 ? TEMPER_MISS_NONE : TEMPER_MISS_FINGERPRINT;
  answer->source = TEMPER_SOURCE_NEAREST;
  *config = note.config;
  return missed == TEMPER_MISS_NONE;
}

}  // namespace
}  // namespace temper

extern const temper_nearest_functions temper_nearest_shape = {temper::offer, temper::offer_commit, temper::offer_own,
                                                              temper::find};
