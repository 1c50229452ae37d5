// Robust timing of one candidate as a small state machine: how many calls to time next, when to stop, what to report.
// Called by the tuner, which alone talks to the runner. Bounded memory, integers only.
#pragma once

#include <cstdint>

#include "runtime/span.h"

namespace temper {

inline constexpr uint32_t kMaxSamples = 15;
inline constexpr uint32_t kMaxCallsPerSample = 65536;

struct MeasurementLimits {
  uint32_t min_sample_ns = 200000;   ///< a sample repeats the kernel until it lasts this long (or one call does)
  uint32_t max_total_ns = 50000000;  ///< stop sampling after this much time once min_samples are there
  uint8_t min_samples = 3;
  uint8_t max_samples = kMaxSamples;
  uint16_t target_spread_permille = 10;  ///< stop when MAD / median is at or below this
  uint16_t cut_percent = 150;  ///< too_slow when the fastest sample exceeds this share of the incumbent; at most 300
};

enum class MeasurementState : uint8_t { kMore, kDone, kTooSlow };

/// Feed it elapsed times; ask it what to do next.
class Measurement {
 public:
  /// incumbent_ns 0: there is none, nothing is cut.
  Measurement(const MeasurementLimits& limits, uint64_t incumbent_ns);
  Measurement() = default;

  MeasurementState state() const { return state_; }
  /// Back-to-back calls for the next sample (1 for the first, which warms up and estimates).
  uint32_t number() const { return number_; }
  /// The time of all number() calls together. A sample too short for the clock is not kept: number() grows instead.
  void add(uint64_t elapsed_ns);
  /// No time for more: done with the samples that are there. False, and unchanged, when there is none.
  bool finish();

  uint64_t median_ns() const;  ///< per call; 0 without samples, else at least 1
  uint64_t spread_ns() const;  ///< median absolute deviation, per call
  uint64_t fastest_ns() const { return uint64_t{fastest_} << shift_; }
  uint8_t sample_count() const { return count_; }
  uint64_t total_ns() const { return uint64_t{total_} << shift_; }  ///< saturated at 32 bits of the scale
  /// kMaxCallsPerSample calls took no time at all: the clock stands still, results mean nothing.
  bool clock_stands() const { return clock_stands_; }

 private:
  uint32_t scale(uint64_t ns);
  void lengthen(uint32_t elapsed);
  void keep(uint32_t elapsed);
  bool settled() const;
  uint32_t median() const;
  uint32_t spread() const;

  // All times are ns >> shift_; the first has at most 30 bits, so what is below a second is exact.
  uint32_t number_ = 1;
  uint32_t fastest_ = 0;
  uint32_t total_ = 0;
  uint32_t cut_ = 0;  ///< 0: nothing is cut
  uint32_t min_sample_ = 0;
  uint32_t max_total_ = 0;
  uint8_t shift_ = 0;
  uint8_t count_ = 0;
  uint8_t min_samples_ = 0;
  uint8_t max_samples_ = 0;
  uint16_t target_spread_permille_ = 0;
  bool warm_ = false;
  bool clock_stands_ = false;
  MeasurementState state_ = MeasurementState::kMore;
  uint32_t samples_[kMaxSamples] = {};
};

/// Sorts in place and returns the median (mean of the middle two); 0 when empty. For a few dozen entries at most.
uint32_t sort_median(Span<uint32_t> values);

/// Calls that fill min_sample when one takes per_call, in the same unit; 1..kMaxCallsPerSample.
uint32_t calls_per_sample(uint32_t min_sample, uint64_t per_call);

}  // namespace temper
