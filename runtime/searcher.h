// Searchers: propose configs of one workload's space and learn from trials. One propose/observe interface; the device core has
// random and annealing, and grid for spaces that the budget can hold whole. Deterministic by seed; no state shared between runs.
#pragma once

#include <cstdint>

#include "runtime/arena.h"
#include "runtime/cost_model.h"
#include "runtime/space.h"

namespace temper {

enum class SearcherKind : uint8_t { kAuto = 0, kGrid, kRandom, kAnnealing };
inline constexpr uint32_t kEliteCount = 4;

struct Elite {
  Config config;
  uint64_t time_ns;  ///< 0: empty
};

/// Which configs of a run were proposed: exact up to 32-bit hash collisions, open addressing. Shared by all workloads of a run.
class VisitedSet {
 public:
  VisitedSet() = default;
  VisitedSet(Arena& arena, uint32_t max_entries);
  bool contains(uint32_t hash) const;
  /// False when full or already there.
  bool insert(uint32_t hash);
  uint32_t count() const { return count_; }

 private:
  uint32_t* slots_ = nullptr;
  uint32_t mask_ = 0;
  uint32_t count_ = 0;
};

/// One workload's search. Placed in an arena; Space and VisitedSet outlive it.
class Searcher {
 public:
  Searcher() = default;
  Searcher(Arena& arena, SearcherKind kind, const Space* space, VisitedSet* visited, CostModel model, uint64_t seed);

  /// The next config to try: legal, never proposed before in this run. Bounded work (about `effort` model evaluations).
  /// TEMPER_NOT_FOUND: nothing new is left (or could be found within the bounds): the workload is exhausted.
  Status propose(Config* out, uint32_t effort);
  /// A config to propose before all others (default, hints); ignored when illegal or visited. At most 8 are kept.
  void hint(const Config& config);
  /// The result of a trial. time_ns counts for ok and too_slow (there a lower bound); other outcomes teach validity only.
  void observe(const Config& config, temper_outcome outcome, uint64_t time_ns);
  /// Share of the budget that is spent, 0..256: cools the annealing and narrows proposals towards the incumbent.
  void set_progress(uint32_t spent_q8);

  Span<const Elite> elites() const { return {elite_, elite_count_}; }  ///< fastest first
  uint32_t trial_count() const { return trial_count_; }
  uint32_t failed_in_a_row() const { return failed_in_a_row_; }
  bool exhausted() const { return exhausted_; }

 private:
  friend struct SearcherInternals;
  SearcherKind kind_ = SearcherKind::kAuto;
  const Space* space_ = nullptr;
  VisitedSet* visited_ = nullptr;
  CostModel model_{};
  Random random_{0};
  uint32_t salt_ = 0;
  Elite elite_[kEliteCount];
  uint8_t elite_count_ = 0;
  Config hint_[8];
  uint8_t hint_count_ = 0;
  Config cursor_;          ///< grid: the next config
  bool cursor_started_ = false;
  bool exhausted_ = false;
  uint32_t trial_count_ = 0;
  uint32_t failed_in_a_row_ = 0;
  uint32_t spent_q8_ = 0;
  int16_t* residual_q8_ = nullptr;    ///< per (knob, choice): mean of measured minus predicted log time, shrunk
  uint16_t* residual_count_ = nullptr;
  uint16_t residual_offset_[TEMPER_MAX_KNOBS] = {};
};

}  // namespace temper
