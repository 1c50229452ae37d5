#include "runtime/measurement.h"

#include <doctest/doctest.h>

#include <vector>

namespace temper {
namespace {

constexpr MeasurementLimits kLimits{};

// Feeds calls that take per_call_ns each until the measurement is over; returns the calls made.
uint64_t measure(Measurement& measurement, const std::vector<uint32_t>& per_call_ns) {
  uint64_t calls = 0;
  for (uint32_t i = 0; measurement.state() == MeasurementState::kMore; ++i) {
    REQUIRE(i < 1000);
    calls += measurement.number();
    measurement.add(measurement.number() * per_call_ns[i % per_call_ns.size()]);
  }
  return calls;
}

TEST_CASE("a steady kernel takes the least number of samples, each long enough") {
  MeasurementLimits limits;
  Measurement measurement(&limits, 0);
  measure(measurement, {1000});
  CHECK(measurement.state() == MeasurementState::kDone);
  CHECK(measurement.sample_count() == limits.min_samples);
  CHECK(measurement.median_ns() == 1000);
  CHECK(measurement.spread_ns() == 0);
  CHECK(measurement.number() == 200);
  CHECK(measurement.total_ns() >= 3 * limits.min_sample_ns);
}

TEST_CASE("the first, cold call does not count, unless it is long") {
  Measurement quick(&kLimits, 0);
  quick.add(90000);
  CHECK(quick.sample_count() == 0);
  CHECK(quick.number() == 3);
  Measurement slow(&kLimits, 0);
  slow.add(9000000);
  CHECK(slow.sample_count() == 1);
  CHECK(slow.number() == 1);
}

TEST_CASE("scattered times take more samples, up to the limits of number and time") {
  MeasurementLimits limits;
  Measurement by_number(&limits, 0);
  measure(by_number, {100000, 150000, 120000, 180000});
  CHECK(by_number.state() == MeasurementState::kDone);
  CHECK(by_number.sample_count() == kMaxSamples);
  Measurement by_time(&limits, 0);
  measure(by_time, {10000000, 15000000, 12000000, 18000000});
  CHECK(by_time.sample_count() < kMaxSamples);
  CHECK(by_time.sample_count() >= limits.min_samples);
}

TEST_CASE("median and spread withstand a wild sample") {
  MeasurementLimits limits;
  limits.min_samples = 5;
  limits.max_samples = 5;
  Measurement measurement(&limits, 0);
  measurement.add(1000000);
  for (const uint32_t sample : {1010000u, 990000u, 90000000u, 1000000u, 1020000u}) {
    measurement.add(sample);
  }
  CHECK(measurement.state() == MeasurementState::kDone);
  CHECK(measurement.median_ns() == 1010000);
  CHECK(measurement.spread_ns() == 10000);
  CHECK(measurement.fastest_ns() == 990000);
}

TEST_CASE("a loser is cut after its first sample, a near miss is not") {
  Measurement loser(&kLimits, 1000000);
  loser.add(1700000);
  loser.add(1600000);
  CHECK(loser.state() == MeasurementState::kTooSlow);
  CHECK(loser.sample_count() == 1);
  Measurement near(&kLimits, 1000000);
  measure(near, {1450000});
  CHECK(near.state() == MeasurementState::kDone);
  Measurement hopeless(&kLimits, 1000000);
  hopeless.add(3100000);
  CHECK(hopeless.state() == MeasurementState::kTooSlow);
  CHECK(hopeless.fastest_ns() == 3100000);
}

TEST_CASE("times below the clock's resolution are lengthened until it moves") {
  Measurement measurement(&kLimits, 0);
  uint32_t samples = 0;
  while (measurement.state() == MeasurementState::kMore) {
    REQUIRE(++samples < 100);
    const uint32_t exact = measurement.number() * 50;
    measurement.add(exact / 10000 * 10000);  // a clock of 10 us
  }
  CHECK(measurement.median_ns() >= 47);
  CHECK(measurement.median_ns() <= 53);
  CHECK(!measurement.clock_stands());
}

TEST_CASE("a clock that never moves ends the measurement, and says so") {
  Measurement measurement(&kLimits, 0);
  uint64_t calls = 0;
  uint32_t samples = 0;
  while (measurement.state() == MeasurementState::kMore) {
    REQUIRE(++samples < 20);
    calls += measurement.number();
    measurement.add(0);
  }
  CHECK(measurement.clock_stands());
  CHECK(calls < 2 * kMaxCallsPerSample);
}

TEST_CASE("finishing early needs a sample") {
  Measurement measurement(&kLimits, 0);
  CHECK(!measurement.finish());
  measurement.add(50000);
  CHECK(!measurement.finish());
  measurement.add(200000);
  CHECK(measurement.finish());
  CHECK(measurement.state() == MeasurementState::kDone);
  CHECK(measurement.median_ns() == 50000);
}

TEST_CASE("limits out of range are bounded") {
  MeasurementLimits limits;
  limits.min_samples = 0;
  limits.max_samples = 200;
  limits.target_spread_permille = 0;
  Measurement measurement(&limits, 0);
  measure(measurement, {100000, 130000, 90000});
  CHECK(measurement.sample_count() <= kMaxSamples);
  limits.min_samples = 9;
  limits.max_samples = 4;
  Measurement few(&limits, 0);
  measure(few, {100000, 130000, 90000});
  CHECK(few.sample_count() == 4);
}

TEST_CASE("the longest times neither overflow nor loop") {
  Measurement measurement(&kLimits, UINT32_MAX);
  measure(measurement, {UINT32_MAX});
  CHECK(measurement.state() == MeasurementState::kDone);
  CHECK(measurement.median_ns() == UINT32_MAX);
  CHECK(measurement.total_ns() == UINT32_MAX);
  Measurement cut(&kLimits, 2000000000);
  cut.add(3100000000);
  CHECK(cut.state() == MeasurementState::kTooSlow);
}

TEST_CASE("median of even and odd counts, in whatever order samples come") {
  MeasurementLimits limits;
  limits.min_samples = limits.max_samples = kMaxSamples;
  Measurement measurement(&limits, 0);
  CHECK(measurement.median_ns() == 0);
  CHECK(measurement.spread_ns() == 0);
  measurement.add(1000000);  // warms up
  for (const uint32_t sample : {500000u, 100000u, 900000u}) {
    measurement.add(sample);
  }
  CHECK(measurement.median_ns() == 500000);
  CHECK(measurement.spread_ns() == 400000);
  measurement.add(600000);
  CHECK(measurement.median_ns() == 550000);
  CHECK(measurement.fastest_ns() == 100000);
}

TEST_CASE("calls per sample fill the time, within bounds") {
  CHECK(calls_per_sample(200000, 1000) == 200);
  CHECK(calls_per_sample(200000, 300) == 667);
  CHECK(calls_per_sample(200000, 200000) == 1);
  CHECK(calls_per_sample(200000, 0) == kMaxCallsPerSample);
  CHECK(calls_per_sample(200000000, 1) == kMaxCallsPerSample);
}

}  // namespace
}  // namespace temper
