// What measured trials teach on top of the cost model, and the table through which searchers reach it.
#include <new>

#include "runtime/learning.h"
#include "temper/temper.h"

namespace temper {
namespace {

// Variances in 1/1024 of a squared log2: effects and the cost model's slope start with a deviation of 0.5.
constexpr int32_t kPriorVariance = 255;
constexpr int32_t kNoiseVariance = 100;  // what the linear model leaves unexplained
constexpr int32_t kMeanVariance = 1024;
constexpr int32_t kMaxSurprise = 4 * 256;
constexpr int32_t kMaxEffect = 8 * 256;

int32_t clamp(int32_t value, int32_t low, int32_t high) { return value < low ? low : value > high ? high : value; }

}  // namespace

TrialModel::TrialModel(Arena& arena, const TemplateView& view)
    : slope_variance_(kPriorVariance), mean_variance_(kMeanVariance) {
  size_t count = 0;
  for (uint32_t knob = 0; knob < view.knob_count; ++knob) {
    count += view.values(knob).size;
  }
  entry_ = arena.take_array<Entry>(count);
  for (size_t i = 0; entry_ != nullptr && i < count; ++i) {
    entry_[i] = Entry{0, kPriorVariance, 0, 0, 0};
  }
}

TrialModel* TrialModel::place(Arena& arena, const TemplateView& view) {
  void* const memory = arena.take(sizeof(TrialModel), alignof(TrialModel));
  const TrialModel model(arena, view);
  return memory == nullptr || model.entry_ == nullptr ? nullptr : new (memory) TrialModel(model);
}

int32_t TrialModel::adjust(const Space& space, const Config& config, int32_t predicted_q8, uint32_t explore_q8) const {
  int32_t sum = 0;
  int32_t penalty = 0;
  int32_t unknown = 0;
  const Entry* choices = entry_;
  for (uint32_t knob = 0; knob < space.knob_count(); choices += space.choice_count(knob++)) {
    const Entry& entry = choices[config.choice[knob]];
    sum += entry.effect_q8;
    penalty += entry.penalty;
    unknown += entry.variance;
  }
  const int32_t distance = clamp(predicted_q8 - first_predicted_q8_, -kMaxEffect * 4, kMaxEffect * 4);
  return sum + 16 * penalty - ((unknown * static_cast<int32_t>(explore_q8)) >> 8) +
         ((distance * (slope_q8_ - 256)) >> 8);
}

void TrialModel::learn(const Space& space, const Config& config, temper_outcome outcome, int32_t predicted_q8,
                       uint64_t time_ns) {
  const bool valid = has_time(outcome);
  learn_validity(space, config, valid);
  if (valid && time_ns != 0) {
    learn_time(space, config, predicted_q8, time_ns, outcome == TEMPER_OUTCOME_TOO_SLOW);
  }
}

void TrialModel::learn_time(const Space& space, const Config& config, int32_t predicted_q8, uint64_t time_ns,
                            bool lower_bound) {
  const int32_t measured = log2_q8(time_ns);
  if (!started_) {
    started_ = true;
    mean_q8_ = measured;
    first_predicted_q8_ = predicted_q8;
    return;
  }
  const int32_t distance = clamp(predicted_q8 - first_predicted_q8_, -kMaxEffect, kMaxEffect);  // 2^11
  int32_t expected = mean_q8_ + ((distance * slope_q8_) >> 8);
  const int32_t slope_gain = (slope_variance_ * (distance >> 2)) >> 6;  // below 2^11
  int32_t total = kNoiseVariance + mean_variance_ + ((slope_gain * (distance >> 2)) >> 6);
  const Entry* choices = entry_;
  for (uint32_t knob = 0; knob < space.knob_count(); choices += space.choice_count(knob++)) {
    const Entry& entry = choices[config.choice[knob]];
    expected += entry.effect_q8;
    total += entry.variance;
  }
  const int32_t surprise = clamp(measured - expected, -kMaxSurprise, kMaxSurprise);
  if (lower_bound && surprise <= 0) {
    return;
  }
  mean_q8_ += surprise * mean_variance_ / total;
  mean_variance_ -= mean_variance_ * mean_variance_ / total;
  slope_q8_ = clamp(slope_q8_ + surprise * slope_gain / total, 0, 512);
  slope_variance_ -= slope_gain * slope_gain / total;
  slope_variance_ = slope_variance_ < 1 ? 1 : slope_variance_;
  Entry* own = entry_;
  for (uint32_t knob = 0; knob < space.knob_count(); own += space.choice_count(knob++)) {
    Entry& entry = own[config.choice[knob]];
    const int32_t variance = entry.variance;
    entry.effect_q8 =
        static_cast<int16_t>(clamp(entry.effect_q8 + surprise * variance / total, -kMaxEffect, kMaxEffect));
    entry.variance = static_cast<uint8_t>(variance - variance * variance / total);
  }
}

void TrialModel::learn_validity(const Space& space, const Config& config, bool valid) {
  Entry* own = entry_;
  for (uint32_t knob = 0; knob < space.knob_count(); own += space.choice_count(knob++)) {
    Entry& entry = own[config.choice[knob]];
    uint8_t& count = valid ? entry.worked : entry.failed;
    if (count == UINT8_MAX) {
      entry.failed /= 2;
      entry.worked /= 2;
    }
    ++count;
  }
  uint16_t& count = valid ? worked_ : failed_;
  count = count == UINT16_MAX ? count : static_cast<uint16_t>(count + 1);
  if (failed_ != 0) {
    update_penalties(space);
  }
}

// Observed: failures come from one or two choices together (too many registers, too much memory). A choice whose
// configs fail more often than all do is penalised by how much more; one that never worked in three tries, four times
// as hard. Where failures depend on many knobs at once this learns nothing, and costs nothing.
void TrialModel::update_penalties(const Space& space) {
  const uint32_t base = 256u * failed_ / (failed_ + worked_ + 1u);
  Entry* next = entry_;
  for (uint32_t knob = 0; knob < space.knob_count(); ++knob) {
    for (uint32_t choice = 0; choice < space.choice_count(knob); ++choice) {
      Entry& entry = *next++;
      const uint32_t share = 256u * entry.failed / (entry.failed + entry.worked + 1u);
      const uint32_t excess = share > base ? share - base : 0;
      const uint32_t weight = entry.worked == 0 && entry.failed >= 3 ? 2 : 8;
      const uint32_t penalty = excess / weight;
      entry.penalty = static_cast<uint8_t>(penalty > 255 ? 255 : penalty);
    }
  }
}

}  // namespace temper

const temper_learning_functions temper_learning = {
    temper::TrialModel::place,
    [](const temper::TrialModel& model, const temper::Space& space, const temper::Config& config, int32_t predicted_q8,
       uint32_t explore_q8) { return model.adjust(space, config, predicted_q8, explore_q8); },
    [](temper::TrialModel& model, const temper::Space& space, const temper::Config& config, temper_outcome outcome,
       int32_t predicted_q8, uint64_t time_ns) { model.learn(space, config, outcome, predicted_q8, time_ns); },
    temper::Space::descend,
};
