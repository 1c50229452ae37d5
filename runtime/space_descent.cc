// Samples of spaces where hardly any config is legal: run knobs chosen one by one under the interval test. Linked by
// the host's tuner and, on a device, through config.learning alone.
#include "runtime/space.h"

namespace temper {
namespace {

// Interval tests of one knob-by-knob construction, and how many constructions (each from another variant).
constexpr uint32_t kDescentTests = 512;
constexpr uint32_t kDescents = 4;

}  // namespace

bool Space::possible(const Config& config, uint32_t chosen) const {
  if (has_variants() && match_variant(config, chosen) < 0) {
    return false;
  }
  const ProgramInputs inputs{
      template_.constants, workload_.dims, {nullptr, knob_count()}, {facts_->value, TEMPER_FACT_COUNT}};
  Interval* const knobs = scratch_.intervals;
  for (uint32_t k = 0; k < knob_count(); ++k) {
    const bool fixed = k < chosen;
    knobs[k] = {value(k, fixed ? config.choice[k] : 0u), value(k, fixed ? config.choice[k] : choice_count_[k] - 1u)};
  }
  return may_hold(template_.constraint(), inputs, {knobs, knob_count()}, knobs + knob_count());
}

Status Space::sample(Random& random, Config* out) const {
  Sampler sampler;
  Status status = TEMPER_MORE;
  while (status == TEMPER_MORE) {
    status = sample_step(random, &sampler, out, descend);
  }
  return status;
}

Status Space::descend(const Space& space, Random& random, Sampler* sampler) {
  return space.descend_step(random, sampler);
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

}  // namespace temper
