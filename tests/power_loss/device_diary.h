// What a device was told to be on its storage, held against what is there: nothing lost, nothing in two pieces, every
// value right; and only what a compaction may drop is gone. Called by the suites of cut points. Host only.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/power_loss/sim_life.h"

namespace temper::test {

/// What compactions of the suite may have dropped.
enum class Pressure : uint8_t {
  kMild,  ///< of the device in turn nothing that was promised
  kHigh   ///< all that the documented levels drop where they have to
};

class DeviceDiary {
 public:
  explicit DeviceDiary(Pressure pressure) : pressure_(pressure) {}

  void write(const Promise& promise);
  /// What is wrong with a history in which `device` is the one in turn; empty: nothing.
  std::string complaint(const ReadHistory& history, uint32_t device) const;
  /// Forgets what complaint() lets be gone: later histories are of later generations.
  void forget_dropped(const ReadHistory& history);
  /// From now on a frame that power failed in may read as whole, and then not: what relied on it is forgiven.
  void doubt_last_frame() { doubts_ = true; }
  bool doubts() const { return doubts_; }
  size_t trial_count() const { return trials_.size(); }

 private:
  using Place = std::pair<uint32_t, uint64_t>;  ///< device, workload
  bool may_be_dropped(const ReadRecord& trial, const ReadHistory& history, uint32_t device) const;
  std::string complaint_of_commits(const ReadHistory& history, uint32_t device) const;

  Pressure pressure_;
  bool doubts_ = false;
  uint32_t generation_ = 0;  ///< of the last history that nothing was missing of
  std::vector<ReadRecord> trials_;
  std::map<Place, ReadRecord> commits_;  ///< the last of each
};

/// What is wrong with the trials of a history for itself: a config tried twice, or a time that no kernel takes.
/// `doubts`: as doubt_last_frame.
std::string complaint_of_trials(const ReadHistory& history, bool doubts);

std::string text_of(const ReadRecord& record);

}  // namespace temper::test
