// The learner of the `learning` profile and of the host's tuner. A searcher reaches TrialModel and the interval test
// through the table config.learning points to, so that a firmware whose config does not name it links neither.
#pragma once

#include "runtime/arena.h"
#include "runtime/space.h"

namespace temper {

/// What trials of one workload taught, per (knob, choice): a linear model of the log time on top of the cost model's
/// prediction, fitted one trial at a time (a Kalman filter with diagonal covariance), and how often configs with that
/// choice failed.
class TrialModel {
 public:
  /// Knows nothing yet. Takes its entries from the arena.
  TrialModel(Arena& arena, const TemplateView& view);
  /// Places a model in the arena; nullptr where it does not fit, or when the arena only counts.
  static TrialModel* place(Arena& arena, const TemplateView& view);

  /// What to add to the prediction of a config, log2 Q8; lower is better. `explore_q8` favours choices that are little
  /// known.
  int32_t adjust(const Space& space, const Config& config, int32_t predicted_q8, uint32_t explore_q8) const;
  /// A trial's outcome; time_ns as Searcher::observe gets it.
  void learn(const Space& space, const Config& config, temper_outcome outcome, int32_t predicted_q8, uint64_t time_ns);

 private:
  void learn_time(const Space& space, const Config& config, int32_t predicted_q8, uint64_t time_ns, bool lower_bound);
  void learn_validity(const Space& space, const Config& config, bool valid);
  struct Entry {
    int16_t effect_q8;  ///< log2 of time, against the mean
    uint8_t variance;   ///< of the effect, 1/1024
    uint8_t failed, worked;
    uint8_t penalty;  ///< for likely failures, 1/16 of a log2
  };
  void update_penalties(const Space& space);

  Entry* entry_ = nullptr;  ///< the choices of knob 0, then those of knob 1, ...
  uint16_t failed_ = 0, worked_ = 0;
  bool started_ = false;
  int32_t mean_q8_ = 0;  ///< of the log time
  int32_t first_predicted_q8_ = 0;
  int32_t slope_q8_ = 256;  ///< how far the cost model's differences are believed: 1 at first, towards 0 where it errs
  int32_t slope_variance_ = 0;
  int32_t mean_variance_ = 0;
};

}  // namespace temper

struct temper_learning_functions {
  /// TrialModel's place, adjust and learn.
  temper::TrialModel* (*place)(temper::Arena& arena, const temper::TemplateView& view);
  int32_t (*adjust)(const temper::TrialModel& model, const temper::Space& space, const temper::Config& config,
                    int32_t predicted_q8, uint32_t explore_q8);
  void (*learn)(temper::TrialModel& model, const temper::Space& space, const temper::Config& config,
                temper_outcome outcome, int32_t predicted_q8, uint64_t time_ns);
  /// Space::descend.
  temper::DescendStep descend;
};
