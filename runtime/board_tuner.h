// The tuner of a device: one workload at a time, one candidate at a time, in bounded steps and with memory that does
// not grow with the trials. Keeps the promises of the host's Tuner: the default first, candidates checked before they
// are timed and cut early, everything recorded, a rematch before a commit, the budget kept. Called by the C API. Never
// allocates; never starts what the budget cannot hold.
#pragma once

#include <cstdint>

#include "runtime/compaction.h"
#include "runtime/lookup.h"
#include "runtime/measurement.h"
#include "runtime/paired_comparison.h"
#include "runtime/runner.h"
#include "runtime/searcher.h"
#include "temper/temper.h"

namespace temper {

/// Durations of a run are counted in ticks of 16.384 us, so that 32 bits hold 19 hours; a budget beyond is cut to them.
inline constexpr uint32_t kTickShift = 14;

/// How candidates are measured on a device.
inline constexpr MeasurementLimits kLimits{};

/// A run that collects only measures: it leaves out nothing that is committed, and commits nothing.
enum class RunPurpose : uint8_t { kTune, kCollect };

class BoardTuner {
 public:
  /// What it wants to search in: max_trials visited configs, and the learner's entries of the pack's largest template.
  static size_t search_bytes(const temper_config& config, const PackView& pack);
  /// `search_memory` holds search_bytes, aligned to 8. `history` nullptr: results stay in memory. All outlive the
  /// tuner.
  BoardTuner(const temper_config* config, CurrentSpace* spaces, Lookup* lookup, History* history,
             const Fingerprint* fingerprint, const Runner& runner, void* search_memory);

  /// Tells that the history held such a frame at boot: what concerns a workload is read when it is its turn.
  void note_history(FrameType type) { old_trials_ = old_trials_ || type >= FrameType::kWorkload; }

  /// TEMPER_INVALID_ARGUMENT while a run goes on. A config whose trial never ended is
  /// recorded as crashed when its workload's turn comes.
  Status start(const temper_budget& budget, RunPurpose purpose);
  /// TEMPER_MORE, TEMPER_OK when complete; TEMPER_NOTHING_TO_TUNE when every config tried failed; TEMPER_BUDGET_SPENT
  /// when the budget did not reach for a single trial; TEMPER_PORT_ERROR when the clock stands still.
  Status step();
  /// No more proposals: the workload in turn gets a rematch of a second at most, the others wait for the next run.
  void stop();

  bool running() const { return run_.phase != Phase::kIdle; }
  void progress(temper_progress* out) const;

 private:
  enum class Phase : uint8_t { kIdle, kDefaults, kNext, kSearch, kRematch };
  enum class Activity : uint8_t { kNone, kBuilding, kChecking, kTiming };

  /// What a run starts with as zeros. Durations are ticks since the start.
  struct Run {
    mutable uint64_t started_ns = 0;  ///< moved where the clock ran backwards
    mutable uint64_t latest_ns = 0;   ///< that the clock showed
    Phase phase = Phase::kIdle;
    Activity activity = Activity::kNone;
    bool is_default = false;     ///< the candidate is the workload's default
    bool cut_by_budget = false;  ///< a limit is what the budget leaves, not what the candidate deserves
    bool intent_written = false;
    bool stopping = false;
    bool clock_stands = false;
    bool any_works = false;  ///< some config of some workload works, in this run or by its commit
    bool any_left = false;   ///< a workload's default was not reached
    temper_outcome last_outcome = TEMPER_OUTCOME_OK;
    uint32_t end = 0;          ///< of the budget
    uint32_t share_begin = 0;  ///< of the workload's share of it
    uint32_t share_end = 0;
    uint32_t candidate_began = 0;
    uint32_t checked_ns = 0;  ///< what the candidate's check took; 0: samples are not held against it
    uint32_t trial_cost = 0;  ///< of late: a trial
    uint32_t slowest_default = 0;
    uint32_t trials = 0;
    uint32_t trial_limit = 0;  ///< of the run
    uint32_t per_workload = 0;
    uint32_t own_limit = 0;      ///< trials of the workload, those of the history included
    uint32_t next_workload = 0;  ///< the first whose default was not looked at
    uint32_t finished = 0;       ///< when the run ended
    RunPurpose purpose = RunPurpose::kTune;
  };

