#include "runtime/long_times.h"

#include <new>

namespace temper {
namespace {

constexpr uint32_t kMostUnits = (1u << 30) - 1;  // a time below, and a few times it too, is exact in 32 bits

uint8_t shift_for(uint64_t ns, uint8_t at_least) {
  while (ns >> at_least > kMostUnits) {
    ++at_least;
  }
  return at_least;
}

uint32_t saturated(uint64_t value) { return value >> 32 != 0 ? UINT32_MAX : static_cast<uint32_t>(value); }

}  // namespace

LongMeasurement::LongMeasurement(const MeasurementLimits& limits, uint64_t incumbent_ns)
    : limits_(limits), shift_(shift_for(incumbent_ns, 0)) {
  limits_.min_sample_ns = saturated(uint64_t{limits.min_sample_ns} >> shift_);
  limits_.max_total_ns = saturated(uint64_t{limits.max_total_ns} >> shift_);
  new (&measurement_) Measurement(&limits_, saturated(incumbent_ns >> shift_));
}

void LongMeasurement::add(uint64_t elapsed_ns) {
  const uint8_t wanted = measurement_.sample_count() == 0 ? shift_for(elapsed_ns, shift_) : shift_;
  for (; shift_ < wanted; ++shift_) {
    limits_.min_sample_ns >>= 1;
    limits_.max_total_ns >>= 1;
    measurement_.coarsen();
  }
  measurement_.add(saturated(elapsed_ns >> shift_));
}

LongComparison::LongComparison(uint64_t expected_ns, uint16_t min_gain_permille) : shift_(shift_for(expected_ns, 0)) {
  new (&comparison_) PairedComparison(saturated(expected_ns >> shift_), min_gain_permille);
}

void LongComparison::add(uint32_t contestant, uint64_t elapsed_ns, uint32_t calls) {
  comparison_.add(contestant, saturated(elapsed_ns >> shift_), calls);
}

}  // namespace temper
