#include "runtime/long_times.h"

#include <doctest/doctest.h>

#include <initializer_list>

namespace temper {
namespace {

TEST_CASE("huge times neither overflow nor loop") {
  LongMeasurement measurement({}, UINT64_MAX / 4);
  measurement.add(UINT64_MAX / 8);
  measurement.add(UINT64_MAX / 8);
  measurement.add(UINT64_MAX / 8);
  CHECK(measurement.state() == MeasurementState::kDone);
  const uint64_t far = UINT64_MAX / 8;  // kept to 29 bits at least
  CHECK(measurement.median_ns() <= far);
  CHECK(measurement.median_ns() >= far - (far >> 28));
}

TEST_CASE("times below a second are exact") {
  LongMeasurement measurement({}, 0);
  while (measurement.state() == MeasurementState::kMore) {
    measurement.add(measurement.number() * uint64_t{987654321});
  }
  CHECK(measurement.median_ns() == 987654321);
  CHECK(measurement.fastest_ns() == 987654321);
}

TEST_CASE("a unit that grows with the first sample keeps what is told so far") {
  LongMeasurement loser({}, 1000000000);
  loser.add(60000000000);
  CHECK(loser.state() == MeasurementState::kTooSlow);
  LongMeasurement near({}, 50000000000);
  for (uint32_t i = 0; i < 3; ++i) {
    CHECK(near.state() == MeasurementState::kMore);
    near.add(60000000000 + i * 1000000);
  }
  CHECK(near.state() == MeasurementState::kDone);
  CHECK(near.sample_count() == 3);
  CHECK(static_cast<double>(near.median_ns()) == doctest::Approx(60001000000.0).epsilon(1e-6));
}

TEST_CASE("a call of minutes is compared and told") {
  for (const uint64_t time : {uint64_t{1}, uint64_t{1000000}, uint64_t{5000000000}, uint64_t{600000000000}}) {
    LongComparison comparison(time, 5);
    const uint32_t calls = time < 200000 ? static_cast<uint32_t>(65536 / time) : 1;
    for (uint32_t round = 0; round < kMinRounds; ++round) {
      comparison.add(0, time * calls, calls);
      comparison.add(1, time * calls * 3 / 4, calls);
      comparison.next_round();
    }
    CHECK(comparison.verdict(1, true) == Verdict::kFaster);
    CHECK(static_cast<double>(comparison.median_ns(0)) == doctest::Approx(static_cast<double>(time)).epsilon(0.01));
  }
}

}  // namespace
}  // namespace temper
