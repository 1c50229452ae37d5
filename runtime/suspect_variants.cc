#include "runtime/suspect_variants.h"

namespace temper {

void SuspectVariants::observe(int32_t variant, temper_outcome outcome) {
  const bool crashed = outcome == TEMPER_OUTCOME_CRASHED;
  if (variant < 0 || (!crashed && outcome != TEMPER_OUTCOME_OK)) {
    return;
  }
  uint32_t at = 0;
  while (at < kCount && known_[at].variant != variant + 1) {
    ++at;
  }
  if (at == kCount) {
    if (!crashed) {
      return;
    }
    at = next_++ % kCount;
    known_[at] = {static_cast<uint16_t>(variant + 1), 0};
  }
  known_[at].crashes = static_cast<uint16_t>(crashed ? known_[at].crashes + 1 : 0);
}

bool SuspectVariants::is_out(int32_t variant) const {
  for (const Suspect& suspect : known_) {
    if (suspect.variant == variant + 1) {
      return suspect.crashes > 1;
    }
  }
  return false;
}

}  // namespace temper