  /// Contestant 0 is the default.
  struct Rematch {
    const Config* config[kMaxContestants];
    uint32_t calls;  ///< in a sample, of each
    uint32_t end;    ///< no round starts that would end later, once there is something to decide on
    uint32_t round_began, round_ticks;
    uint8_t count;        ///< contestants
    uint8_t place;        ///< within the round
    uint8_t loaded;       ///< whose kernel the runner holds
    uint8_t checked_set;  ///< a bit for each contestant that passed its check,
    uint8_t out_set;      ///< and for each that failed or was found not faster
    PairedComparison comparison;
  };
  static constexpr uint32_t kSharedBytes = sizeof(Rematch) > sizeof(Proposal) ? sizeof(Rematch) : sizeof(Proposal);

  // board_tuner.cc: the run, from one workload to the next.
  uint32_t elapsed() const;
  uint32_t left(uint32_t end) const;
  bool may_start() const;
  void next_default();
  Status next_workload();
  uint32_t weight_of(uint32_t workload) const;
  void begin_search(uint32_t fraction, uint32_t others);
  void select(uint32_t workload);
  void search_step();
  bool may_search() const;
  uint32_t reserved() const;
  uint32_t spent_q8() const;
  void end_search();
  uint32_t trials_to_confirm() const;
  void confirm();
  void search_anew();
  Status finish();
  WorkloadNote& note() const { return *note_; }
  uint32_t default_ns() const;
  uint32_t best_ns() const;
  const Space& space() const { return spaces_->select(workload_); }
  bool default_works() const { return note().default_time != 0 && (note().flags & kDefaultFailed) == 0; }

  // board_trial.cc: one candidate, from its build to its record.
  void begin_candidate(const Config& config);
  void poll();
  void on_built(temper_outcome outcome);
  void begin_run(RunKind kind, uint32_t calls);
  uint32_t reference_ns() const;
  void on_run(const RunResult& result);
  void on_sample(uint32_t elapsed_ns);
  void next_sample();
  void on_cut();
  void release();
  void fail(temper_outcome outcome);
  void record(temper_outcome outcome);
  void finish_trial(temper_outcome outcome, bool timed);
  void note_default(temper_outcome outcome, uint32_t median_ns);

  // board_resume.cc: what the history tells, and what is written to it.
  static void visit_frame(void* self, const FrameView& frame);
  void load_history();
  bool means(uint16_t template_id, uint16_t template_version, const Span<const format::KnobValue>& knobs,
             Config* config) const;
  void load_intent(const FrameView& frame);
  void load_trial(const FrameView& frame);
  bool write_frames();
  bool check_storage();
  bool make_room();
  void keep_trial(temper_outcome outcome, bool timed);

  // board_rematch.cc: the best few against the default.
  Rematch& rematch() { return *rematch_; }
  bool begin_rematch();
  void rematch_step();
  void rematch_built();
  void rematch_sample(uint32_t elapsed_ns);
  void drop_contestant();
  bool end_of_round();
  void end_rematch(bool decided);
  void conclude(const Config& config, uint32_t default_ns, uint32_t tuned_ns);

  Run run_;  // first: code reaches what is near the start of an object with shorter instructions
  const temper_config* config_ = nullptr;
  CurrentSpace* spaces_ = nullptr;
  Lookup* lookup_ = nullptr;
  History* history_ = nullptr;
  const Fingerprint* fingerprint_ = nullptr;
  uint8_t* search_memory_ = nullptr;  ///< visited configs and learner, placed anew for each workload
  uint32_t search_bytes_ = 0;
  uint32_t workload_ = 0;
  WorkloadNote* note_ = nullptr;  ///< of workload_
  uint32_t full_at_ = 0;          ///< the history's end where a compaction would not free enough
  uint16_t ordinal_ = 0;          ///< of this device's fingerprint, once it is written
  bool fingerprint_written_ = false;
  bool storage_lost_ = false;
  bool compacting_ = false;
  bool old_trials_ = false;   ///< the history held something when it was opened
  bool intent_open_ = false;  ///< while the history is read: candidate_ is the config of an intent without a trial
  Runner runner_{};
  Rematch* rematch_ = nullptr;  ///< in shared_, while there is one
  VisitedSet visited_;
  union {
    Config default_;  ///< of workload_
  };
  union {
    Config candidate_;
  };
  union {  // made where a trial begins, where the history is full before one
    Measurement measurement_;
    Compaction compaction_;
  };
  union {  // made where a workload's turn begins
    Searcher searcher_;
  };
  alignas(8) uint8_t shared_[kSharedBytes];  ///< the proposal while searching, then the rematch
};

/// Tells the log, where there is one, that the history takes no more.
void log_memory_only(const temper_port& port);

}  // namespace temper
