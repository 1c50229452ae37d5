// Reads ONNX networks: their distinct workloads, and on request each node with the tensors that feed it. Called by the
// tools and by the conformance tests; errors and exceptions of protobuf and ONNX end here, and so do their headers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "schedules/network.h"

namespace temper {

struct ImportOptions {
  std::map<std::string, std::vector<int64_t>> input_shapes;  ///< by graph input; the others keep theirs
  std::map<std::string, int64_t> dimensions;  ///< of named dynamic dimensions; else the first is 1, others are an error
};

/// TEMPER_NOT_FOUND: no such file. TEMPER_BAD_DATA: not ONNX, truncated, sizes missing or not positive.
/// TEMPER_BAD_VERSION: an operator set that this build does not know. TEMPER_INVALID_ARGUMENT: options name an input
/// that is not there.
Result<Network> import_onnx(const std::string& path, const ImportOptions& options);

struct TensorData {
  std::vector<int64_t> shape;
  std::vector<float> values;
};

/// What feeds one operand: a graph input, an output of an earlier step, or a constant.
struct Operand {
  std::string tensor;  ///< empty: absent
  float scale = 1.0f;  ///< multiply by this before use (alpha, beta of a Gemm); 1 for constants: already applied
  std::vector<int64_t>
      shape;  ///< a tensor with another number of elements is broadcast to this, as ONNX does, before use
};

/// One workload in execution order. Operands have the layout that the workload states once broadcast.
struct ImportedStep {
  Workload workload;
  std::string name;  ///< of the node that computes; its first output where it has none
  Operand a, b, bias, addend;
  std::string output;  ///< tensor that it writes, after whatever was fused
};

/// A node that no step covers.
struct UncoveredNode {
  std::string operator_name, name, reason;
};

struct ImportedGraph {
  Network network;
  std::vector<ImportedStep> steps;
  std::vector<UncoveredNode> uncovered;         ///< empty: the steps compute the whole graph
  std::vector<std::string> inputs, outputs;     ///< of the graph, constants left out
  std::map<std::string, TensorData> constants;  ///< f32 constants that the steps use, folded values included
};

/// As import_onnx, with steps and constants. Costs memory for the constants.
Result<ImportedGraph> import_onnx_graph(const std::string& path, const ImportOptions& options);

}  // namespace temper
