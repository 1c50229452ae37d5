// Answers what would be used for a workload, without measuring: the history's commits, then the tuned tables, then what
// another shape lends, then the default; for each miss it says why. Holds what a device remembers of each workload.
// Called by the C API, the board's tuner and the host's look-up; never writes to storage, never allocates after it was
// placed.
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
  kNamed = 1u << 0,        ///< its workload frame is in the history
  kUnconfirmed = 1u << 1,  ///< what was committed at another time is to be confirmed before anything is searched
  kConcluded = 1u << 2,    ///< nothing is left to do in this run
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
  uint8_t miss;   ///< temper_miss of the history; none: there is a commit, and it is valid here
  uint8_t flags;  ///< WorkloadFlag
  union {
    uint16_t ratio_q15;      ///< kElsewhere, kCommit: time_ratio_q15 as committed
    uint16_t lender_fields;  ///< kNearest: fields in which the lender's device differs from this one
  };
  Known known;
  uint8_t distance;  ///< kNearest: of the shapes, in steps of 1/4 of a log2; kNothing: why none lends, a temper_miss
  Config config;
};

/// What was found best for some workload, offered to others of its template.
struct Lender {
  uint16_t template_id, template_version;
  uint16_t fingerprint_fields;  ///< in which its device differs from this one
  Span<const format::KnobValue> knobs;
  Span<const int32_t> dims;  ///< in the order of the template; the last may be missing
};

class Lookup {
 public:
  Lookup() = default;
  /// Keeps one commit per workload in the arena, and what `reader` (nullptr: tables are not read) wants for the tables:
  /// one that does not verify is a miss with a reason. `fingerprint` is this device's. All outlive the look-up. With a
  /// counting arena nothing is written, and only the pack is looked at.
  /// `nearest` nullptr: no config is borrowed.
  Lookup(Arena& arena, const PackView& pack, CurrentSpace* spaces, const Fingerprint* fingerprint,
         Span<const temper_table> tables, const temper_table_functions* reader,
         const temper_nearest_functions* nearest = nullptr);
  /// Offers what the tables hold to other shapes; before the history is offered, whose commits win over them where they
  /// are as near.
  void offer_tables();

  /// Offers one scanned frame of the history; of several commits of a workload the last that is valid here counts.
  void offer(const FrameView& frame);
  /// There is a history; parts of it, or all, could not be read when damaged.
  void set_history(bool damaged) { history_ = damaged ? HistoryState::kDamaged : HistoryState::kIntact; }
  /// A commit made in this run; or an older one that is valid here, made on a device that differs in `fields`.
  void record(uint32_t workload, const Config& config, uint64_t default_ns, uint64_t tuned_ns, uint32_t fields = 0);

  /// The config to use and where it came from. TEMPER_NOT_FOUND when it is to be the default and the pack has none for
  /// this workload; the answer tells the rest then too, but no values.
  Status find(uint32_t workload, Config* config, temper_answer* answer) const;

  WorkloadNote& note(uint32_t workload) const { return notes_[workload]; }
  /// Whether this fingerprint frame is known and differs from this device's in none of these fields.
  bool agrees(uint32_t ordinal, uint32_t fields) const;
  /// Whether records that refer to this fingerprint frame hold here,
  bool same_device(uint32_t ordinal) const { return agrees(ordinal, kFingerprintDecisive); }
  /// and whether their times do.
  bool same_times(uint32_t ordinal) const { return agrees(ordinal, kFingerprintDecisive | kFingerprintConfirm); }
  /// The ordinal of this device's fingerprint, when the history's last one is it in every field; else how many there
  /// are, and `*is_new`: the caller appends it and calls add_fingerprint.
  uint16_t own_ordinal(bool* is_new) const;
  void add_fingerprint(uint32_t differing_fields);
  /// Fingerprint frames of the history.
  uint32_t fingerprint_count() const { return fingerprints_seen_; }
  /// The first `count` of them are there no more.
  void drop_fingerprints(uint32_t count);

