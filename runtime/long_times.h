// Measurement and paired comparison for hosts, where a call may take longer than 32 bits of nanoseconds tell: the same
// in a coarser unit, chosen so that times up to a second are exact. Called by the host's tuner; a device needs neither.
#pragma once

#include <cstdint>

#include "runtime/measurement.h"
#include "runtime/paired_comparison.h"

namespace temper {

/// What Measurement is, with times of 64 bits. Until a sample is kept the unit grows with what is to be told.
class LongMeasurement {
 public:
  LongMeasurement() = default;
  LongMeasurement(const MeasurementLimits& limits, uint64_t incumbent_ns);
  LongMeasurement(const LongMeasurement&) = delete;  ///< it points to limits of its own
  LongMeasurement& operator=(const LongMeasurement&) = delete;

  MeasurementState state() const { return measurement_.state(); }
  uint32_t number() const { return measurement_.number(); }
  void add(uint64_t elapsed_ns);
  bool finish() { return measurement_.finish(); }

  uint64_t median_ns() const { return uint64_t{measurement_.median_ns()} << shift_; }
  uint64_t spread_ns() const { return uint64_t{measurement_.spread_ns()} << shift_; }
  uint64_t fastest_ns() const { return uint64_t{measurement_.fastest_ns()} << shift_; }
  uint8_t sample_count() const { return measurement_.sample_count(); }
  bool clock_stands() const { return measurement_.clock_stands(); }

 private:
  MeasurementLimits limits_;  ///< in the unit, 2^shift_ ns
  Measurement measurement_;
  uint8_t shift_ = 0;
};

/// What PairedComparison is, with times of 64 bits.
class LongComparison {
 public:
  LongComparison() = default;
  LongComparison(uint64_t expected_ns, uint16_t min_gain_permille);

  void add(uint32_t contestant, uint64_t elapsed_ns, uint32_t calls);
  void next_round() { comparison_.next_round(); }
  uint32_t round_count() const { return comparison_.round_count(); }
  Verdict verdict(uint32_t contestant, bool last) const { return comparison_.verdict(contestant, last); }
  uint64_t median_ns(uint32_t contestant) const { return uint64_t{comparison_.median_ns(contestant)} << shift_; }

 private:
  PairedComparison comparison_;
  uint8_t shift_ = 0;
};

}  // namespace temper
