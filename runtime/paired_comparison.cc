#include "runtime/paired_comparison.h"

#include "runtime/measurement.h"

namespace temper {
namespace {

constexpr uint32_t kScaledBits = 20;

}  // namespace

PairedComparison::PairedComparison(uint64_t expected_ns, uint16_t min_gain_permille)
    : min_gain_permille_(min_gain_permille) {
  uint32_t bits = 0;
  for (uint64_t rest = expected_ns; rest != 0; rest >>= 1) {
    ++bits;
  }
  shift_ = static_cast<int8_t>(static_cast<int32_t>(kScaledBits) - static_cast<int32_t>(bits));
}

void PairedComparison::add(uint32_t contestant, uint64_t elapsed_ns, uint32_t calls) {
  if (round_count_ >= kMaxRounds) {
    return;
  }
  const uint64_t most = UINT64_MAX >> kScaledBits;
  const uint64_t bounded = elapsed_ns < most ? elapsed_ns : most;
  const uint64_t scaled = (shift_ >= 0 ? bounded << shift_ : bounded >> -shift_) / (calls == 0 ? 1 : calls);
  const uint64_t limit = UINT32_MAX / 4;
  time_[contestant][round_count_] = static_cast<uint32_t>(scaled < 1 ? 1 : scaled > limit ? limit : scaled);
}

// (default - contestant) / (default + contestant) in 1/2^16, the default less the minimal gain: monotonic in the ratio,
// and antisymmetric as a difference of logs is.
int32_t PairedComparison::lead(uint32_t contestant, uint32_t round) const {
  const int64_t reference = static_cast<int64_t>(time_[0][round]) * (1000 - min_gain_permille_) / 1000;
  const int64_t time = time_[contestant][round];
  return static_cast<int32_t>((reference - time) * 65536 / (reference + time));
}

bool PairedComparison::separated(uint32_t contestant) const {
  uint64_t slowest = 0;
  uint64_t reference = UINT64_MAX;
  for (uint32_t round = 0; round < round_count_; ++round) {
    slowest = time_[contestant][round] > slowest ? time_[contestant][round] : slowest;
    reference = time_[0][round] < reference ? time_[0][round] : reference;
  }
  return slowest * 1000 < reference * (1000 - min_gain_permille_);
}

Verdict PairedComparison::verdict(uint32_t contestant, bool last) const {
  const uint32_t n = round_count_;
  if (n < kMinRounds) {
    return last ? Verdict::kNotFaster : Verdict::kOpen;
  }
  if (separated(contestant)) {
    return Verdict::kFaster;
  }
  int32_t leads[kMaxRounds];
  for (uint32_t i = 0; i < n; ++i) {
    leads[i] = lead(contestant, i);
  }
  // Ranks of the magnitudes, doubled so that tied ones share their mean rank; ties at zero count for the default.
  int32_t won = 0;
  for (uint32_t i = 0; i < n; ++i) {
    const int32_t size = leads[i] < 0 ? -leads[i] : leads[i];
    int32_t rank = 1;
    for (uint32_t j = 0; j < n; ++j) {
      const int32_t other = leads[j] < 0 ? -leads[j] : leads[j];
      rank += other < size ? 2 : other == size ? 1 : 0;
    }
    won += leads[i] > 0 ? rank : 0;
  }
  const int32_t count = static_cast<int32_t>(n);
  const int32_t excess = won - count * (count + 1) / 2;  // doubled, over what equals would win
  // z^2 = (excess / 2)^2 / (n (n + 1) (2n + 1) / 24), compared with 2.88^2 = 8.3.
  const int64_t square = static_cast<int64_t>(excess) * excess * 60;
  const int64_t unit = static_cast<int64_t>(count) * (count + 1) * (2 * count + 1);
  if (excess > 0 && square >= unit * 83) {
    return Verdict::kFaster;
  }
  // More rounds are for those a standard deviation ahead; with few rounds for all that are not clearly behind.
  const bool promising =
      excess > 0 ? square >= unit * 10 || n < 2 * kMinRounds : square < unit * 10 && n < 2 * kMinRounds;
  return promising && !last ? Verdict::kOpen : Verdict::kNotFaster;
}

uint64_t PairedComparison::median_ns(uint32_t contestant) const {
  uint64_t sorted[kMaxRounds];
  const uint32_t n = round_count_;
  for (uint32_t i = 0; i < n; ++i) {
    sorted[i] = time_[contestant][i];
  }
  const uint64_t median = sort_median({sorted, n});
  const uint64_t ns = shift_ >= 0 ? median >> shift_ : median << -shift_;
  return ns < 1 && n > 0 ? 1 : ns;
}

}  // namespace temper