 private:
  enum class HistoryState : uint8_t { kAbsent, kIntact, kDamaged };
  void offer_commit(const CommitView& view);

  WorkloadNote* notes_ = nullptr;  ///< by workload
  CurrentSpace* spaces_ = nullptr;
  const Fingerprint* fingerprint_ = nullptr;
  const temper_table_functions* reader_ = nullptr;
  const temper_nearest_functions* nearest_ = nullptr;
  void* tables_ = nullptr;
  uint32_t table_count_ = 0;
  uint32_t fingerprints_seen_ = 0;
  uint16_t differs_[kKnownFingerprints] = {};  ///< fields, by ordinal modulo kKnownFingerprints
  HistoryState history_ = HistoryState::kAbsent;
};

/// What a winner takes of the default's time; at most kWholeQ15, where the default was kept.
inline constexpr uint16_t kWholeQ15 = 1u << 15;
uint16_t time_ratio_q15(uint32_t default_time, uint32_t tuned_time);
/// Trials that a default which another driver or pack kept has to beat.
inline constexpr uint32_t kHintsAgainstDefault = 2;
/// An earlier result holds where three quarters of what it gained are gained again.
inline bool still_gains(uint32_t earlier_q15, uint32_t now_q15) {
  return 4 * (kWholeQ15 - now_q15) >= 3 * (kWholeQ15 - earlier_q15);
}

/// Whether persisted knobs mean a config that is legal and served here; if not, why.
temper_miss translate(const PackView& pack, const Space& space, uint16_t template_id, uint16_t template_version,
                      const Span<const format::KnobValue>& knobs, Config* config);

}  // namespace temper

/// What config.table_reader points to; a firmware without it links nothing that knows tables.
struct temper_table_functions {
  /// Opens the tables; what it returns goes to the others. With a counting arena only counts.
  void* (*open)(temper::Arena& arena, temper::Span<const temper_table> tables);
  /// The first table of this device (no decisive field differs) with a config that is valid here; then the first of its
  /// class. False when there is none; the reason is that of the most hopeful table, in the order of temper_miss; of
  /// several that were made elsewhere it is the one that differs in the fewest fields. Fills what `answer` tells of
  /// these sources, which were absent before, and the times.
  bool (*find)(const void* opened, uint32_t table_count, const temper::PackView& pack, const temper::Space& space,
               const temper::Fingerprint& here, temper::Config* config, temper_answer* answer);
  /// Offers every entry of the tables of this device's class to the workloads, the first table last.
  void (*lend)(const void* opened, uint32_t table_count, const temper::Fingerprint& here,
               const temper_nearest_functions& nearest, temper::CurrentSpace* spaces, temper::WorkloadNote* notes);
};

/// What config.nearest points to; a firmware without it never borrows. What is offered goes to every workload of which
/// nothing better than a near shape is known; of those as near as each other the last one offered stays. `workload`:
/// its index in this pack, whose dims then count, or the pack's count: it does not know it. Another workload may be
/// selected afterwards.
struct temper_nearest_functions {
  void (*offer)(temper::CurrentSpace* spaces, temper::WorkloadNote* notes, uint32_t workload,
                const temper::Lender& lender);
  /// A commit of the history that is not valid here or of a workload that the pack does not know.
  void (*offer_commit)(temper::CurrentSpace* spaces, temper::WorkloadNote* notes, uint32_t workload, uint32_t fields,
                       const temper::CommitView& view);
  /// A commit of a workload of this pack that is valid here, as its note tells it.
  void (*offer_own)(temper::CurrentSpace* spaces, temper::WorkloadNote* notes, uint32_t workload);
  /// What a workload without a valid commit may borrow; false: nothing. Fills what `answer` tells of this source.
  bool (*find)(const temper::WorkloadNote& note, temper::Config* config, temper_answer* answer);
};

namespace temper {

/// Whether a result is worth lending: where the default was kept, it is as good a guess elsewhere.
inline bool beats_default(uint64_t default_ns, uint64_t tuned_ns) { return default_ns == 0 || tuned_ns < default_ns; }

}  // namespace temper
