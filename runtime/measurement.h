// Robust timing of one candidate as a small state machine: how many calls to time next, when to stop, what to report.
// Called by the tuners, which alone talk to the runner. Bounded memory, integers only.
#pragma once

#include <cstdint>

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

/// Feed it elapsed times; ask it what to do next. Times are 32 bits of nanoseconds, as devices count them, or of a unit
/// that grows (coarsen).
class Measurement {
 public:
  Measurement() = default;
  /// `limits` outlive it; those on numbers are bounded by kMaxSamples. incumbent_ns 0: there is none, nothing is cut.
  Measurement(const MeasurementLimits* limits, uint32_t incumbent_ns);

  MeasurementState state() const { return state_; }
  /// Back-to-back calls for the next sample (1 for the first, which warms up and estimates).
  uint32_t number() const { return number_; }
  /// The time of all number() calls together. A sample too short for the clock is not kept: number() grows instead.
  void add(uint32_t elapsed_ns);
  /// No time for more: done with the samples that are there. False, and unchanged, when there is none.
  bool finish();
  /// From now on times are told in units twice as long; the caller halves the limits. Before the first sample only.
  void coarsen();

  uint32_t median_ns() const;  ///< per call; 0 without samples, else at least 1
  uint32_t spread_ns() const;  ///< median absolute deviation, per call
  uint32_t fastest_ns() const { return samples_[0]; }
  uint8_t sample_count() const { return count_; }
  uint32_t total_ns() const { return total_; }  ///< saturated
  /// kMaxCallsPerSample calls took no time at all: the clock stands still, results mean nothing.
  bool clock_stands() const { return clock_stands_; }

 private:
  void lengthen(uint32_t elapsed);
  void keep(uint32_t elapsed);
  bool settled() const;

  const MeasurementLimits* limits_ = nullptr;
  uint32_t number_ = 1;
  uint32_t total_ = 0;
  uint32_t cut_ = 0;  ///< 0: nothing is cut
  uint8_t count_ = 0;
  bool warm_ = false;
  bool clock_stands_ = false;
  MeasurementState state_ = MeasurementState::kMore;
  uint32_t samples_[kMaxSamples] = {};  ///< per call, ascending
};

/// Calls that fill min_sample when one takes per_call, in the same unit; 1..kMaxCallsPerSample.
uint32_t calls_per_sample(uint32_t min_sample, uint32_t per_call);

}  // namespace temper
