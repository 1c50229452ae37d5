#include "schedules/import/onnx_flops.h"

#include <algorithm>

namespace temper {
namespace {

using onnx::NodeProto;

/// What the number of operations follows from.
enum class Basis : uint8_t { kNothing, kOutput, kInput, kPoolWindow, kTransposedConvolution, kRecurrence, kProduct };

struct Kind {
  const char* reason;
  Basis basis;
  uint64_t factor;  ///< operations per element of the basis
};
constexpr Kind kMoves = {"moves data only", Basis::kNothing, 0};
constexpr Kind kShapes = {"computes shapes or indices", Basis::kNothing, 0};
constexpr Kind kElementwise = {"elementwise, and nothing to fuse it into", Basis::kOutput, 1};
constexpr Kind kFunction = {"elementwise function, not tuned", Basis::kOutput, 8};
constexpr Kind kNormalises = {"normalisation, not tuned", Basis::kOutput, 8};
constexpr Kind kReduces = {"reduction, not tuned", Basis::kInput, 1};
constexpr Kind kPools = {"pooling, not tuned", Basis::kPoolWindow, 1};
constexpr Kind kResizes = {"resizing, not tuned", Basis::kOutput, 8};
constexpr Kind kTransposedConv = {"transposed convolution, not tuned", Basis::kTransposedConvolution, 2};
constexpr Kind kRecurs = {"recurrent, not tuned", Basis::kRecurrence, 2};
constexpr Kind kQuantised = {"8-bit arithmetic is not tuned", Basis::kProduct, 2};
constexpr Kind kConverts = {"converts types, not tuned", Basis::kOutput, 2};
constexpr Kind kControls = {"control flow: its inner graphs are not looked into", Basis::kNothing, 0};
constexpr Kind kUnknown = {"temper does not know this operator", Basis::kNothing, 0};

struct KnownOperator {
  const char* op_type;
  const Kind& kind;
};
constexpr KnownOperator kKnown[] = {
    {"Concat", kMoves},
    {"DepthToSpace", kMoves},
    {"Dropout", kMoves},
    {"Expand", kMoves},
    {"Flatten", kMoves},
    {"Gather", kMoves},
    {"GatherElements", kMoves},
    {"GatherND", kMoves},
    {"Identity", kMoves},
    {"Pad", kMoves},
    {"Reshape", kMoves},
    {"ScatterElements", kMoves},
    {"ScatterND", kMoves},
    {"Slice", kMoves},
    {"SpaceToDepth", kMoves},
    {"Split", kMoves},
    {"Squeeze", kMoves},
    {"Tile", kMoves},
    {"Transpose", kMoves},
    {"Unsqueeze", kMoves},
    {"ConstantOfShape", kShapes},
    {"NonZero", kShapes},
    {"OneHot", kShapes},
    {"Range", kShapes},
    {"Shape", kShapes},
    {"Size", kShapes},
    {"Abs", kElementwise},
    {"Add", kElementwise},
    {"Ceil", kElementwise},
    {"Clip", kElementwise},
    {"Div", kElementwise},
    {"Equal", kElementwise},
    {"Floor", kElementwise},
    {"Greater", kElementwise},
    {"HardSigmoid", kElementwise},
    {"HardSwish", kElementwise},
    {"LeakyRelu", kElementwise},
    {"Less", kElementwise},
    {"Max", kElementwise},
    {"Min", kElementwise},
    {"Mul", kElementwise},
    {"Neg", kElementwise},
    {"PRelu", kElementwise},
    {"Reciprocal", kElementwise},
    {"Relu", kElementwise},
    {"Sub", kElementwise},
    {"Sum", kElementwise},
    {"Where", kElementwise},
    {"Elu", kFunction},
    {"Erf", kFunction},
    {"Exp", kFunction},
    {"Log", kFunction},
    {"Pow", kFunction},
    {"Selu", kFunction},
    {"Sigmoid", kFunction},
    {"Softplus", kFunction},
    {"Sqrt", kFunction},
    {"Tanh", kFunction},
    {"BatchNormalization", kNormalises},
    {"InstanceNormalization", kNormalises},
    {"LRN", kNormalises},
    {"LayerNormalization", kNormalises},
    {"LogSoftmax", kNormalises},
    {"LpNormalization", kNormalises},
    {"Softmax", kNormalises},
    {"ArgMax", kReduces},
    {"ArgMin", kReduces},
    {"GlobalAveragePool", kReduces},
    {"GlobalMaxPool", kReduces},
    {"ReduceL2", kReduces},
    {"ReduceMax", kReduces},
    {"ReduceMean", kReduces},
    {"ReduceMin", kReduces},
    {"ReduceProd", kReduces},
    {"ReduceSum", kReduces},
    {"TopK", kReduces},
    {"AveragePool", kPools},
    {"LpPool", kPools},
    {"MaxPool", kPools},
    {"Resize", kResizes},
    {"Upsample", kResizes},
    {"ConvTranspose", kTransposedConv},
    {"GRU", kRecurs},
    {"LSTM", kRecurs},
    {"RNN", kRecurs},
    {"ConvInteger", kQuantised},
    {"MatMulInteger", kQuantised},
    {"QLinearConv", kQuantised},
    {"QLinearMatMul", kQuantised},
    {"Cast", kConverts},
    {"DequantizeLinear", kConverts},
    {"DynamicQuantizeLinear", kConverts},
    {"QuantizeLinear", kConverts},
    {"If", kControls},
    {"Loop", kControls},
    {"Scan", kControls},
};

const Kind& kind_of(const NodeProto& node) {
  const auto found = std::find_if(std::begin(kKnown), std::end(kKnown),
                                  [&](const KnownOperator& known) { return node.op_type() == known.op_type; });
  const bool standard = node.domain().empty() || node.domain() == "ai.onnx";
  return standard && found != std::end(kKnown) ? found->kind : kUnknown;
}

/// Product of the sizes from dimension `from` on; 0 when the tensor is absent or its shape unknown.
uint64_t sizes_product(const OnnxGraph& graph, const std::string& tensor, size_t from = 0) {
  const TensorShape* shape = tensor.empty() ? nullptr : graph.shape(tensor);
  if (shape == nullptr || shape->size() < from) {
    return 0;
  }
  return static_cast<uint64_t>(
      std::max<int64_t>(0, element_count({shape->begin() + static_cast<std::ptrdiff_t>(from), shape->end()})));
}

uint64_t size_of(const OnnxGraph& graph, const std::string& tensor, size_t dimension) {
  const TensorShape* shape = graph.shape(tensor);
  return shape == nullptr || shape->size() <= dimension ? 0 : static_cast<uint64_t>((*shape)[dimension]);
}

/// X [sequence, batch, in], W [directions, gates x hidden, in], R [directions, gates x hidden, hidden].
uint64_t recurrence(const OnnxGraph& graph, const NodeProto& node) {
  if (node.input_size() < 3) {
    return 0;
  }
  const uint64_t steps = size_of(graph, node.input(0), 0) * size_of(graph, node.input(0), 1);
  return steps * (sizes_product(graph, node.input(1)) + sizes_product(graph, node.input(2)));
}

/// Multiply-adds of an 8-bit matmul or convolution; the second operand is input 1, or 3 where each has its scale and
/// zero point.
uint64_t product(const OnnxGraph& graph, const NodeProto& node) {
  const bool scaled = node.op_type().rfind("QLinear", 0) == 0;
  const int second = scaled ? 3 : 1;
  if (node.input_size() <= second || node.output_size() < 1) {
    return 0;
  }
  const uint64_t out = sizes_product(graph, node.output(0));
  if (node.op_type().find("Conv") != std::string::npos) {
    return out * sizes_product(graph, node.input(second), 1);
  }
  const TensorShape* a = graph.shape(node.input(0));
  return a == nullptr || a->empty() ? 0 : out * static_cast<uint64_t>(a->back());
}

uint64_t basis_elements(const OnnxGraph& graph, const NodeProto& node, Basis basis) {
  const std::string first = node.input_size() > 0 ? node.input(0) : "";
  const std::string out = node.output_size() > 0 ? node.output(0) : "";
  switch (basis) {
    case Basis::kNothing:
      return 0;
    case Basis::kOutput:
      return sizes_product(graph, out);
    case Basis::kInput:
      return sizes_product(graph, first);
    case Basis::kPoolWindow:
      return sizes_product(graph, out) * static_cast<uint64_t>(std::max<int64_t>(
                                             1, element_count(NodeAttributes(node).integers("kernel_shape", {}))));
    case Basis::kTransposedConvolution:
      return node.input_size() < 2 ? 0 : sizes_product(graph, first) * sizes_product(graph, node.input(1), 1);
    case Basis::kRecurrence:
      return recurrence(graph, node);
    case Basis::kProduct:
      return product(graph, node);
  }
  return 0;
}

}  // namespace

NodeCost cost_of(const OnnxGraph& graph, int index) {
  const NodeProto& node = graph.node(index);
  const Kind& kind = kind_of(node);
  return {kind.reason, kind.factor * basis_elements(graph, node, kind.basis)};
}

}  // namespace temper
