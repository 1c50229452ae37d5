// How legal configs are found: the default, samples and neighbours of a Space. All work is bounded by the constants
// below.
#include "runtime/space.h"

namespace temper {
namespace {

// Rejection finds a config with probability 0.87 where one in 1,000 is legal; below that it is not worth more.
constexpr uint32_t kRejectionTries = 2048;
// Interval tests of one knob-by-knob construction, and how many constructions (each from another variant).
constexpr uint32_t kDescentTests = 512;
constexpr uint32_t kDescents = 4;
constexpr uint32_t kMutations = 8;  // moves drawn for one that changes something
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
    run(template_.defaults, *config);
    config->choice[k] = choice_of(k, scratch_.values[template_.defaults.outputs[k]]);
  }
}

void Space::use_variant(uint32_t index, Config* config) const {
  const VariantView variant = pack_->variant(index);
  for (uint32_t k = 0; k < template_.compile_knob_count; ++k) {
    config->choice[k] = choice_of(k, variant.values[k]);
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

bool Space::random_variant(Random& random, Config* config) const {
  uint32_t count = 0;
  for (uint32_t i = 0; i < pack_->variant_count(); ++i) {
    count += pack_->variant(i).template_index == workload_.template_index ? 1u : 0u;
  }
  uint32_t left = random.below(count);
  for (uint32_t i = 0; count != 0 && i < pack_->variant_count(); ++i) {
    if (pack_->variant(i).template_index == workload_.template_index && left-- == 0) {
      use_variant(i, config);
      return true;
    }
  }
  return false;
}

Status Space::sample(Random& random, Config* out) const {
  Sampler sampler;
  Status status = TEMPER_MORE;
  while (status == TEMPER_MORE) {
    status = sample_step(random, &sampler, out);
  }
  return status;
}

Status Space::sample_step(Random& random, Sampler* sampler, Config* out) const {
  const Status status =
      sampler->tests++ < kRejectionTries ? reject_step(random, sampler) : descend_step(random, sampler);
  if (status.ok()) {
    *out = sampler->config;
  }
  if (status != TEMPER_MORE) {
    sampler->tests = 0;
  }
  return status;
}

Status Space::reject_step(Random& random, Sampler* sampler) const {
  Config& config = sampler->config;
  if (has_variants() && !random_variant(random, &config)) {
    return TEMPER_NOT_FOUND;
  }
  for (uint32_t k = first_run_knob(); k < knob_count(); ++k) {
    config.choice[k] = static_cast<uint8_t>(random.below(choice_count_[k]));
  }
  return legal(config) ? TEMPER_OK : TEMPER_MORE;
}

// Chooses the run knobs one by one, each so that the rest stays possible, and steps back where that fails.
Status Space::descend_step(Random& random, Sampler* sampler) const {
  const uint32_t first = first_run_knob();
  const uint32_t test = sampler->tests - kRejectionTries - 1;
  if (first == knob_count() || test >= kDescents * kDescentTests) {
    return TEMPER_NOT_FOUND;
  }
  if (test % kDescentTests == 0) {
    random_variant(random, &sampler->config);
    sampler->upwards = random.next();
    enter_knob(random, first, sampler);
  }
  uint32_t knob = sampler->knob;
  while (sampler->left[knob] == 0) {
    if (knob == first) {  // nothing is left to try: on to the next construction
      sampler->tests = static_cast<uint16_t>(sampler->tests + kDescentTests - 1 - test % kDescentTests);
      return TEMPER_MORE;
    }
    --knob;
  }
  --sampler->left[knob];
  const uint32_t count = choice_count_[knob];
  const uint32_t by = (sampler->upwards >> knob & 1u) != 0 ? 1 : count - 1;
  sampler->config.choice[knob] = static_cast<uint8_t>((sampler->config.choice[knob] + by) % count);
  sampler->knob = static_cast<uint8_t>(knob);
  if (possible(sampler->config, knob + 1)) {
    if (knob + 1 == knob_count()) {
      return TEMPER_OK;  // with every knob chosen the interval test is exact
    }
    enter_knob(random, knob + 1, sampler);
  }
  return TEMPER_MORE;
}

void Space::enter_knob(Random& random, uint32_t knob, Sampler* sampler) const {
  sampler->knob = static_cast<uint8_t>(knob);
  sampler->left[knob] = choice_count_[knob];
  sampler->config.choice[knob] = static_cast<uint8_t>(random.below(choice_count_[knob]));
}

void Space::move(Random& random, uint32_t knob, Config* config) const {
  const uint32_t count = choice_count_[knob];
  const uint32_t old = config->choice[knob];
  uint32_t fresh;
  if (random.below(4) != 0) {
    fresh = random.below(2) != 0 ? old + 1 : old - 1;  // below 0 wraps past the count
  } else {
    fresh = random.below(count);
  }
  if (fresh < count) {
    config->choice[knob] = static_cast<uint8_t>(fresh);
  }
}

Config Space::mutate(Random& random, const Config& from) const {
  // Where the pack has variants their compile knobs move together, as one more knob beside the run knobs.
  const uint32_t first = first_run_knob();
  const uint32_t movable = knob_count() - first + (first != 0 ? 1u : 0u);
  Config config = from;
  uint32_t moves = random.below(4) == 0 ? 2 : 1;
  for (uint32_t tries = 0; tries < kMutations && moves > 0 && movable > 0; ++tries) {
    const uint32_t knob = first + random.below(movable);
    if (knob < knob_count()) {
      move(random, knob, &config);
    } else {
      random_variant(random, &config);
    }
    moves -= config == from ? 0 : 1;
  }
  return config;
}

}  // namespace temper
