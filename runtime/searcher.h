// Searchers: propose configs of one workload's space and learn from trials. One propose/observe interface; the device
// core has random and annealing, and grid for spaces that the budget can hold whole. A proposal is worked out candidate
// by candidate, so that a step of the tuner stays short. Deterministic by seed; no state shared between runs. Called by
// the tuner and by host tools; never measures anything, never allocates.
#pragma once

#include <cstdint>

#include "runtime/arena.h"
#include "runtime/cost_model.h"
#include "runtime/space.h"
#include "runtime/suspect_variants.h"

namespace temper {

/// kCollect: to gather data, half random configs, a quarter where the models point, a quarter around the best.
enum class SearcherKind : uint8_t { kAuto = 0, kGrid, kRandom, kAnnealing, kCollect };
inline constexpr uint32_t kEliteCount = 4;

struct Elite {
  Config config;
  uint64_t time_ns;  ///< 0: empty
};

/// The fastest configs, fastest first.
struct EliteList {
  enum class OfKnown : uint8_t { kOldCounts, kNewCounts };

  /// Kept if it is among the fastest; of equals the older stays ahead. Of a config that is there already the old or the
  /// new time counts.
  void put(const Config& config, uint64_t time_ns, OfKnown of_known);
  void remove(uint32_t index);

  Elite entry[kEliteCount] = {};
  uint8_t count = 0;
};

/// Which configs of a run were proposed: exact up to 32-bit hash collisions, searched from end to end. Observed: a few
/// hundred entries cost less than one test of legality, on a microcontroller too; from some ten thousand on a table
/// would pay.
class VisitedSet {
 public:
  VisitedSet() = default;
  VisitedSet(Arena& arena, uint32_t max_entries);
  bool contains(uint32_t hash) const;
  /// False when full or already there.
  bool insert(uint32_t hash);
  void clear() { count_ = 0; }
  uint32_t count() const { return count_; }
  bool full() const { return count_ >= capacity_; }

 private:
  uint32_t* hashes_ = nullptr;
  uint32_t count_ = 0;
  uint32_t capacity_ = 0;
};

class Searcher;

/// The proposal that is being worked out. One for all searchers of a run: another workload's turn starts it anew.
struct Proposal {
  enum class Stage : uint8_t { kNone, kNear, kClimb, kSeed, kAnneal, kSample, kGrid };

  const Searcher* owner = nullptr;
  Stage stage = Stage::kNone;
  uint8_t turn = 0;    ///< annealing starts in turn at an elite and at a sample
  uint8_t knob = 0;    ///< kClimb: the one that is changed
  uint8_t misses = 0;  ///< illegal candidates in a row
  uint32_t step = 0;
  int32_t best_score = 0;
  int32_t base_score = 0;
  Config best;  ///< new and legal
  Config base;  ///< where the walk stands
  Sampler sampler;
};

class TrialModel;

/// One workload's search. Placed in an arena; Space, VisitedSet and Proposal outlive it.
class Searcher {
 public:
  Searcher() = default;
  /// `learning`: what trials teach beside the elites, and samples of spaces where hardly any config is legal; nullptr:
  /// the cost model alone guides the search, and samples are found by rejection.
  Searcher(Arena& arena, SearcherKind kind, const Space* space, VisitedSet* visited, Proposal* proposal,
           CostModel model, uint64_t seed, const temper_learning_functions* learning = &temper_learning);

  /// Resolves kAuto: grid where the space surely fits in that many trials (0: not known), else annealing.
  void choose_kind(uint32_t trials);

  /// The next config to try: legal, never proposed before in this run; about `effort` model evaluations go into it.
  /// TEMPER_MORE: not found within `candidates` legality tests, each with at most one model evaluation; ask again.
  /// TEMPER_NOT_FOUND: nothing new is left (or could be found within the bounds): the workload is exhausted.
  Status propose(Config* out, uint32_t effort, uint32_t candidates = UINT32_MAX);
  /// Grid only: looks whether any of the next `configs` is left to propose, and notes exhaustion where the grid ends.
  void look_ahead(uint32_t configs);
  /// A config to propose before all others (default, hints); ignored when illegal or visited. The kEliteCount fastest
  /// are kept.
  void hint(const Config& config, uint64_t time_ns = 0);
  /// Marks a config as visited without a proposal or a result of its own. False when it was already.
  bool visit(const Config& config);
  /// Or of a variant that is out.
  bool visited(const Config& config) const;
  /// The result of a trial. time_ns counts for ok and too_slow (there a lower bound); other outcomes teach validity
  /// only.
  void observe(const Config& config, temper_outcome outcome, uint64_t time_ns);
  /// Share of the budget that is spent, 0..256: cools the annealing and narrows proposals towards the incumbent.
  void set_progress(uint32_t spent_q8);

  Span<const Elite> elites() const { return {elites_.entry, elites_.count}; }  ///< fastest first
  uint32_t trial_count() const { return trial_count_; }
  uint32_t failed_in_a_row() const {
    return failed_in_a_row_;
  }  ///< with the same outcome, since anything else happened
  bool exhausted() const { return exhausted_; }
  SearcherKind kind() const { return kind_; }

 private:
  bool take(const Config& config, Config* out);  ///< true when it was new: now it is proposed
  bool propose_hint(Config* out);
  Proposal::Stage choose_stage();
  void enter(Proposal::Stage stage);
  // Each tries one candidate; true when its stage is over.
  bool work(uint32_t effort);
  bool seed_one();
  bool walk_one(uint32_t effort);
  bool climb_one();
  bool sample_one();
  bool grid_one();
  int32_t consider(const Config& config);
  int32_t predict(const Config& config) const;
  int32_t score(const Config& config) const;
  Status sample_step(Config* out);

  SearcherKind kind_ = SearcherKind::kAuto;
  const Space* space_ = nullptr;
  VisitedSet* visited_ = nullptr;
  Proposal* proposal_ = nullptr;
  CostModel model_{};
  Random random_{0};
  uint32_t salt_ = 0;
  EliteList elites_{};
  EliteList hints_{};
  SuspectVariants suspects_{};
  Config cursor_;  ///< grid: the next config
  bool cursor_done_ = false;
  bool exhausted_ = false;
  bool sparse_ = false;  ///< rejection finds no sample
  temper_outcome last_outcome_ = TEMPER_OUTCOME_OK;
  uint32_t trial_count_ = 0;
  uint32_t failed_in_a_row_ = 0;
  uint32_t spent_q8_ = 0;
  const temper_learning_functions* learning_ = nullptr;
  TrialModel* learned_ = nullptr;  ///< nullptr without learning
};

}  // namespace temper
