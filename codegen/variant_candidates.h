// The variants that a pack for a network could hold: of each workload's space on one machine, the compile-knob values
// of the configs that the prior ranks first (and of those that were measured), each with its best predicted or measured
// time on every workload. Called by kernel_pack. Compiles nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/pack_selection.h"
#include "schedules/spaces.h"

namespace temper {

/// One config's time, from a history. Knobs as histories store them.
struct MeasuredTime {
  struct KnobValue {
    uint16_t id, value;
  };
  uint64_t workload_key;
  std::vector<KnobValue> knobs;
  double time_ns;
};

struct CandidateSet {
  std::vector<PackVariant> variants;
  SelectionProblem problem;  ///< candidates by the index of `variants`; their bytes are still 0
};

/// Times are searched with the runtime's own searcher on the prior. Measured times replace predicted ones workload by
/// workload: what was not measured there counts as predicted, on the measured scale, but never as faster than the
/// fastest measured. Deterministic. TEMPER_NOT_FOUND when a workload has no legal config on these facts.
Result<CandidateSet> find_candidates(const std::vector<NetworkWorkload>& workloads, const temper_facts& facts,
                                     const std::vector<MeasuredTime>& measured);

}  // namespace temper
