// How legal configs are found: samples and neighbours of a Space. All work is bounded by the constants below.
#include "runtime/space.h"

namespace temper {
namespace {

constexpr uint32_t kMutations = 8;  // moves drawn for one that changes something

}  // namespace

void Space::use_variant(uint32_t index, Config* config) const {
  (void)choose_all(pack_->variant(index).values, config);  // packs list them only with values of their knobs
}

bool Space::random_variant(Random& random, Config* config) const {
  const int32_t variant = match_variant(*config, 0, random.below(variant_count_));
  if (variant >= 0) {
    use_variant(static_cast<uint32_t>(variant), config);
  }
  return variant >= 0;
}

Status Space::sample_step(Random& random, Sampler* sampler, Config* out, DescendStep by_descent) const {
  Status status = TEMPER_NOT_FOUND;
  if (sampler->tests++ < kRejectionTries) {
    status = reject_step(random, sampler);
  } else if (by_descent != nullptr) {
    status = by_descent(*this, random, sampler);
  }
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
