// The conformance cases of libonnx-testdata that hold a node temper tunes: found by reading the models, never picked by
// hand.
#pragma once

#include <string>
#include <vector>

#include "schedules/import/onnx_import.h"

namespace temper {

struct OnnxCase {
  std::string name;   ///< folder/case
  std::string model;  ///< path of model.onnx
  std::string data;   ///< path of its first data set
};

/// Sorted by name: every case of the folders node, pytorch-converted and pytorch-operator with a Conv, Gemm or MatMul.
std::vector<OnnxCase> conformance_cases(const std::string& root);

/// input_0.pb, ... or output_0.pb, ... of a data set.
Result<std::vector<TensorData>> read_tensors(const std::string& data, const std::string& kind);

}  // namespace temper
