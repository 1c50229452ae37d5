// What follows a mapped node and may be fused into its workload: bias, batch normalisation, residual addition,
// activation. Decides legality alone; values are folded by onnx_constants.
#pragma once

#include <string>
#include <vector>

#include "schedules/import/onnx_operators.h"

namespace temper {

/// One constant change of the bias (and filter), in order: an addition per channel, or a batch normalisation.
struct BiasFold {
  std::string added;    ///< constant tensor; empty: a batch normalisation
  int batch_norm = -1;  ///< node
};

struct FusedNode {
  MappedNode mapped;
  std::vector<BiasFold> folds;
  int last = -1;  ///< node after which the step runs: the last one that it covers
};

/// Covers, in this order and as far as legal: additions per channel and batch normalisations by constants, one addition
/// of a tensor of the output's shape, Relu or Clip. Each must be the only reader of what is before it, and not yet
/// covered; covered nodes are marked.
void fuse_epilogue(const OnnxGraph& graph, std::vector<bool>* covered, FusedNode* node);

}  // namespace temper
