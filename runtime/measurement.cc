#include "runtime/measurement.h"

namespace temper {
namespace {

// A first call this many times longer than a sample need be counts as one: warming up is a small share of it.
constexpr uint32_t kWarmFactor = 8;
constexpr uint32_t kGrowth = 16;

// Among `count` values that ascend.
void insert(uint32_t* values, uint32_t count, uint32_t fresh) {
  for (; count > 0 && values[count - 1] > fresh; --count) {
    values[count] = values[count - 1];
  }
  values[count] = fresh;
}

// The mean of the middle two where their number is even.
uint32_t median_of(const uint32_t* values, uint32_t count) {
  if (count == 0) {
    return 0;
  }
  const uint32_t low = values[(count - 1) / 2];
  return low + (values[count / 2] - low) / 2;
}

}  // namespace

uint32_t calls_per_sample(uint32_t min_sample, uint32_t per_call) {
  if (per_call >= min_sample) {
    return 1;
  }
  const uint32_t number = per_call == 0 ? kMaxCallsPerSample : (min_sample + per_call - 1) / per_call;
  return number > kMaxCallsPerSample ? kMaxCallsPerSample : number;
}

Measurement::Measurement(const MeasurementLimits* limits, uint32_t incumbent_ns) : limits_(limits) {
  const uint32_t percent = limits->cut_percent;
  const uint64_t cut = uint64_t{incumbent_ns / 100} * percent + incumbent_ns % 100 * percent / 100;
  cut_ = cut >> 32 != 0 ? UINT32_MAX : static_cast<uint32_t>(cut);
}

void Measurement::coarsen() {
  cut_ >>= 1;
  total_ >>= 1;
}

void Measurement::keep(uint32_t elapsed) { insert(samples_, count_++, elapsed < number_ ? 1 : elapsed / number_); }

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
    number_ = calls_per_sample(limits_->min_sample_ns, per_call);
  } else {
    number_ = number_ > kMaxCallsPerSample / kGrowth ? kMaxCallsPerSample : number_ * kGrowth;
  }
}

void Measurement::add(uint32_t elapsed_ns) {
  if (state_ != MeasurementState::kMore) {
    return;
  }
  const uint32_t min_sample = limits_->min_sample_ns;
  total_ = total_ + elapsed_ns < total_ ? UINT32_MAX : total_ + elapsed_ns;
  const bool first = !warm_ && elapsed_ns != 0;
  warm_ = warm_ || first;
  if (first && elapsed_ns / kWarmFactor < min_sample) {
    // A cold call may take twice as long as a warm one; beyond that the candidate is lost already.
    if (cut_ == 0 || number_ != 1 || elapsed_ns < min_sample || elapsed_ns / 2 <= cut_) {
      lengthen(elapsed_ns);
      return;
    }
  } else if (!first && (elapsed_ns == 0 || (number_ < kMaxCallsPerSample && elapsed_ns < min_sample / 4))) {
    lengthen(elapsed_ns);
    return;
  }
  keep(elapsed_ns);
  if (cut_ != 0 && fastest_ns() > cut_) {
    state_ = MeasurementState::kTooSlow;
  } else if (settled()) {
    state_ = MeasurementState::kDone;
  }
}

bool Measurement::settled() const {
  return count_ >= kMaxSamples || count_ >= limits_->max_samples ||
         (count_ >= limits_->min_samples &&
          (total_ >= limits_->max_total_ns ||
           uint64_t{spread_ns()} * 1000 <= uint64_t{median_ns()} * limits_->target_spread_permille));
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

uint32_t Measurement::median_ns() const { return median_of(samples_, count_); }

uint32_t Measurement::spread_ns() const {
  const uint32_t middle = median_ns();
  uint32_t distance[kMaxSamples];
  for (uint32_t i = 0; i < count_; ++i) {
    insert(distance, i, samples_[i] > middle ? samples_[i] - middle : middle - samples_[i]);
  }
  return median_of(distance, count_);
}

}  // namespace temper
