// The default of a Space on this machine: the template's wishes, each moved to a listed value, and where that is
// illegal a legal config near them. A firmware whose pack has default values does not link it.
#include "runtime/space.h"

namespace temper {
namespace {

// Constraint evaluations that the repair of a default may cost, in all and for one variant.
constexpr uint32_t kRepairTries = 2048;
constexpr uint32_t kRepairTriesPerVariant = 256;
// Any fixed number: the default must be the same on every run.
constexpr uint64_t kDefaultSeed = 0x7E3A;

constexpr bool kDownThenUp[] = {true, false};

uint32_t distance_of(uint32_t a, uint32_t b) { return a > b ? a - b : b - a; }

}  // namespace

uint8_t Space::choice_of(uint32_t knob, int32_t wish) const {
  uint32_t choice = 0;
  while (choice + 1 < choice_count_[knob] && value(knob, choice + 1) <= wish) {
    ++choice;
  }
  return static_cast<uint8_t>(choice);
}

void Space::wish(uint32_t first, Config* config) const {
  // In order, so that the wish for a knob may read the choices of those before it.
  for (uint32_t k = first; k < knob_count(); ++k) {
    run(template_.defaults(), *config);
    config->choice[k] = choice_of(k, results()[template_.defaults().outputs[k]]);
  }
}

bool Space::next_nearest_variant(const Config& wished, uint32_t* rank, Config* config) const {
  if (!has_variants()) {
    *config = wished;
    return (*rank)++ == 0;
  }
  // Rank: distance, then index. One scan finds the smallest above the last one given out.
  constexpr uint32_t kNone = UINT32_MAX;
  uint32_t best = kNone;
  for (uint32_t i = 0; i < pack_->variant_count(); ++i) {
    if (pack_->variant(i).template_index != workload_.template_index) {
      continue;
    }
    Config candidate = wished;
    use_variant(i, &candidate);
    uint32_t apart = 0;
    for (uint32_t k = 0; k < template_.compile_knob_count; ++k) {
      apart += distance_of(candidate.choice[k], wished.choice[k]);
    }
    const uint32_t own = (apart << 16 | (i & 0xFFFFu)) + 1;
    if (own > *rank && own < best) {
      best = own;
      *config = candidate;
    }
  }
  *rank = best;
  return best != kNone;
}

bool Space::step(const Config& from, uint32_t knob, int32_t by, Config* out) const {
  const int32_t choice = from.choice[knob] + by;
  if (choice < 0 || choice >= choice_count_[knob]) {
    return false;
  }
  *out = from;
  out->choice[knob] = static_cast<uint8_t>(choice);
  return true;
}

bool Space::repair_pairs(const Config& base, uint32_t knob, int32_t by, uint32_t rest, uint32_t* tries,
                         Config* out) const {
  Config one;
  if (*tries == 0 || !step(base, knob, by, &one)) {
    return false;
  }
  if (rest == 0) {
    --*tries;
    *out = one;
    return legal(one);
  }
  for (uint32_t other = knob + 1; other < knob_count() && *tries != 0; ++other) {
    const int32_t apart = static_cast<int32_t>(rest);
    for (const bool down : kDownThenUp) {
      if (*tries != 0 && step(one, other, down ? -apart : apart, out)) {
        --*tries;
        if (legal(*out)) {
          return true;
        }
      }
    }
  }
  return false;
}

bool Space::repair(const Config& base, uint32_t first, uint32_t* tries, Config* out) const {
  constexpr uint32_t kFarthest = 2 * (kMaxKnobValues - 1);
  for (uint32_t distance = 1; distance <= kFarthest && *tries != 0; ++distance) {
    for (uint32_t knob = first; knob < knob_count() && *tries != 0; ++knob) {
      for (uint32_t part = distance; part > 0; --part) {
        const int32_t by = static_cast<int32_t>(part);
        if (repair_pairs(base, knob, -by, distance - part, tries, out) ||
            repair_pairs(base, knob, by, distance - part, tries, out)) {
          return true;
        }
      }
    }
  }
  return false;
}

Status Space::default_config(Config* out) const {
  if (template_.defaults().outputs.empty() && knob_count() != 0) {
    Random random(kDefaultSeed);
    const Status nominal = nominal_default(out);
    return nominal.ok() ? nominal : sample(random, out);
  }
  const uint32_t first = first_run_knob();
  Config wished;
  wish(0, &wished);
  Config candidate;
  for (uint32_t rank = 0; next_nearest_variant(wished, &rank, &candidate);) {
    wish(first, &candidate);
    if (legal(candidate)) {
      *out = candidate;
      return TEMPER_OK;
    }
  }
  const uint32_t share = has_variants() ? kRepairTriesPerVariant : kRepairTries;
  uint32_t left = kRepairTries;
  for (uint32_t rank = 0; left >= share && next_nearest_variant(wished, &rank, &candidate); left -= share) {
    wish(first, &candidate);
    uint32_t tries = share;
    if (repair(candidate, first, &tries, out)) {
      return TEMPER_OK;
    }
  }
  Random random(kDefaultSeed);
  return sample(random, out);
}

}  // namespace temper
