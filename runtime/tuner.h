// The tuning loop as a step machine: default first, hints, proposals, build, check, time, record, rematch, commit.
// The same on a microcontroller, on a Linux board and inside the host tool; only the runner differs. A step is bounded:
// about 1 ms of search, or one request to the runner. All memory comes from the arena; seeds and clocks are passed in.
#pragma once

#include <cstdint>

#include "runtime/history.h"
#include "runtime/long_times.h"
#include "runtime/lookup.h"
#include "runtime/runner.h"
#include "runtime/searcher.h"
#include "temper/temper.h"

namespace temper {

inline constexpr uint32_t kMaxSlots = 8;
inline constexpr uint32_t kMaxFingerprints = 256;  ///< of a history that are told apart

struct TunerOptions {
  SearcherKind searcher = SearcherKind::kAuto;
  MeasurementLimits measurement;
  uint32_t max_trials = 1024;       ///< sizes the visited set; history included
  uint8_t max_slots = kMaxSlots;    ///< of the runner's, as many are used
  uint8_t stop_after_failures = 8;  ///< failures in a row that end a workload
  uint32_t early_stopping = 0;      ///< trials without improvement that end a workload; 0: never
  uint32_t proposal_effort = 256;   ///< model evaluations a proposal may cost
  uint32_t step_candidates = 256;   ///< of them, with their legality tests, in one step
  uint8_t rematch_contenders = 3;   ///< besides the default
  uint8_t rematch_rounds = 12;
  uint16_t min_gain_permille = 5;  ///< a win below this is noise: the default stays
  bool write_intents = false;      ///< where a trial may reset the device
  bool retune_committed = true;    ///< false: workloads with a valid commit are left alone (second boot)
  bool refresh = false;            ///< what was committed elsewhere or at another clock is confirmed by a rematch; only
                                   ///< what does not hold is searched, and what is valid here is left alone
  bool commits = true;             ///< false: trials are all that a run is for; no rematch, no commit
  uint64_t seed = 0;
};

/// Why a workload's search ended.
enum class StopReason : uint8_t {
  kRunning = 0,
  kBudget,
  kExhausted,
  kFailures,
  kNoGain,
  kCommitted,
  kDefaultFailed,
  kUntouched,
  kConfirmed
};

enum class DefaultPhase : uint8_t { kTodo = 0, kInFlight, kMeasured, kFailed, kAbsent };

/// What is known of one workload; results of a run.
struct WorkloadState {
  uint64_t default_ns = 0;          ///< 0: not measured
  uint64_t best_ns = 0;             ///< incumbent's median
  uint64_t rematch_default_ns = 0;  ///< both from the rematch; 0 before it
  uint64_t rematch_best_ns = 0;
  uint32_t outcomes[TEMPER_OUTCOME_COUNT] = {};  ///< of this run
  uint32_t trials = 0;                           ///< of this run
  uint32_t resumed_trials = 0;                   ///< read from the history
  uint32_t since_improvement = 0;
  uint32_t gain_q8 = 256;  ///< recent relative gain, decaying; steers the sharing of the budget
  StopReason stop = StopReason::kRunning;
  bool committed = false;  ///< a valid commit exists (this run's or the history's)
  bool kept_default = false;

  // Used by the tuner alone.
  uint64_t trial_cost_ns = 0;  ///< of late: checking and timing one candidate
  uint64_t check_ns = 0;       ///< of the default
  DefaultPhase default_phase = DefaultPhase::kTodo;
  uint8_t in_flight = 0;             ///< slots that work for it
  uint8_t default_crashes = 0;       ///< resets of the device while the default ran
  bool best_is_committed = false;    ///< best_config is what the history or an earlier rematch committed
  bool named = false;                ///< its workload frame is in the history
  bool concluded = false;            ///< the rematch is over, or none is due
  bool kept_elsewhere = false;       ///< the default was kept by another driver or pack, on a device like this one
  bool stale = false;                ///< the commit's times are of another clock or memory
  bool unconfirmed = false;          ///< earlier_config is to be confirmed before anything is searched
  uint16_t earlier_q15 = kWholeQ15;  ///< time_ratio_q15 of what was committed elsewhere or at another clock

  // Last, because code reaches what is near the start of an object with shorter instructions.
  const Space* space = nullptr;
  Config default_config;
  Config best_config;  ///< what was committed, or the incumbent so far
  Config earlier_config;
  Searcher searcher;
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
  Status init(Arena& arena, const PackView* pack, const temper_facts* facts, const Fingerprint& fingerprint,
              Runner runner, CostModel model, History* history, uint64_t (*now_ns)(void*), void* clock_self,
              const TunerOptions& options);

