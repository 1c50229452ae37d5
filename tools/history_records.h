// A history taken apart: every record that it holds, bound to the fingerprint it was made under, and what was lost.
// Used by inspect, merge, bake and training, which all judge records alike; changes nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codegen/variant_candidates.h"
#include "tools/history_source.h"

namespace temper {

/// A trial's or commit's payload as it lies in its frame, but with fingerprint ordinal 0: `fingerprint` says it.
struct HistoryRecord {
  size_t fingerprint = 0;  ///< index into HistoryRecords::fingerprints
  std::vector<uint8_t> payload;
};

/// Of payloads that read_records took in.
TrialView trial_of(const HistoryRecord& record);
CommitView commit_of(const HistoryRecord& record);
/// What a trial tells the choice of a pack's variants; nothing where it gave no time.
std::optional<MeasuredTime> measured_time(const HistoryRecord& trial);

struct NamedWorkload {
  std::string name;
  uint64_t flops = 0;
  uint16_t count = 0;
};

struct HistoryRecords {
  std::vector<Fingerprint> fingerprints;        ///< each once, in order of appearance
  std::vector<uint64_t> order;                  ///< workloads' keys, in order of appearance in any record
  std::map<uint64_t, NamedWorkload> workloads;  ///< those with a name, by key; the last name counts
  std::vector<HistoryRecord> trials, commits;   ///< in order
  /// Of `trials`: those that are no records but intents never closed, with no frame missing behind them. They say what
  /// the device itself would write at its next start: crashed.
  std::vector<size_t> open_intents;
  bool open_at_end = false;      ///< the last of them is the last thing that was begun
  std::vector<size_t> ordinals;  ///< by ordinal of the fingerprint frames: which of `fingerprints`, or kUnreadable
  static constexpr size_t kUnreadable = SIZE_MAX;

  uint32_t frames = 0;         ///< whole ones
  uint32_t damaged_bytes = 0;  ///< neither frame nor padding nor erased
  uint32_t used_bytes = 0;     ///< up to the end of the last frame
  uint32_t lost_frames = 0;    ///< by their sequence numbers
  uint32_t unreadable = 0;  ///< whole frames whose payload does not verify, or of a type that this build does not know
  uint32_t orphans = 0;     ///< trials, commits and intents whose fingerprint is lost: left out
};

HistoryRecords read_records(const HistorySource& source);

}  // namespace temper
