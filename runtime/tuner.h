// The tuning loop as a step machine: default first, hints, proposals, build, check, time, record, rematch, commit.
// The same on a microcontroller, on a Linux board and inside the host tool; only the runner differs. A step is bounded: about 1 ms
// of search, or one request to the runner. All memory comes from the arena; seeds and clocks are passed in.
#pragma once

#include <cstdint>

#include "runtime/history.h"
#include "runtime/measurement.h"
#include "runtime/runner.h"
#include "runtime/searcher.h"
#include "temper/temper.h"

namespace temper {

inline constexpr uint32_t kMaxSlots = 8;

struct TunerOptions {
  SearcherKind searcher = SearcherKind::kAuto;
  MeasurementLimits measurement;
  uint32_t max_trials = 1024;        ///< sizes the visited set; history included
  uint8_t stop_after_failures = 8;   ///< failures in a row that end a workload
  uint32_t early_stopping = 0;       ///< trials without improvement that end a workload; 0: never
  uint32_t proposal_effort = 256;    ///< model evaluations a proposal may cost
  uint8_t rematch_contenders = 3;    ///< besides the default
  uint8_t rematch_rounds = 12;
  uint16_t min_gain_permille = 5;    ///< a win below this is noise: the default stays
  bool write_intents = false;        ///< where a trial may reset the device
  bool retune_committed = true;      ///< false: workloads with a valid commit are left alone (second boot)
  uint64_t seed = 0;
};

/// Why a workload's search ended.
enum class StopReason : uint8_t { kRunning = 0, kBudget, kExhausted, kFailures, kNoGain, kCommitted, kDefaultFailed, kUntouched };

/// What is known of one workload; results of a run.
struct WorkloadState {
  Space space;
  Searcher searcher;
  Config default_config;
  Config best_config;              ///< what was committed, or the incumbent so far
  uint64_t default_ns = 0;         ///< 0: not measured
  uint64_t best_ns = 0;            ///< incumbent's median
  uint64_t rematch_default_ns = 0; ///< both from the rematch; 0 before it
  uint64_t rematch_best_ns = 0;
  uint32_t outcomes[TEMPER_OUTCOME_COUNT] = {};  ///< of this run
  uint32_t trials = 0;             ///< of this run
  uint32_t resumed_trials = 0;     ///< read from the history
  uint32_t since_improvement = 0;
  uint32_t gain_q8 = 256;          ///< recent relative gain, decaying; steers the sharing of the budget
  StopReason stop = StopReason::kRunning;
  bool committed = false;          ///< a valid commit exists (this run's or the history's)
  bool kept_default = false;
};

/// An event for progress displays; called from step().
struct TunerEvent {
  enum class Kind : uint8_t { kTrial, kCommit, kWorkloadStopped, kStorageLost } kind;
  uint32_t workload;
  const Config* config;
  TrialResult trial;
};

class Tuner {
 public:
  /// What it would take from an arena.
  static size_t bytes_needed(const PackView& pack, const TunerOptions& options);

  /// Places its state in the arena. All pointers outlive the tuner. history may be nullptr (memory only).
  /// TEMPER_NO_MEMORY.
  Status init(Arena& arena, const PackView* pack, const temper_facts* facts, const Fingerprint& fingerprint, Runner runner, CostModel model,
              History* history, uint64_t (*now_ns)(void*), void* clock_self, const TunerOptions& options);

  /// Offers one scanned frame of the history (before start): resumes trials, commits, quarantines open intents. Records of another
  /// fingerprint become hints.
  void resume(const FrameView& frame);

  Status start(const temper_budget& budget);
  /// TEMPER_MORE, TEMPER_OK when complete, TEMPER_NOTHING_TO_TUNE when nothing could be measured, else an error.
  Status step();
  /// No more proposals; confirms and commits what there is. Keep stepping until it is not TEMPER_MORE.
  void stop();

  uint32_t workload_count() const { return workload_count_; }
  const WorkloadState& state(uint32_t workload) const { return states_[workload]; }
  uint32_t trials() const { return trials_; }
  uint64_t elapsed_ns() const;
  void set_listener(void* context, void (*listener)(void* context, const TunerEvent& event));

 private:
  friend struct TunerInternals;
  enum class SlotPhase : uint8_t { kFree, kBuilding, kReady, kChecking, kTiming, kContender };
  struct Slot {
    SlotPhase phase = SlotPhase::kFree;
    uint32_t workload = 0;
    Config config;
    Measurement measurement;
    uint32_t build_us = 0;
    bool is_default = false;
  };
  enum class Phase : uint8_t { kIdle, kSearch, kRematch, kDone };

  const PackView* pack_ = nullptr;
  const temper_facts* facts_ = nullptr;
  Fingerprint fingerprint_{};
  Runner runner_{};
  CostModel model_{};
  History* history_ = nullptr;
  uint64_t (*now_ns_)(void*) = nullptr;
  void* clock_self_ = nullptr;
  TunerOptions options_;
  WorkloadState* states_ = nullptr;
  uint32_t workload_count_ = 0;
  VisitedSet visited_;
  Slot slots_[kMaxSlots];
  Phase phase_ = Phase::kIdle;
  temper_budget budget_{};
  uint64_t started_ns_ = 0;
  uint32_t trials_ = 0;
  bool stopping_ = false;
  void* listener_context_ = nullptr;
  void (*listener_)(void*, const TunerEvent&) = nullptr;
};

}  // namespace temper
