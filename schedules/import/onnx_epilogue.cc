#include "schedules/import/onnx_epilogue.h"

#include <algorithm>
#include <cfloat>

#include "schedules/import/onnx_constants.h"

namespace temper {
namespace {

using onnx::NodeProto;

bool all_constant(const OnnxGraph& graph, const NodeProto& node, int first) {
  for (int i = first; i < node.input_size(); ++i) {
    if (graph.constant(node.input(i)) == nullptr) {
      return false;
    }
  }
  return true;
}

/// Shape of an operand of an Add, filled up with ones to `rank` dimensions; empty when it is unknown or does not fit.
TensorShape aligned_shape(const OnnxGraph& graph, const NodeProto& add, int which, size_t rank) {
  const TensorShape* shape = graph.shape(add.input(which));
  if (shape == nullptr || shape->size() > rank) {
    return {};
  }
  size_t axis = rank - shape->size();
  const NodeAttributes attributes(add);
  // Before operator set 7 only the second operand broadcasts, and only where the node says so.
  if (graph.opset() < 7 && axis > 0) {
    if (which != 1 || attributes.integer("broadcast", 0) == 0) {
      return {};
    }
    const int64_t stated = attributes.integer("axis", static_cast<int64_t>(axis));
    if (stated < 0 || stated > static_cast<int64_t>(axis)) {
      return {};
    }
    axis = static_cast<size_t>(stated);
  }
  TensorShape aligned(rank, 1);
  std::copy(shape->begin(), shape->end(), aligned.begin() + static_cast<std::ptrdiff_t>(axis));
  return aligned;
}

bool runs_along(const TensorShape& aligned, const TensorShape& output, int axis) {
  if (axis < 0 || aligned.size() != output.size()) {
    return false;
  }
  for (size_t i = 0; i < aligned.size(); ++i) {
    if (aligned[i] != 1 && (i != static_cast<size_t>(axis) || aligned[i] != output[i])) {
      return false;
    }
  }
  return true;
}

/// Whether constants may still change the bias: it is absent or constant itself, and nothing comes after it.
bool bias_is_open(const OnnxGraph& graph, const ImportedStep& step) {
  return !step.workload.epilogue.addend && (step.bias.tensor.empty() || graph.constant(step.bias.tensor) != nullptr);
}

bool fuse_add(const OnnxGraph& graph, const NodeProto& add, FusedNode* node) {
  MappedNode& mapped = node->mapped;
  ImportedStep& step = mapped.step;
  const int which = add.input(0) == step.output ? 1 : 0;
  const std::string& other = add.input(which);
  const TensorShape aligned = aligned_shape(graph, add, which, mapped.output_shape.size());
  if (aligned.empty() || aligned_shape(graph, add, 1 - which, mapped.output_shape.size()) != mapped.output_shape) {
    return false;
  }
  Epilogue& epilogue = step.workload.epilogue;
  const bool along_bias = runs_along(aligned, mapped.output_shape, mapped.bias_axis);
  if (along_bias && graph.constant(other) != nullptr && bias_is_open(graph, step)) {
    node->folds.push_back({other, -1});
    epilogue.bias = true;
    return true;
  }
  if (aligned == mapped.output_shape && !epilogue.addend) {
    step.addend = {other, 1.0f, mapped.output_shape};
    epilogue.addend = true;
    return true;
  }
  if (along_bias && !epilogue.bias && !epilogue.addend) {
    step.bias = {other, 1.0f, {mapped.output_shape[static_cast<size_t>(mapped.bias_axis)]}};
    epilogue.bias = true;
    return true;
  }
  return false;
}

bool fuse_batch_norm(const OnnxGraph& graph, int index, FusedNode* node) {
  const NodeProto& norm = graph.node(index);
  const NodeAttributes attributes(norm);
  ImportedStep& step = node->mapped.step;
  const bool inference = attributes.integer("training_mode", 0) == 0 && attributes.integer("spatial", 1) == 1 &&
                         (graph.opset() >= 7 || attributes.integer("is_test", 0) == 1);
  if (!inference || norm.input_size() != 5 || norm.input(0) != step.output || !all_constant(graph, norm, 1)) {
    return false;
  }
  if (step.workload.op != Operator::kConv2d || !step.workload.conv.filter_constant || !bias_is_open(graph, step)) {
    return false;
  }
  for (int i = 1; i < 5; ++i) {
    const TensorShape* shape = graph.shape(norm.input(i));
    if (shape == nullptr || *shape != TensorShape{step.workload.conv.out_channels}) {
      return false;
    }
  }
  node->folds.push_back({"", index});
  step.workload.epilogue.bias = true;
  return true;
}

/// A bound of a Clip: the attribute (before operator set 11) or the constant input. False when it is not known
/// beforehand.
bool clip_bound(const OnnxGraph& graph, const NodeProto& clip, const char* attribute, int input, float* bound) {
  if (graph.opset() < 11) {
    *bound = NodeAttributes(clip).real(attribute, *bound);
    return true;
  }
  if (clip.input_size() <= input || clip.input(input).empty()) {
    return true;
  }
  const onnx::TensorProto* constant = graph.constant(clip.input(input));
  if (constant == nullptr) {
    return false;
  }
  const Result<TensorData> data = read_constant(*constant);
  if (!data || data->values.size() != 1) {
    return false;
  }
  *bound = data->values[0];
  return true;
}

bool fuse_activation(const OnnxGraph& graph, const NodeProto& next, Epilogue* epilogue) {
  if (next.op_type() == "Relu") {
    epilogue->activation = Activation::kRelu;
    return true;
  }
  float low = -FLT_MAX, high = FLT_MAX;
  if (!clip_bound(graph, next, "min", 1, &low) || !clip_bound(graph, next, "max", 2, &high) || !(low <= high)) {
    return false;
  }
  if (low == 0.0f && high >= FLT_MAX) {
    epilogue->activation = Activation::kRelu;
    return true;
  }
  epilogue->activation = Activation::kClip;
  epilogue->low = low;
  epilogue->high = high;
  return true;
}

/// Fuses one node; false when it is not legal or not one of those that can be.
bool fuse_node(const OnnxGraph& graph, int index, FusedNode* node) {
  const NodeProto& next = graph.node(index);
  if ((!next.domain().empty() && next.domain() != "ai.onnx") || next.output_size() < 1) {
    return false;
  }
  if (next.op_type() == "Add" && next.input_size() == 2) {
    return fuse_add(graph, next, node);
  }
  if (next.op_type() == "BatchNormalization") {
    return fuse_batch_norm(graph, index, node);
  }
  if ((next.op_type() == "Relu" || next.op_type() == "Clip") && next.input_size() >= 1 &&
      next.input(0) == node->mapped.step.output) {
    return fuse_activation(graph, next, &node->mapped.step.workload.epilogue);
  }
  return false;
}

}  // namespace

void fuse_epilogue(const OnnxGraph& graph, std::vector<bool>* covered, FusedNode* node) {
  ImportedStep& step = node->mapped.step;
  while (step.workload.epilogue.activation == Activation::kNone) {
    const int next = graph.only_reader(step.output);
    if (next < 0 || (*covered)[static_cast<size_t>(next)] || !fuse_node(graph, next, node)) {
      return;
    }
    (*covered)[static_cast<size_t>(next)] = true;
    node->last = next;
    step.output = graph.node(next).output(0);
  }
}

}  // namespace temper
