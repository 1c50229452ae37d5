#include "tests/integration/graph_execution.h"

namespace temper {
namespace {

size_t elements(const std::vector<int64_t>& shape) {
  size_t count = 1;
  for (int64_t size : shape) {
    count *= static_cast<size_t>(size);
  }
  return count;
}

/// ONNX's broadcasting: dimensions are aligned at the last one.
std::vector<float> broadcast(const TensorData& from, const std::vector<int64_t>& shape) {
  if (from.values.size() == elements(shape)) {
    return from.values;
  }
  std::vector<float> out(elements(shape));
  for (size_t i = 0; i < out.size(); ++i) {
    size_t rest = i, source = 0, stride = 1;
    for (size_t d = 0; d < shape.size(); ++d) {
      const size_t size = static_cast<size_t>(shape[shape.size() - 1 - d]);
      const size_t own = d < from.shape.size() ? static_cast<size_t>(from.shape[from.shape.size() - 1 - d]) : 1;
      source += own == 1 ? 0 : rest % size * stride;
      stride *= own;
      rest /= size;
    }
    out[i] = from.values[source];
  }
  return out;
}

const TensorData* find_tensor(const ImportedGraph& graph, const std::map<std::string, TensorData>& tensors,
                              const std::string& name) {
  const auto constant = graph.constants.find(name);
  if (constant != graph.constants.end()) {
    return &constant->second;
  }
  const auto computed = tensors.find(name);
  return computed == tensors.end() ? nullptr : &computed->second;
}

}  // namespace

std::string execute_graph(const ImportedGraph& graph, const ComputeWorkload& compute,
                          std::map<std::string, TensorData>* tensors) {
  for (const ImportedStep& step : graph.steps) {
    const std::array<uint32_t, TEMPER_TENSOR_COUNT> sizes = tensor_elements(step.workload);
    const std::array<const Operand*, TEMPER_TENSOR_COUNT> operands = {nullptr, &step.a, &step.b, &step.bias,
                                                                      &step.addend};
    std::array<std::vector<float>, TEMPER_TENSOR_COUNT> values;
    std::array<const float*, TEMPER_TENSOR_COUNT> inputs{};
    for (size_t i = TEMPER_IN_A; i < TEMPER_TENSOR_COUNT; ++i) {
      if (operands[i]->tensor.empty()) {
        continue;
      }
      const TensorData* tensor = find_tensor(graph, *tensors, operands[i]->tensor);
      if (tensor == nullptr) {
        return step.name + " reads '" + operands[i]->tensor + "', which no step before it writes";
      }
      values[i] = broadcast(*tensor, operands[i]->shape);
      for (float& value : values[i]) {
        value *= operands[i]->scale;
      }
      if (values[i].size() != sizes[i]) {
        return step.name + ": '" + operands[i]->tensor + "' has not the size that the workload states";
      }
      inputs[i] = values[i].data();
    }
    std::vector<float> out(sizes[TEMPER_OUT], -1e30f);
    const std::string failure = compute(step.workload, inputs, {out.data(), out.size()});
    if (!failure.empty()) {
      return step.name + ": " + failure;
    }
    (*tensors)[step.output] = {{static_cast<int64_t>(out.size())}, std::move(out)};
  }
  return "";
}

}  // namespace temper
