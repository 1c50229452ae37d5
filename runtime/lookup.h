// Answers what would be used for a workload, without measuring: the history's commits, then the tuned tables, then the
// default; for each miss it says why. Holds what a device remembers of each workload. Called by the C API, the board's
// tuner and the host's look-up; never writes to storage, never allocates after it was placed.
#pragma once

#include <cstdint>

#include "runtime/arena.h"
#include "runtime/current_space.h"
#include "runtime/history.h"

namespace temper {

/// Fingerprint frames of a history that are told apart; records that refer to an older one count as made elsewhere.
inline constexpr uint32_t kKnownFingerprints = 16;

/// A time in 32 bits that compare as times do: nanoseconds below 2^31, above in units of 1,024 ns, saturated at 36
/// minutes.
uint32_t compact_time(uint64_t ns);
uint64_t expand_time(uint32_t compact);
/// 32 bits of nanoseconds, as devices count them: saturated at 4.29 s.
uint32_t saturated_ns(uint64_t ns);
uint32_t expand_saturated(uint32_t compact);

/// What the tuner notes of a workload between its turns.
enum WorkloadFlag : uint8_t {
  kNamed = 1u << 0,  ///< its workload frame is in the history

  kConcluded = 1u << 2,  ///< nothing is left to do in this run
  kDefaultCrashed = 1u << 3,
  kDefaultFailed = 1u << 4,  ///< it is not run again: it failed, or crashed twice
};

/// What a note's config is.
enum class Known : uint8_t {
  kNothing = 0,
  kNearest,    ///< committed for another shape, legal for this one
  kElsewhere,  ///< committed for this workload where a decisive field of the fingerprint differs: a hint
  kCommit      ///< valid here
};

/// What is known of one workload.
struct WorkloadNote {
  uint32_t default_time;  ///< compact; of the commit, before it of the default's trial; 0: unknown
  uint32_t tuned_time;    ///< compact; of the commit
  uint16_t fingerprint_fields;
  uint8_t miss;        ///< temper_miss of the history; none: there is a commit, and it is valid here
  uint8_t flags;       ///< WorkloadFlag
  uint16_t ratio_q15;  ///< kElsewhere, kCommit: tuned over default time as committed; 0: it kept the default
  Known known;
  uint8_t distance;  ///< kNearest: of the shapes, in steps of 1/4 of a log2
  Config config;
};

class Lookup {
 public:
  Lookup() = default;
  /// Keeps one commit per workload in the arena, and what `reader` (nullptr: tables are not read) wants for the tables:
  /// one that does not verify is a miss with a reason. `fingerprint` is this device's. All outlive the look-up. With a
  /// counting arena nothing is written, and only the pack is looked at.
  Lookup(Arena& arena, const PackView& pack, CurrentSpace* spaces, const Fingerprint* fingerprint,
         Span<const temper_table> tables, const temper_table_functions* reader);

  /// Offers one scanned frame of the history; of several commits of a workload the last that is valid here counts.
  void offer(const FrameView& frame);
  /// There is a history; parts of it, or all, could not be read when damaged.
  void set_history(bool damaged) { history_ = damaged ? HistoryState::kDamaged : HistoryState::kWhole; }
  /// A commit made in this run.
  void record(uint32_t workload, const Config& config, uint64_t default_ns, uint64_t tuned_ns);

  /// The config to use and where it came from. TEMPER_NOT_FOUND when it is to be the default and the pack has none for
  /// this workload; the answer tells the rest then too, but no values.
  Status find(uint32_t workload, Config* config, temper_answer* answer) const;

  WorkloadNote& note(uint32_t workload) const { return notes_[workload]; }
  /// Whether records that refer to this fingerprint frame hold here.
  bool same_device(uint32_t ordinal) const;
  /// The ordinal of this device's fingerprint, when the history's last one is it in every field; else how many there
  /// are, and `*is_new`: the caller appends it and calls add_fingerprint.
  uint16_t own_ordinal(bool* is_new) const;
  void add_fingerprint(uint32_t differing_fields);
  /// Fingerprint frames of the history.
  uint32_t fingerprint_count() const { return fingerprints_seen_; }
  /// The first `count` of them are there no more; a multiple of kKnownFingerprints.
  void drop_fingerprints(uint32_t count) { fingerprints_seen_ -= count; }

 private:
  enum class HistoryState : uint8_t { kAbsent, kWhole, kDamaged };
  void offer_commit(const CommitView& view);

  WorkloadNote* notes_ = nullptr;  ///< by workload
  CurrentSpace* spaces_ = nullptr;
  const Fingerprint* fingerprint_ = nullptr;
  const temper_table_functions* reader_ = nullptr;
  void* tables_ = nullptr;
  uint32_t table_count_ = 0;
  uint32_t fingerprints_seen_ = 0;
  uint16_t differs_[kKnownFingerprints] = {};  ///< fields, by ordinal modulo kKnownFingerprints
  HistoryState history_ = HistoryState::kAbsent;
};

/// Whether persisted knobs mean a config that is legal and served here; if not, why.
temper_miss translate(const PackView& pack, const Space& space, uint16_t template_id, uint16_t template_version,
                      const Span<const format::KnobValue>& knobs, Config* config);

}  // namespace temper

/// What config.table_reader points to; a firmware without it links nothing that knows tables.
struct temper_table_functions {
  /// Opens the tables; what it returns goes to find(). With a counting arena only counts.
  void* (*open)(temper::Arena& arena, temper::Span<const temper_table> tables);
  /// The first table with a config that is valid here; if there is none, why: TEMPER_MISS_ABSENT without tables.
  temper_miss (*find)(const void* opened, uint32_t table_count, const temper::PackView& pack,
                      const temper::Space& space, const temper::Fingerprint& here, temper::Config* config,
                      temper_answer* answer);
};
