// Runs an imported graph step by step on given inputs, whatever computes the workloads. For conformance tests.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/span.h"
#include "schedules/import/onnx_import.h"

namespace temper {

/// Computes one workload; an empty text when it was done, else why not.
using ComputeWorkload =
    std::function<std::string(const Workload&, const std::array<const float*, TEMPER_TENSOR_COUNT>&, Span<float>)>;

/// Fills *tensors (the graph's inputs to begin with) with the output of every step. Returns an empty text or what
/// failed.
std::string execute_graph(const ImportedGraph& graph, const ComputeWorkload& compute,
                          std::map<std::string, TensorData>* tensors);

}  // namespace temper
