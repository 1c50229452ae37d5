// Reads a history from raw bytes, written from runtime/format/HISTORY.md alone and sharing no code with the runtime:
// what the suites of cut points believe. Host only.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/power_loss/sim_flash.h"

namespace temper::test {

struct ReadKnob {
  uint16_t id, value;
  auto operator<=>(const ReadKnob&) const = default;
};
using ReadKnobs = std::vector<ReadKnob>;

/// One frame. `device` is the core type of the fingerprint it refers to; 0 for intents, names and fingerprints.
struct ReadRecord {
  uint32_t sequence;
  bool steady;  ///< none of its bits reads differently the next time
  uint32_t device;
  uint64_t workload;
  ReadKnobs knobs;
  uint8_t outcome;      ///< temper_outcome, of a trial
  bool is_default;      ///< of a trial; of a commit: it kept the default
  uint64_t median_ns;   ///< of a trial
  uint64_t default_ns;  ///< of a commit
  uint64_t tuned_ns;    ///< of a commit
};

struct ReadHistory {
  bool present = false;  ///< some region has a header, or frames
  uint32_t region = 0;   ///< which of the two counts
  uint32_t generation = 0;
  uint32_t frames = 0;    ///< but for headers
  bool ascending = true;  ///< each has a higher sequence than the one before
  uint32_t names = 0;
  std::vector<uint32_t> devices;  ///< of the fingerprints, in their order
  std::vector<ReadRecord> intents, trials, commits;

  /// Intents that no trial of the same workload and config follows.
  std::vector<ReadRecord> open_intents() const;
};

ReadHistory read_history(const StorageShape& shape, const StorageImage& image);

}  // namespace temper::test