  /// Offers one scanned frame of the history (before start): resumes trials, commits, quarantines open intents. Records
  /// of another fingerprint become hints.
  void resume(const FrameView& frame);

  Status start(const temper_budget& budget);
  /// TEMPER_MORE, TEMPER_OK when complete; TEMPER_NOTHING_TO_TUNE when every config tried failed; TEMPER_BUDGET_SPENT
  /// when the budget did not reach for a single trial; TEMPER_PORT_ERROR when the clock stands still.
  Status step();
  /// No more proposals; confirms and commits what there is. Keep stepping until it is not TEMPER_MORE.
  void stop();

  uint32_t workload_count() const { return workload_count_; }
  const WorkloadState& state(uint32_t workload) const { return states_[workload]; }
  uint32_t trials() const { return trials_; }
  /// By workload; for others on the same thread between two steps.
  Span<const Space> spaces() const { return {spaces_, workload_count_}; }
  uint64_t elapsed_ns() const;
  void set_listener(void* context, void (*listener)(void* context, const TunerEvent& event));

 private:
  enum class SlotPhase : uint8_t { kFree, kBuilding, kReady, kChecking, kTiming, kContestant };
  struct Slot {
    SlotPhase phase = SlotPhase::kFree;
    bool is_default = false;
    bool intent = false;  ///< an intent frame was written
    uint32_t workload = 0;
    uint32_t order = 0;  ///< of submission
    uint32_t build_us = 0;
    uint64_t since_ns = 0;  ///< when its build, later its check began
    Config config;
  };
  enum class Phase : uint8_t { kIdle, kSearch, kRematch, kDone };
  /// The one run that may be in flight.
  struct InFlight {
    bool active = false;
    bool cut_by_budget = false;  ///< its limit is what the budget leaves, not what the candidate deserves
    uint8_t slot = 0;
    uint32_t calls = 0;
    uint64_t since_ns = 0;
    uint64_t limit_ns = 0;
  };
  enum class ContestantPhase : uint8_t { kUnbuilt, kBuilding, kReady, kDropped };
  struct Contestant {
    Config config;
    ContestantPhase phase = ContestantPhase::kUnbuilt;
    bool is_checked = false;
    bool is_judged = false;  ///< found not faster: no longer timed
    uint32_t calls = 1;
    uint64_t expected_ns = 0;
  };
  struct Contender {
    const Config* config;  ///< in the workload's state
    uint64_t time_ns;
  };
  struct Rematch {
    uint32_t workload = 0;
    uint8_t count = 0;    ///< contestants; 0 is the default
    uint8_t place = 0;    ///< within the round
    uint8_t loaded = 0;   ///< with a single slot: whose kernel it holds
    uint64_t end_ns = 0;  ///< no round starts that would end later
    uint64_t round_since_ns = 0;
    uint64_t round_ns = 0;  ///< of the last whole round
    uint64_t build_since_ns = 0;
    Contestant contestant[kMaxContestants]{};
    LongComparison comparison{};
  };

  // tuner.cc: set-up, history.
  static void place(Arena& arena, const PackView& pack, const temper_facts* facts, const TunerOptions& options,
                    Tuner* tuner);
  uint32_t find_workload(uint64_t key) const;
  uint32_t find_legal(uint64_t key, Span<const format::KnobValue> knobs, Config* config) const;
  void resume_trial(const TrialView& view);
  void resume_commit(const CommitView& view);
  void quarantine(bool scanning);
  void reset_run_state();
  bool write_frames(WorkloadState& state);
  void check_storage();
  void keep_trial(WorkloadState& state, const Config& config, const TrialResult& trial);
  bool agrees(uint32_t ordinal, uint32_t fields) const;
  bool same_device(uint32_t ordinal) const { return agrees(ordinal, kFingerprintDecisive); }
  bool same_times(uint32_t ordinal) const;
  void emit(TunerEvent::Kind kind, uint32_t workload, const Config* config, const TrialResult* trial);

  // trial_flow.cc: from proposal to record.
  Status search_step();
  bool poll_builds();
  bool poll_run(RunResult* result);
  void on_run(const RunResult& result);
  void note_overhead(uint64_t elapsed_ns);
  void after_sample();
  bool start_next_run();
  bool request_run(uint8_t slot, RunKind kind, uint32_t calls, uint64_t limit_ns);
  bool begin_check(uint8_t index);
  bool begin_sample(uint8_t index);
  uint64_t run_limit(const WorkloadState& state, bool is_default, RunKind kind, uint32_t calls) const;
  uint64_t build_limit_ns() const;
  bool fill();
  bool fill_default(uint8_t slot);
  bool fill_candidate(uint8_t slot);
  bool submit(uint8_t slot, uint32_t workload, const Config& config, bool is_default);

