#include "runtime/paired_comparison.h"

namespace temper {
namespace {

int32_t magnitude(int32_t lead) { return lead < 0 ? -lead : lead; }

constexpr uint32_t kScaledBits = 14;  // 0.01 %, and a contestant four times slower still has its place

}  // namespace

PairedComparison::PairedComparison(uint32_t expected_ns, uint16_t min_gain_permille)
    : min_gain_permille_(min_gain_permille) {
  const int32_t bits = expected_ns == 0 ? 0 : 32 - __builtin_clz(expected_ns);
  shift_ = static_cast<int8_t>(static_cast<int32_t>(kScaledBits) - bits);
}

void PairedComparison::add(uint32_t contestant, uint32_t elapsed_ns, uint32_t calls) {
  if (round_count_ >= kMaxRounds) {
    return;
  }
  uint32_t scaled = elapsed_ns >> (-shift_ & 31);
  if (shift_ >= 0) {
    const uint64_t shifted = uint64_t{elapsed_ns} * (1u << shift_);
    scaled = shifted >> 32 != 0 ? UINT32_MAX : static_cast<uint32_t>(shifted);
  }
  scaled /= calls == 0 ? 1 : calls;
  time_[contestant][round_count_] = static_cast<uint16_t>(scaled < 1 ? 1 : scaled > UINT16_MAX ? UINT16_MAX : scaled);
}

// (default - contestant) / (default + contestant) in 1/2^14, the default less the minimal gain: monotonic in the ratio,
// and antisymmetric as a difference of logs is.
int32_t PairedComparison::lead(uint32_t contestant, uint32_t round) const {
  const int32_t reference = time_[0][round] * (1000 - min_gain_permille_) / 1000;
  const int32_t time = time_[contestant][round];
  return (reference - time) * 16384 / (reference + time);
}

bool PairedComparison::separated(uint32_t contestant) const {
  uint32_t slowest = 0;
  uint32_t reference = UINT16_MAX;
  for (uint32_t round = 0; round < round_count_; ++round) {
    slowest = time_[contestant][round] > slowest ? time_[contestant][round] : slowest;
    reference = time_[0][round] < reference ? time_[0][round] : reference;
  }
  return slowest * 1000 < reference * (1000u - min_gain_permille_);
}

Verdict PairedComparison::verdict(uint32_t contestant, bool last) const {
  const uint32_t n = round_count_;
  if (n < kMinRounds) {
    return last ? Verdict::kNotFaster : Verdict::kOpen;
  }
  if (separated(contestant)) {
    return Verdict::kFaster;
  }
  // By magnitude: the place of each is its rank.
  int16_t leads[kMaxRounds];
  for (uint32_t i = 0; i < n; ++i) {
    const int32_t fresh = lead(contestant, i);
    uint32_t at = i;
    for (; at > 0 && magnitude(leads[at - 1]) > magnitude(fresh); --at) {
      leads[at] = leads[at - 1];
    }
    leads[at] = static_cast<int16_t>(fresh);
  }
  // Ranks are doubled so that tied ones share their mean rank; ties at zero count for the default.
  int32_t won = 0;
  for (uint32_t first = 0, end = 0; first < n; first = end) {
    uint32_t faster = 0;
    for (; end < n && magnitude(leads[end]) == magnitude(leads[first]); ++end) {
      faster += leads[end] > 0 ? 1 : 0;
    }
    won += static_cast<int32_t>(faster * (first + 1 + end));
  }
  const int32_t count = static_cast<int32_t>(n);
  const int32_t excess = won - count * (count + 1) / 2;  // doubled, over what equals would win
  // z^2 = (excess / 2)^2 / (n (n + 1) (2n + 1) / 24), compared with 2.88^2 = 8.3.
  const int32_t square = excess * excess * 60;  // 48 rounds: below 2^29
  const int32_t unit = count * (count + 1) * (2 * count + 1);
  if (excess > 0 && square >= unit * 83) {
    return Verdict::kFaster;
  }
  // More rounds are for those a standard deviation ahead; with few rounds for all that are not clearly behind.
  const bool promising =
      excess > 0 ? square >= unit * 10 || n < 2 * kMinRounds : square < unit * 10 && n < 2 * kMinRounds;
  return promising && !last ? Verdict::kOpen : Verdict::kNotFaster;
}

// The lower of the middle two where their number is even: no copy to sort is needed.
uint32_t PairedComparison::median_ns(uint32_t contestant) const {
  const uint16_t* const times = time_[contestant];
  for (uint32_t i = 0; i < round_count_; ++i) {
    uint32_t before = 0;  // how many come before it in order, those of the same time by their round
    for (uint32_t j = 0; j < round_count_; ++j) {
      before += times[j] + (j >= i ? 1u : 0u) <= times[i] ? 1 : 0;
    }
    if (before == (round_count_ - 1) / 2) {
      const uint32_t ns = shift_ >= 0 ? uint32_t{times[i]} >> shift_ : uint32_t{times[i]} << -shift_;
      return ns < 1 ? 1 : ns;
    }
  }
  return 0;
}

}  // namespace temper
