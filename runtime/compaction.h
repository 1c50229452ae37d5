// Compaction of a history on flash: what counts moves to the other region, the old one stays until all of it is there.
// Called by the board's tuner before a trial that may not fit, a step at a time; never while a trial goes on. Never
// drops an open intent, nor this device's trials of a workload without a commit valid here.
#pragma once

#include <cstdint>

#include "runtime/lookup.h"

namespace temper {

/// Room that a trial may need, with all that goes with it: two records with the most knobs, a commit, the workload's
/// name and the fingerprint.
constexpr uint32_t trial_room_bytes(uint32_t program_bytes) {
  constexpr size_t kKnobBytes = TEMPER_MAX_KNOBS * sizeof(format::KnobValue);
  return frame_bytes(sizeof(format::Intent) + kKnobBytes, program_bytes) +
         frame_bytes(sizeof(format::Trial) + kKnobBytes, program_bytes) + 2 * frame_bytes(kMaxPayload, program_bytes) +
         frame_bytes(sizeof(Fingerprint), program_bytes);
}

class Compaction {
 public:
  /// How many levels of HISTORY.md may be dropped: runs that collect keep every trial of this device.
  enum class Extent : uint8_t { kOwnTrialsStay = 2, kAll = 4 };
  /// The history has another region and is writable. All outlive the compaction.
  Compaction(History* history, Lookup* lookup, CurrentSpace* spaces, Extent extent);
  /// A frame looked at or copied, or a block erased. TEMPER_MORE; TEMPER_OK: done, and records refer to fingerprints by
  /// ordinals that are dropped_fingerprints() lower. TEMPER_STORAGE_FULL: too little can be dropped; nothing was
  /// written. TEMPER_STORAGE_*: the storage failed; the history is what it was, for reading alone.
  Status step();
  /// Leaves the history as it was.
  void cancel();

  uint16_t dropped_fingerprints() const { return dropped_fingerprints_; }

 private:
  enum class Phase : uint8_t { kMeasure, kErase, kCopy };
  /// A frame is dropped from its level on; kKept: at none.
  enum Level : uint8_t { kClosed, kSuperseded, kOrdinary, kUnknown, kLevelCount, kKept = kLevelCount };

  void enter(Phase phase);
  Status frame_step();
  Status take(const FrameView& frame);
  Status choose_level();
  Level level_of(const FrameView& frame);
  Level level_of_result(const FrameView& frame, uint32_t workload) const;

  History* history_;
  Lookup* lookup_;
  CurrentSpace* spaces_;
  History::Place source_;
  uint32_t at_ = 0;                       ///< the frame to look at next; the block to erase next
  uint32_t intent_at_ = 0;                ///< of the frame before, an intent; 0: it was none
  uint32_t intent_id_ = 0;                ///< of that intent's config
  uint32_t bytes_[kLevelCount + 1] = {};  ///< of the frames of each level
  uint16_t fingerprints_ = 0;             ///< seen so far
  uint16_t dropped_fingerprints_ = 0;
  Extent extent_;
  Level level_ = kClosed;
  Phase phase_ = Phase::kMeasure;
};

}  // namespace temper
