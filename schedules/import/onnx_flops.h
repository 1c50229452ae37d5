// What a node that temper does not tune costs, and why it is not tuned. Called by the importer for the table of skipped
// operators; an estimate for the share of the arithmetic, never used for tuning.
#pragma once

#include <string>

#include "schedules/import/onnx_graph.h"

namespace temper {

struct NodeCost {
  std::string reason;
  uint64_t flops = 0;  ///< 0: none to speak of, or unknown
};

NodeCost cost_of(const OnnxGraph& graph, int index);

}  // namespace temper