  // trial_record.cc: from a trial's end to the run's.
  static void update_estimate(uint64_t* value, uint64_t seen);
  void record(uint8_t slot, temper_outcome outcome);
  void learn(WorkloadState& state, const Slot& slot, const TrialResult& trial);
  void free_slot(uint8_t slot);
  void drop(uint8_t slot);
  void settle(uint32_t workload);
  bool settle_earlier(uint32_t workload);
  bool earlier_measured(const WorkloadState& state) const;
  bool searchable(const WorkloadState& state) const;
  void stop_workload(uint32_t workload, StopReason reason);
  bool advance();
  bool reopen();
  void end_search();
  void cut_everything();
  Status finish();

  // budget_share.cc: what fits, and whose turn it is.
  uint64_t left_ns() const;
  uint64_t grace_ns() const;
  bool past_end() const;
  uint64_t rematch_cost_ns(const WorkloadState& state, uint32_t contestants) const;
  uint64_t reserved_ns() const;
  bool trials_left(const WorkloadState& state) const;
  uint32_t choose_default() const;
  uint32_t choose_workload() const;
  int32_t priority_q8(const WorkloadState& state) const;
  uint32_t spent_q8(const WorkloadState& state) const;
  uint32_t in_flight_total() const;

  // rematch.cc: the best few against the default.
  bool rematch_due(const WorkloadState& state) const;
  uint32_t contenders(const WorkloadState& state, Contender out[kMaxContestants]) const;
  uint32_t choose_rematch() const;
  void begin_rematch(uint32_t workload);
  Status rematch_step();
  void on_rematch_run(const RunResult& result);
  void poll_contestants();
  bool load_contestant(uint32_t index);
  bool next_rematch_run();
  uint32_t contestant_in_turn() const;
  void end_of_round();
  void drop_contestant(uint32_t index);
  void end_rematch(bool in_time);
  void conclude(uint32_t workload, const Config* winner, uint64_t default_ns, uint64_t tuned_ns);
  void conclude_without_rematch(uint32_t workload);
  uint8_t slot_of(uint32_t contestant) const;

  const PackView* pack_ = nullptr;
  const temper_facts* facts_ = nullptr;
  // The largest last: code reaches what is near the start of an object with shorter instructions.
  Runner runner_{};
  CostModel model_{};
  History* history_ = nullptr;
  uint64_t (*now_ns_)(void*) = nullptr;
  void* clock_self_ = nullptr;
  Space* spaces_ = nullptr;  ///< by workload, as states_
  WorkloadState* states_ = nullptr;
  uint32_t workload_count_ = 0;
  VisitedSet visited_;
  Slot* slots_ = nullptr;  ///< runner_.slot_count of them
  InFlight run_{};
  Phase phase_ = Phase::kIdle;
  temper_budget budget_{};
  TunerOptions options_{};
  mutable uint64_t started_ns_ = 0;  ///< moved where the clock ran backwards
  mutable uint64_t latest_ns_ = 0;   ///< that the clock showed
  uint64_t stopped_ns_ = 0;          ///< elapsed when stop() was called
  uint64_t finished_ns_ = 0;         ///< elapsed when the run ended
  uint64_t slowest_default_ns_ = 0;
  uint64_t build_ns_ = 0;         ///< of late: from request to ready
  uint64_t default_cost_ns_ = 0;  ///< of late: checking and timing a default
  uint64_t overhead_ns_ = 0;      ///< of late: what a run takes besides its calls
  uint32_t trials_ = 0;
  uint32_t reopened_at_ = 0;  ///< trials_ when searches were taken up again, plus one
  uint32_t order_ = 0;
  uint32_t chunk_workload_ = 0;
  uint32_t chunk_left_ = 0;
  bool stopping_ = false;
  bool clock_stands_ = false;
  bool storage_lost_ = false;
  void* listener_context_ = nullptr;
  void (*listener_)(void*, const TunerEvent&) = nullptr;

  // The history as it was read.
  uint32_t fingerprint_count_ = 0;
  bool fingerprint_written_ = false;
  uint16_t ordinal_ = 0;  ///< of this run's fingerprint
  bool intent_open_ = false;
  uint32_t intent_workload_ = 0;
  Config intent_config_{};
  uint16_t differs_[kMaxFingerprints] = {};  ///< fields, by ordinal; those past the end count as another device
  Fingerprint fingerprint_{};
  Fingerprint last_fingerprint_{};

  LongMeasurement measurement_{};  ///< of the one candidate that is being timed
  Proposal proposal_{};            ///< of all searchers
  Rematch rematch_{};
};

}  // namespace temper
