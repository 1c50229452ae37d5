// Conv, Gemm and MatMul nodes as workloads, with the tensors that feed them. Called once per such node by the importer;
// fuses nothing.
#pragma once

#include <string>

#include "schedules/import/onnx_graph.h"

namespace temper {

/// A node that may become a step. Epilogue operands are filled in by onnx_epilogue.
struct MappedNode {
  ImportedStep step;
  std::string skip_reason;   ///< not empty: temper has no workload for it
  uint64_t flops = 0;        ///< of a skipped node, 0 when unknown
  TensorShape output_shape;  ///< as ONNX has it
  int bias_axis = -1;        ///< dimension of output_shape along which a bias runs; -1: none does
};

/// Skip reason of a node whose operands have no known shapes.
inline constexpr const char* kUnknownShapes = "the shapes of its operands are unknown: they depend on data";

bool is_mapped_operator(const onnx::NodeProto& node);

/// TEMPER_BAD_DATA when the node breaks the rules of its operator.
Result<MappedNode> map_node(const OnnxGraph& graph, int index);

}  // namespace temper
