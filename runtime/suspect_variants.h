// Variants of a pack that take the device down. Observed: a kernel that hangs or faults does so with most of its run
// knobs, and each config of it would cost a reset; so after two crashes without a success in between it is left alone.
// Kept by the searcher; bounded memory, never touches the pack.
#pragma once

#include <cstdint>

#include "temper/status.h"

namespace temper {

class SuspectVariants {
 public:
  /// What became of a trial of this variant (an index of the pack; below 0: none, ignored).
  void observe(int32_t variant, temper_outcome outcome);
  bool is_out(int32_t variant) const;
  bool empty() const { return known_[0].variant == 0; }

 private:
  struct Suspect {
    uint16_t variant;  ///< index plus one; 0: none
    uint16_t crashes;  ///< since it worked
  };
  static constexpr uint32_t kCount = 8;  ///< of more the oldest is forgotten

  Suspect known_[kCount] = {};
  uint32_t next_ = 0;
};

}  // namespace temper
