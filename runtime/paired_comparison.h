// The rematch's statistic: interleaved rounds of a few contestants, contestant 0 being the default; which of the others
// is faster by more than the noise. Fed by the tuners; integers only, bounded memory, never measures anything.
#pragma once

#include <cstdint>

namespace temper {

inline constexpr uint32_t kMaxContestants = 4;
inline constexpr uint32_t kMaxRounds = 48;
inline constexpr uint32_t kMinRounds = 6;  ///< below this nothing is ever decided in favour of a contestant

enum class Verdict : uint8_t { kOpen, kFaster, kNotFaster };

class PairedComparison {
 public:
  PairedComparison() = default;
  /// expected_ns: roughly a call of the default, for scaling. min_gain_permille: a gain below it counts as none.
  PairedComparison(uint32_t expected_ns, uint16_t min_gain_permille);

  /// A sample of one contestant in the current round: `calls` calls took elapsed_ns together.
  void add(uint32_t contestant, uint32_t elapsed_ns, uint32_t calls);
  /// Rounds past kMaxRounds are not kept.
  void next_round() { round_count_ += round_count_ < kMaxRounds ? 1 : 0; }
  uint32_t round_count() const { return round_count_; }

  /// Whether a contestant is faster than the default, over the rounds so far. Two ways to be: every one of its samples
  /// beats every one of the default's (by chance 1 in 924 in 6 rounds), or Wilcoxon's signed-rank test over the rounds'
  /// pairs (F. Wilcoxon, "Individual comparisons by ranking methods", 1945; normal approximation with the exact bound
  /// for 11 rounds) at about 1 in 500. kOpen: promising, more rounds may tell. `last`: there will be none, so kOpen
  /// becomes kNotFaster.
  Verdict verdict(uint32_t contestant, bool last) const;

  /// Median over the rounds, per call.
  uint32_t median_ns(uint32_t contestant) const;

 private:
  int32_t lead(uint32_t contestant, uint32_t round) const;
  bool separated(uint32_t contestant) const;

  uint32_t round_count_ = 0;
  uint16_t min_gain_permille_ = 0;
  int8_t shift_ = 0;                                 ///< scaled = ns << shift (negative: >> -shift)
  uint16_t time_[kMaxContestants][kMaxRounds] = {};  ///< per call, scaled so that the default's has about 14 bits
};

}  // namespace temper
