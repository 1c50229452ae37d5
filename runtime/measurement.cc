#include "runtime/measurement.h"

namespace temper {
namespace {

// A first call this many times longer than a sample need be counts as one: warming up is a small share of it.
constexpr uint32_t kWarmFactor = 8;
constexpr uint32_t kGrowth = 16;
constexpr uint32_t kMaxScaled = (1u << 30) - 1;

}  // namespace

uint32_t sort_median(Span<uint32_t> values) {
  for (size_t i = 1; i < values.size; ++i) {
    const uint32_t value = values[i];
    size_t j = i;
    for (; j > 0 && values[j - 1] > value; --j) {
      values[j] = values[j - 1];
    }
    values[j] = value;
  }
  if (values.empty()) {
    return 0;
  }
  const uint32_t low = values[(values.size - 1) / 2];
  return low + (values[values.size / 2] - low) / 2;
}

uint32_t calls_per_sample(uint32_t min_sample, uint64_t per_call) {
  if (per_call >= min_sample) {
    return 1;
  }
  const uint32_t each = static_cast<uint32_t>(per_call);
  const uint32_t number = each == 0 ? kMaxCallsPerSample : (min_sample + each - 1) / each;
  return number > kMaxCallsPerSample ? kMaxCallsPerSample : number;
}

Measurement::Measurement(const MeasurementLimits& limits, uint64_t incumbent_ns)
    : min_sample_(limits.min_sample_ns),
      max_total_(limits.max_total_ns),
      min_samples_(limits.min_samples == 0 ? uint8_t{1} : limits.min_samples),
      max_samples_(limits.max_samples == 0 || limits.max_samples > kMaxSamples ? uint8_t{kMaxSamples}
                                                                               : limits.max_samples),
      target_spread_permille_(limits.target_spread_permille) {
  min_samples_ = min_samples_ > max_samples_ ? max_samples_ : min_samples_;
  const uint32_t incumbent = scale(incumbent_ns);
  cut_ = incumbent / 100 * limits.cut_percent + incumbent % 100 * limits.cut_percent / 100;
}

// The time in this measurement's unit, saturated. Until a sample is kept the unit grows with what is to be told.
uint32_t Measurement::scale(uint64_t ns) {
  while (count_ == 0 && ns >> shift_ > kMaxScaled) {
    ++shift_;
    cut_ >>= 1;
    total_ >>= 1;
    min_sample_ >>= 1;
    max_total_ >>= 1;
  }
  const uint64_t scaled = ns >> shift_;
  return scaled >> 32 != 0 ? UINT32_MAX : static_cast<uint32_t>(scaled);
}

void Measurement::keep(uint32_t elapsed) {
  const uint32_t per_call = elapsed < number_ ? 1 : elapsed / number_;
  samples_[count_++] = per_call;
  fastest_ = fastest_ == 0 || per_call < fastest_ ? per_call : fastest_;
}

void Measurement::lengthen(uint32_t elapsed) {
  if (elapsed == 0 && number_ >= kMaxCallsPerSample) {
    clock_stands_ = true;
    keep(1);
    state_ = MeasurementState::kDone;
    return;
  }
  const uint32_t per_call = elapsed / number_;
  // An unresolved time says nothing of the next one, so growth is stepwise until the clock moves.
  if (per_call != 0) {
    number_ = calls_per_sample(min_sample_, per_call);
  } else {
    number_ = number_ > kMaxCallsPerSample / kGrowth ? kMaxCallsPerSample : number_ * kGrowth;
  }
}

void Measurement::add(uint64_t elapsed_ns) {
  if (state_ != MeasurementState::kMore) {
    return;
  }
  const uint32_t elapsed = scale(elapsed_ns);
  total_ = total_ + elapsed < total_ ? UINT32_MAX : total_ + elapsed;
  const bool first = !warm_ && elapsed != 0;
  warm_ = warm_ || first;
  if (first && elapsed < min_sample_ * kWarmFactor) {
    // A cold call may take twice as long as a warm one; beyond that the candidate is lost already.
    if (cut_ == 0 || number_ != 1 || elapsed < min_sample_ || elapsed / 2 <= cut_) {
      lengthen(elapsed);
      return;
    }
  } else if (!first && (elapsed == 0 || (number_ < kMaxCallsPerSample && elapsed < min_sample_ / 4))) {
    lengthen(elapsed);
    return;
  }
  keep(elapsed);
  if (cut_ != 0 && fastest_ > cut_) {
    state_ = MeasurementState::kTooSlow;
  } else if (settled()) {
    state_ = MeasurementState::kDone;
  }
}

bool Measurement::settled() const {
  return count_ >= max_samples_ ||
         (count_ >= min_samples_ &&
          (total_ >= max_total_ || uint64_t{spread()} * 1000 <= uint64_t{median()} * target_spread_permille_));
}

bool Measurement::finish() {
  if (count_ == 0) {
    return false;
  }
  if (state_ == MeasurementState::kMore) {
    state_ = MeasurementState::kDone;
  }
  return true;
}

uint32_t Measurement::median() const {
  uint32_t sorted[kMaxSamples];
  for (uint32_t i = 0; i < count_; ++i) {
    sorted[i] = samples_[i];
  }
  return sort_median({sorted, count_});
}

uint32_t Measurement::spread() const {
  const uint32_t middle = median();
  uint32_t distance[kMaxSamples];
  for (uint32_t i = 0; i < count_; ++i) {
    distance[i] = samples_[i] > middle ? samples_[i] - middle : middle - samples_[i];
  }
  return sort_median({distance, count_});
}

uint64_t Measurement::median_ns() const { return uint64_t{median()} << shift_; }
uint64_t Measurement::spread_ns() const { return uint64_t{spread()} << shift_; }

}  // namespace temper
