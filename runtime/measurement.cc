#include "runtime/measurement.h"

namespace temper {
namespace {

// A first call this many times longer than a sample need be counts as one: warming up is a small share of it.
constexpr uint64_t kWarmFactor = 8;
constexpr uint32_t kGrowth = 16;

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

uint32_t calls_per_sample(uint64_t min_sample_ns, uint64_t per_call_ns) {
  if (per_call_ns >= min_sample_ns) {
    return 1;
  }
  const uint64_t number = per_call_ns == 0 ? kMaxCallsPerSample : (min_sample_ns + per_call_ns - 1) / per_call_ns;
  return number > kMaxCallsPerSample ? kMaxCallsPerSample : static_cast<uint32_t>(number);
}

Measurement::Measurement(const MeasurementLimits& limits, uint64_t incumbent_ns)
    : limits_(limits), incumbent_ns_(incumbent_ns) {
  if (limits_.max_samples == 0 || limits_.max_samples > kMaxSamples) {
    limits_.max_samples = kMaxSamples;
  }
  if (limits_.min_samples == 0) {
    limits_.min_samples = 1;
  }
  if (limits_.min_samples > limits_.max_samples) {
    limits_.min_samples = limits_.max_samples;
  }
}

void Measurement::keep(uint64_t per_call_ns) {
  if (count_ == 0) {
    for (shift_ = 0; per_call_ns >> shift_ >> 30 != 0;) {
      ++shift_;
    }
  }
  const uint64_t scaled = per_call_ns >> shift_;
  samples_[count_++] = scaled > UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(scaled);
  fastest_ns_ = fastest_ns_ == 0 || per_call_ns < fastest_ns_ ? per_call_ns : fastest_ns_;
}

void Measurement::lengthen(uint64_t elapsed_ns) {
  if (elapsed_ns == 0 && number_ >= kMaxCallsPerSample) {
    clock_stands_ = true;
    keep(1);
    state_ = MeasurementState::kDone;
    return;
  }
  const uint64_t per_call = elapsed_ns / number_;
  const uint32_t wanted = calls_per_sample(limits_.min_sample_ns, per_call);
  const uint32_t most = number_ > kMaxCallsPerSample / kGrowth ? kMaxCallsPerSample : number_ * kGrowth;
  // An unresolved time says nothing of the next one, so growth is stepwise until the clock moves.
  number_ = per_call == 0 || wanted > kMaxCallsPerSample ? most : wanted;
}

void Measurement::add(uint64_t elapsed_ns) {
  if (state_ != MeasurementState::kMore) {
    return;
  }
  total_ns_ += elapsed_ns;
  const uint64_t cut_ns = incumbent_ns_ / 100 * limits_.cut_percent + incumbent_ns_ % 100 * limits_.cut_percent / 100;
  if (!warm_ && elapsed_ns != 0) {
    warm_ = true;
    if (elapsed_ns < limits_.min_sample_ns * kWarmFactor) {
      // A cold call may take twice as long as a warm one; beyond that the candidate is lost already.
      if (incumbent_ns_ != 0 && number_ == 1 && elapsed_ns > 2 * cut_ns && elapsed_ns >= limits_.min_sample_ns) {
        keep(elapsed_ns);
        state_ = MeasurementState::kTooSlow;
        return;
      }
      lengthen(elapsed_ns);
      return;
    }
  } else if (elapsed_ns == 0 || (number_ < kMaxCallsPerSample && elapsed_ns < limits_.min_sample_ns / 4)) {
    lengthen(elapsed_ns);
    return;
  }
  keep(elapsed_ns < number_ ? 1 : elapsed_ns / number_);
  if (incumbent_ns_ != 0 && fastest_ns_ > cut_ns) {
    state_ = MeasurementState::kTooSlow;
    return;
  }
  const bool enough = count_ >= limits_.min_samples;
  if (count_ >= limits_.max_samples || (enough && total_ns_ >= limits_.max_total_ns) ||
      (enough && uint64_t{spread()} * 1000 <= uint64_t{median()} * limits_.target_spread_permille)) {
    state_ = MeasurementState::kDone;
  }
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
