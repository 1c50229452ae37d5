#include "runtime/space.h"

namespace temper {
namespace {

int32_t clamp_int(int32_t value, int32_t low, int32_t high) {
  if (value < low) {
    return low;
  }
  return value > high ? high : value;
}

}  // namespace

Space::Space(const PackView* pack, uint32_t workload, const temper_facts* facts, Scratch scratch)
    : pack_(pack),
      facts_(facts),
      scratch_(scratch),
      workload_(pack->workload(workload)),
      template_(pack->get_template(workload_.template_index)) {
  for (uint32_t k = 0; k < knob_count(); ++k) {
    const Span<const uint16_t> values = template_.values(k);
    choice_count_[k] = static_cast<uint8_t>(values.size);
    choices_[k] = values.data;
  }
  for (uint32_t i = 0; i < pack->variant_count(); ++i) {
    variant_count_ += pack->variant(i).template_index == workload_.template_index ? 1u : 0u;
  }
}

uint64_t Space::size() const {
  uint32_t low = 1;
  uint32_t high = 0;
  for (uint32_t k = 0; k < knob_count(); ++k) {
    // Two halves, so that no 64-bit overflow has to be detected: counts are at most 64.
    const uint64_t low_product = static_cast<uint64_t>(low) * choice_count_[k];
    const uint64_t high_product = static_cast<uint64_t>(high) * choice_count_[k] + (low_product >> 32);
    if (high_product > UINT32_MAX) {
      return UINT64_MAX;
    }
    low = static_cast<uint32_t>(low_product);
    high = static_cast<uint32_t>(high_product);
  }
  return static_cast<uint64_t>(high) << 32 | low;
}

bool Space::larger_than(uint32_t configs) const {
  uint32_t product = 1;
  for (uint32_t k = 0; k < knob_count() && product <= configs; ++k) {
    product *= choice_count_[k];  // at most 64 times what fitted
  }
  return product > configs;
}

ProgramInputs Space::inputs(const Config& config) const {
  values_of(config, scratch_.values);
  return {template_.constants, workload_.dims, {scratch_.values, knob_count()}, {facts_->value, TEMPER_FACT_COUNT}};
}

void Space::run(const Program& program, const Config& config) const { evaluate(program, inputs(config), results()); }

bool Space::legal(const Config& config) const {
  return (!has_variants() || find_variant(config) >= 0) && holds(template_.constraint(), inputs(config), results());
}

bool Space::has_variants() const { return pack_->variant_count() != 0; }

int32_t Space::match_variant(const Config& config, uint32_t chosen, uint32_t skipped) const {
  const uint32_t compared = chosen < template_.compile_knob_count ? chosen : template_.compile_knob_count;
  for (uint32_t i = 0; i < pack_->variant_count(); ++i) {
    const VariantView variant = pack_->variant(i);
    if (variant.template_index != workload_.template_index) {
      continue;
    }
    uint32_t k = 0;
    while (k < compared && variant.values[k] == value(k, config.choice[k])) {
      ++k;
    }
    if (k == compared && skipped-- == 0) {
      return static_cast<int32_t>(i);
    }
  }
  return -1;
}

int32_t Space::find_variant(const Config& config) const { return match_variant(config, template_.compile_knob_count); }

bool Space::next(Config* config) const {
  for (uint32_t k = knob_count(); k-- > 0;) {
    if (config->choice[k] + 1u < choice_count_[k]) {
      ++config->choice[k];
      return true;
    }
    config->choice[k] = 0;
  }
  return false;
}

void Space::shape(const Config& config, Shape* out) const {
  run(template_.shape(), config);
  const auto result = [this](uint32_t j) { return results()[template_.shape().outputs[j]]; };
  out->grid = result(0);
  out->workspace_bytes = result(1);
  const int32_t packed = result(2);
  // The output is never packed: it stands for a tensor number that does not exist, which make_plan refuses.
  out->packed_tensor = packed > 0 && packed <= TEMPER_TENSOR_COUNT ? static_cast<temper_tensor>(packed) : TEMPER_OUT;
  for (uint32_t i = 0; i < 11; ++i) {
    out->pack_layout[i] = result(3 + i);
  }
  out->memory = template_.shape().outputs.size > kShapeOutputs ? result(kShapeOutputs) : 0;
}

uint32_t Space::features(const Config& config, uint8_t out[kMaxFeatures]) const {
  run(template_.features(), config);
  const Span<const uint8_t> outputs = template_.features().outputs;
  for (size_t j = 0; j < outputs.size; ++j) {
    out[j] = static_cast<uint8_t>(clamp_int(results()[outputs[j]], 0, UINT8_MAX));
  }
  return static_cast<uint32_t>(outputs.size);
}

int32_t Space::prior_q8(const Config& config) const {
  run(template_.prior(), config);
  return results()[template_.prior().outputs[0]];
}

void Space::values_of(const Config& config, int32_t out[TEMPER_MAX_KNOBS]) const {
  for (uint32_t k = 0; k < knob_count(); ++k) {
    out[k] = value(k, config.choice[k]);
  }
}

Status Space::nominal_default(Config* out) const {
  *out = Config();
  return !workload_.default_values.empty() && choose_all(workload_.default_values, out) && legal(*out)
             ? TEMPER_OK
             : TEMPER_NOT_FOUND;
}

bool Space::choose_all(Span<const uint16_t> values, Config* config) const {
  uint32_t k = 0;
  while (k < values.size && choose(k, values[k], config).ok()) {
    ++k;
  }
  return k == values.size;
}

Status Space::choose(uint32_t knob, uint16_t value, Config* config) const {
  for (uint32_t choice = 0; choice < choice_count_[knob]; ++choice) {
    if (choices_[knob][choice] == value) {
      config->choice[knob] = static_cast<uint8_t>(choice);
      return {};
    }
  }
  return TEMPER_NOT_FOUND;
}

}  // namespace temper
