#include "runtime/paired_comparison.h"

#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>

#include "runtime/random.h"

namespace temper {
namespace {

double noise_factor(Random& random, double deviation) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) {
    sum += random.next() / 4294967296.0;
  }
  return std::exp(deviation * sum);
}

// One rematch of three contestants of true relative time `ratio`, with the looks of the tuner: any found faster?
bool any_accepted(Random& random, double ratio, double deviation) {
  PairedComparison comparison(1000000, 5);
  bool open[kMaxContestants] = {false, true, true, true};
  for (;;) {
    for (uint32_t c = 0; c < kMaxContestants; ++c) {
      comparison.add(c, static_cast<uint32_t>(1e6 * (c == 0 ? 1 : ratio) * noise_factor(random, deviation)), 1);
    }
    comparison.next_round();
    const uint32_t round = comparison.round_count();
    if (round != 6 && round != 12 && round != 24 && round != 48) {
      continue;
    }
    bool more = false;
    for (uint32_t c = 1; c < kMaxContestants; ++c) {
      const Verdict verdict = open[c] ? comparison.verdict(c, round == 48) : Verdict::kNotFaster;
      if (verdict == Verdict::kFaster) {
        return true;
      }
      open[c] = verdict == Verdict::kOpen;
      more = more || open[c];
    }
    if (!more) {
      return false;
    }
  }
}

double accepted_share(double ratio, double deviation) {
  constexpr int kRematches = 10000;  // at a share of 0.7 % one in a thousand such runs would show 1 %
  Random random(42);
  int accepted = 0;
  for (int i = 0; i < kRematches; ++i) {
    accepted += any_accepted(random, ratio, deviation) ? 1 : 0;
  }
  MESSAGE("true ratio " << ratio << ", noise " << deviation << ": accepted " << accepted << " of " << kRematches);
  return accepted / static_cast<double>(kRematches);
}

TEST_CASE("contestants more than 1 % slower than the default are accepted in less than 1 % of rematches") {
  CHECK(accepted_share(1.011, 0.10) < 0.01);
  CHECK(accepted_share(1.05, 0.10) < 0.005);
  CHECK(accepted_share(1.011, 0.02) < 0.005);
  CHECK(accepted_share(1.0, 0.10) < 0.01);
}

TEST_CASE("contestants that are clearly faster are accepted") {
  CHECK(accepted_share(0.85, 0.10) > 0.99);
  CHECK(accepted_share(0.90, 0.10) > 0.9);
  CHECK(accepted_share(0.97, 0.02) > 0.95);
  CHECK(accepted_share(0.5, 0.3) > 0.99);
}

TEST_CASE("without noise the minimal gain decides") {
  PairedComparison comparison(1000, 5);
  for (int round = 0; round < 6; ++round) {
    comparison.add(0, 1000000, 1000);
    comparison.add(1, 993000, 1000);
    comparison.add(2, 997000, 1000);
    comparison.add(3, 1000000, 1000);
    comparison.next_round();
  }
  CHECK(comparison.verdict(1, false) == Verdict::kFaster);
  CHECK(comparison.verdict(2, false) == Verdict::kNotFaster);
  CHECK(comparison.verdict(3, false) == Verdict::kNotFaster);
}

TEST_CASE("too few rounds decide nothing in favour of a contestant") {
  PairedComparison comparison(1000000, 5);
  for (uint32_t round = 0; round + 1 < kMinRounds; ++round) {
    comparison.add(0, 1000000, 1);
    comparison.add(1, 100000, 1);
    comparison.next_round();
    CHECK(comparison.verdict(1, false) == Verdict::kOpen);
    CHECK(comparison.verdict(1, true) == Verdict::kNotFaster);
  }
}

TEST_CASE("times of any size are compared, and medians come back per call") {
  for (const uint32_t time : {1u, 40u, 1000u, 123456789u, 1400000000u}) {
    PairedComparison comparison(time, 5);
    const uint32_t calls = time < 200000 ? 200000 / time : 1;
    for (int round = 0; round < 6; ++round) {
      comparison.add(0, time * calls, calls);
      comparison.add(1, time * calls / 4 * 3, calls);
      comparison.next_round();
    }
    CHECK(comparison.verdict(1, true) == Verdict::kFaster);
    CHECK(static_cast<double>(comparison.median_ns(0)) == doctest::Approx(static_cast<double>(time)).epsilon(0.01));
  }
}

TEST_CASE("more rounds than there is room for are ignored") {
  PairedComparison comparison(1000, 5);
  for (uint32_t round = 0; round < 2 * kMaxRounds; ++round) {
    comparison.add(0, 1000, 1);
    comparison.add(1, 500, 1);
    comparison.next_round();
  }
  CHECK(comparison.verdict(1, true) == Verdict::kFaster);
  CHECK(comparison.median_ns(1) == 500);
}

}  // namespace
}  // namespace temper
