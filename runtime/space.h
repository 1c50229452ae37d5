// The config space of one workload on one device: which configs are legal, the default, what follows from a config.
// Made from a PackView; evaluates the template's programs in scratch memory that the caller lends. Never allocates.
#pragma once

#include <cstdint>

#include "runtime/config.h"
#include "runtime/pack_view.h"
#include "runtime/random.h"
#include "temper/temper.h"

namespace temper {

/// What a config means for its execution; results of the template's shape program.
struct Shape {
  int32_t grid;
  int32_t workspace_bytes;  ///< per thread, multiple of 64
  temper_tensor packed_tensor;
  int32_t pack_layout[11];
  int32_t memory;  ///< where packed constant and workspace are to lie; 0 where the template does not tell
};

/// Memory the evaluators work in; sized for the longest program of the pack. One per thread of search.
struct Scratch {
  int32_t* values = nullptr;      ///< PackView::scratch_values() entries
  Interval* intervals = nullptr;  ///< PackView::scratch_intervals() entries; may be the same memory
};

/// A sample in the making: what Space::sample_step keeps from one step to the next. {} starts one.
struct Sampler {
  uint16_t tests = 0;  ///< legality tests, then interval tests, so far
  uint8_t knob = 0;    ///< knob by knob: the one whose choices are tried
  Config config;
  uint8_t left[TEMPER_MAX_KNOBS] = {};  ///< choices of each knob that were not tried yet
  uint32_t upwards = 0;                 ///< bit per knob: the way its choices are walked, round from a random one
};

/// Rejection finds a config with probability 0.87 where one in 1,000 is legal; below that it is not worth more.
inline constexpr uint32_t kRejectionTries = 2048;

class Space;
/// One interval test of a sample that is built knob by knob: Space::descend, or nullptr to do without.
using DescendStep = Status (*)(const Space& space, Random& random, Sampler* sampler);

class Space {
 public:
  Space() = default;
  Space(const PackView* pack, uint32_t workload, const temper_facts* facts, Scratch scratch);

  const TemplateView& view() const { return template_; }
  const WorkloadView& workload() const { return workload_; }
  const temper_facts& facts() const { return *facts_; }
  uint32_t knob_count() const { return template_.knob_count; }
  uint32_t choice_count(uint32_t knob) const { return choice_count_[knob]; }
  int32_t value(uint32_t knob, uint32_t choice) const { return choices_[knob][choice]; }
  /// Product of the choice counts, saturated; illegal configs included.
  uint64_t size() const;
  bool larger_than(uint32_t configs) const;  ///< that size

  /// Exact: constraints hold and, where the pack has variants, one serves the compile knobs.
  bool legal(const Config& config) const;
  /// False only when no completion of the first `chosen` knobs can be legal (interval test).
  bool possible(const Config& config, uint32_t chosen) const;
  /// Index of the variant that serves the compile knobs; -1 when none does or the pack has none.
  int32_t find_variant(const Config& config) const;
  /// Sets the compile knobs to those of a variant of the template.
  void use_variant(uint32_t index, Config* config) const;

  /// The template's default, each wish moved to a listed value (where the pack has no program for that: its default
  /// values); where that is illegal, the nearest legal config found by a bounded search. TEMPER_NOT_FOUND when the
  /// space holds no legal config that the search can find. Code of some size: host tools.
  Status default_config(Config* out) const;
  /// The default values that the pack has for this workload. TEMPER_NOT_FOUND when it has none, or none legal here.
  Status nominal_default(Config* out) const;
  /// A legal config, uniform among the legal ones while one in about 1,000 is legal; else built knob by knob under the
  /// interval test. TEMPER_NOT_FOUND after a bounded number of tries.
  Status sample(Random& random, Config* out) const;
  /// One test of what sample() does. TEMPER_MORE: not found yet. Any other status starts the sampler anew. Without
  /// `by_descent`: rejection alone.
  Status sample_step(Random& random, Sampler* sampler, Config* out, DescendStep by_descent) const;
  static Status descend(const Space& space, Random& random, Sampler* sampler);
  /// `from` with one or two knobs changed, legal or not, perhaps not changed at all; small steps along ordered values
  /// are favoured. Where the pack has variants, their compile knobs move together and count as one.
  Config mutate(Random& random, const Config& from) const;
  /// Steps through all configs in a fixed order, legal or not; false after the last. Start from a zeroed Config.
  bool next(Config* config) const;

  /// Results of the template's programs for a legal config.
  void shape(const Config& config, Shape* out) const;
  uint32_t features(const Config& config, uint8_t out[kMaxFeatures]) const;  ///< returns how many
  int32_t prior_q8(const Config& config) const;  ///< log2 of the predicted time, Q8; lower is better

  void values_of(const Config& config, int32_t out[TEMPER_MAX_KNOBS]) const;
  /// Sets one knob by value; TEMPER_NOT_FOUND when the value is not of this space.
  Status choose(uint32_t knob, uint16_t value, Config* config) const;

 private:
  /// With the config's values, which it puts at the front of the scratch.
  ProgramInputs inputs(const Config& config) const;
  /// The values of the program evaluated last; they lie behind the config's.
  int32_t* results() const { return scratch_.values + knob_count(); }
  void run(const Program& program, const Config& config) const;
  bool has_variants() const;
  /// Of the variants that agree in the compile knobs among the first `chosen`, the one behind `skipped` others; -1 when
  /// there are no more.
  int32_t match_variant(const Config& config, uint32_t chosen, uint32_t skipped = 0) const;
  /// Sets the first knobs by value; false when one is not of this space.
  bool choose_all(Span<const uint16_t> values, Config* config) const;

  // space_search.cc
  bool random_variant(Random& random, Config* config) const;
  Status reject_step(Random& random, Sampler* sampler) const;
  /// Moves one knob, mostly by one step, where there is somewhere to go.
  void move(Random& random, uint32_t knob, Config* config) const;
  uint32_t first_run_knob() const { return has_variants() ? template_.compile_knob_count : 0; }

  // space_descent.cc
  Status descend_step(Random& random, Sampler* sampler) const;
  void enter_knob(Random& random, uint32_t knob, Sampler* sampler) const;

  // space_default.cc
  /// The largest listed value not above the wish, else the smallest.
  uint8_t choice_of(uint32_t knob, int32_t wish) const;
  /// Sets the knobs from `first` on to the template's wishes.
  void wish(uint32_t first, Config* config) const;
  /// `wished` with the compile knobs of the next variant, nearest first; *rank starts at 0. Without variants: `wished`,
  /// once.
  bool next_nearest_variant(const Config& wished, uint32_t* rank, Config* config) const;
  bool step(const Config& from, uint32_t knob, int32_t by, Config* out) const;
  /// Tries to make `base` legal by changing one or two of the knobs from `first` on, nearest first.
  bool repair(const Config& base, uint32_t first, uint32_t* tries, Config* out) const;
  bool repair_pairs(const Config& base, uint32_t knob, int32_t by, uint32_t rest, uint32_t* tries, Config* out) const;

  const PackView* pack_ = nullptr;
  const temper_facts* facts_ = nullptr;
  Scratch scratch_;
  WorkloadView workload_{};
  TemplateView template_{};     ///< behind workload_, which names it: both are read in place, a temporary weighs stack
  uint32_t variant_count_ = 0;  ///< of the template
  uint8_t choice_count_[TEMPER_MAX_KNOBS] = {};
  const uint16_t* choices_[TEMPER_MAX_KNOBS] = {};  ///< the values of each knob: every evaluation reads them
};

}  // namespace temper
