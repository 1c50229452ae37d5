// Answers what would be used for a workload, without measuring: the history's commits, then the tuned tables, then the
// default; for each miss it says why. Called by the C API and by the host's look-up; never writes, never allocates
// after it was placed.
#pragma once

#include <cstdint>

#include "runtime/arena.h"
#include "runtime/history.h"
#include "runtime/space.h"
#include "runtime/table_view.h"

namespace temper {

/// Fingerprint frames of a history that are told apart; commits that refer to an older one count as made elsewhere.
inline constexpr uint32_t kKnownFingerprints = 16;

class Lookup {
 public:
  Lookup() = default;
  /// Keeps one commit per workload in the arena, and views of the tables: one that does not verify is a miss with a
  /// reason. `pack`, `fingerprint` (of this device) and the tables outlive the look-up. With a counting arena nothing
  /// is written.
  Lookup(Arena& arena, const PackView* pack, const Fingerprint* fingerprint, Span<const temper_table> tables);

  /// Offers one scanned frame of the history; of several commits of a workload the last that is valid here counts.
  /// `spaces`: of this device, by workload.
  void offer(const FrameView& frame, Span<const Space> spaces);
  /// There is a history; parts of it, or all, could not be read when damaged.
  void set_history(bool damaged) { history_ = damaged ? HistoryState::kDamaged : HistoryState::kWhole; }
  /// A commit made in this run.
  void record(uint32_t workload, const Config& config, uint64_t default_ns, uint64_t tuned_ns);

  /// The config to use and where it came from. TEMPER_NOT_FOUND when the space holds no legal config at all.
  Status find(uint32_t workload, const Space& space, Config* config, temper_answer* answer) const;

 private:
  enum class HistoryState : uint8_t { kAbsent, kWhole, kDamaged };
  struct Commit {
    Config config;
    uint64_t default_ns, tuned_ns;
    uint32_t fingerprint_fields;
    temper_miss miss;
  };
  void offer_commit(const CommitView& view, Span<const Space> spaces);
  temper_miss find_in_tables(const Space& space, Config* config, temper_answer* answer) const;

  const PackView* pack_ = nullptr;
  const Fingerprint* fingerprint_ = nullptr;
  Commit* commits_ = nullptr;  ///< by workload
  TableView* tables_ = nullptr;
  bool* table_whole_ = nullptr;
  uint32_t table_count_ = 0;
  uint32_t fingerprints_seen_ = 0;
  uint16_t differs_[kKnownFingerprints] = {};  ///< fields, by ordinal modulo kKnownFingerprints
  HistoryState history_ = HistoryState::kAbsent;
};

}  // namespace temper
