// Predicts the relative time of configs. The interface that searchers see; the analytic prior is one implementation
// (the template's prior program), a learned model will be another. Lower is better.
#pragma once

#include <cstdint>

#include "runtime/space.h"

namespace temper {

/// predict: log2 of the time in Q8 for each config, up to a constant offset per workload. Must not allocate.
struct CostModel {
  void* self;
  void (*predict)(void* self, const Space& space, Span<const Config> configs, int32_t* log_time_q8);
};

/// The template's own prior: roofline and cache footprint.
CostModel analytic_prior();

}  // namespace temper
