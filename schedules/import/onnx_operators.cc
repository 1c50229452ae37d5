#include "schedules/import/onnx_operators.h"

#include <algorithm>

namespace temper {
namespace {

using onnx::NodeProto;

MappedNode skipped(const std::string& reason, uint64_t flops_of_it = 0) {
  MappedNode node;
  node.skip_reason = reason;
  node.flops = flops_of_it;
  return node;
}

std::string type_name(int type) {
  return onnx::TensorProto_DataType_IsValid(type)
             ? onnx::TensorProto_DataType_Name(static_cast<onnx::TensorProto_DataType>(type))
             : std::to_string(type);
}

/// Why the operands are not tuned though their arithmetic can be counted; empty when their type is f32.
std::string foreign_type(const OnnxGraph& graph, const NodeProto& node) {
  for (int i = 0; i < 2; ++i) {
    const int type = graph.element_type(node.input(i));
    if (type != onnx::TensorProto_DataType_FLOAT && type != onnx::TensorProto_DataType_UNDEFINED) {
      return "its type is " + type_name(type) + ", not f32";
    }
  }
  return "";
}

/// Why nothing can be said of the operands; empty when their shapes are known and positive.
std::string unusable_shape(const OnnxGraph& graph, const NodeProto& node) {
  for (int i = 0; i < 2; ++i) {
    const std::string& tensor = node.input(i);
    const TensorShape* shape = graph.shape(tensor);
    if (shape == nullptr) {
      return kUnknownShapes;
    }
    if (std::any_of(shape->begin(), shape->end(), [](int64_t size) { return size > INT32_MAX; })) {
      return "'" + tensor + "' has 2^31 or more elements along one dimension; split it";
    }
    if (std::any_of(shape->begin(), shape->end(), [](int64_t size) { return size < 1; })) {
      return "'" + tensor + "' is empty";
    }
  }
  return "";
}

/// Multiply-adds counted twice; the filter of a convolution is [out channels, ...], one sum takes the rest of it.
uint64_t arithmetic(const MappedNode& node) {
  const TensorShape& filter = node.step.b.shape;
  const int64_t terms = node.step.workload.op == Operator::kConv2d
                            ? element_count(TensorShape(filter.begin() + 1, filter.end()))
                            : node.step.workload.matmul.k;
  return 2 * static_cast<uint64_t>(element_count(node.output_shape)) * static_cast<uint64_t>(terms);
}

MappedNode finished(MappedNode node) {
  const Result<Workload> workload = validated(node.step.workload);
  if (!workload) {
    return skipped(workload.error().message, arithmetic(node));
  }
  node.step.workload = *workload;
  return node;
}

// ---- Conv ----

/// One spatial dimension of a convolution.
struct Window {
  int64_t size = 1, kernel = 1, stride = 1, dilation = 1, begin = 0, end = 0;
  int64_t out() const { return (size + begin + end - dilation * (kernel - 1) - 1) / stride + 1; }
};

/// SAME of ONNX's Conv: ceil(size / stride) outputs, the odd element of padding at the end (UPPER) or at the beginning
/// (LOWER).
void pad_same(Window* window, bool upper) {
  const int64_t out = (window->size + window->stride - 1) / window->stride;
  const int64_t total =
      std::max<int64_t>(0, (out - 1) * window->stride + window->dilation * (window->kernel - 1) + 1 - window->size);
  window->begin = upper ? total / 2 : total - total / 2;
  window->end = total - window->begin;
}

Result<std::vector<Window>> read_windows(const OnnxGraph& graph, int index, const TensorShape& x,
                                         const TensorShape& w) {
  const NodeAttributes attributes(graph.node(index));
  const size_t rank = x.size() - 2;
  const std::vector<int64_t> ones(rank, 1);
  const auto strides = attributes.integers("strides", ones);
  const auto dilations = attributes.integers("dilations", ones);
  const auto pads = attributes.integers("pads", std::vector<int64_t>(2 * rank, 0));
  const auto kernel = attributes.integers("kernel_shape", {w.begin() + 2, w.end()});
  if (strides.size() != rank || dilations.size() != rank || pads.size() != 2 * rank) {
    return graph.node_error(index, "strides, dilations or pads have not one entry per dimension");
  }
  if (!std::equal(kernel.begin(), kernel.end(), w.begin() + 2, w.end())) {
    return graph.node_error(index, "kernel_shape differs from the shape of its filter");
  }
  const auto sound = [](int64_t least) { return [least](int64_t v) { return v >= least && v <= INT32_MAX; }; };
  if (!std::all_of(strides.begin(), strides.end(), sound(1)) || !std::all_of(pads.begin(), pads.end(), sound(0)) ||
      !std::all_of(dilations.begin(), dilations.end(), sound(1))) {
    return graph.node_error(index, "strides and dilations must be at least 1, pads at least 0, all below 2^31");
  }
  const std::string auto_pad = attributes.text("auto_pad", "NOTSET");
  if (auto_pad != "NOTSET" && auto_pad != "VALID" && auto_pad != "SAME_UPPER" && auto_pad != "SAME_LOWER") {
    return graph.node_error(index, "auto_pad '" + auto_pad + "' is none of ONNX's");
  }
  std::vector<Window> windows(rank);
  for (size_t i = 0; i < rank; ++i) {
    windows[i] = {x[i + 2], w[i + 2], strides[i], dilations[i], 0, 0};
    if (auto_pad == "NOTSET") {
      windows[i].begin = pads[i];
      windows[i].end = pads[i + rank];
    } else if (auto_pad != "VALID") {
      pad_same(&windows[i], auto_pad == "SAME_UPPER");
    }
  }
  return windows;
}

Conv2dShape conv_shape(const TensorShape& x, const TensorShape& w, const Window& rows, const Window& columns,
                       int64_t groups) {
  const auto narrow = [](int64_t value) { return static_cast<int32_t>(std::min<int64_t>(value, INT32_MAX)); };
  Conv2dShape s;
  s.batch = narrow(x[0]), s.channels = narrow(x[1]), s.out_channels = narrow(w[0]);
  s.height = narrow(rows.size), s.width = narrow(columns.size);
  s.kernel_h = narrow(rows.kernel), s.kernel_w = narrow(columns.kernel);
  s.stride_h = narrow(rows.stride), s.stride_w = narrow(columns.stride);
  s.pad_top = narrow(rows.begin), s.pad_left = narrow(columns.begin);
  s.pad_bottom = narrow(rows.end), s.pad_right = narrow(columns.end);
  s.dilation_h = narrow(rows.dilation), s.dilation_w = narrow(columns.dilation);
  s.groups = narrow(groups);
  return s;
}

Result<MappedNode> map_conv(const OnnxGraph& graph, int index) {
  const NodeProto& node = graph.node(index);
  const TensorShape& x = *graph.shape(node.input(0));
  const TensorShape& w = *graph.shape(node.input(1));
  const int64_t groups = NodeAttributes(node).integer("group", 1);
  if (x.size() < 3 || w.size() != x.size()) {
    return graph.node_error(index, "image and filter must have the same number of dimensions, at least 3");
  }
  if (groups < 1 || groups > INT32_MAX || w[1] * groups != x[1] || w[0] % groups != 0) {
    return graph.node_error(index, "image has " + std::to_string(x[1]) + " channels, its filter takes " +
                                       std::to_string(w[1]) + " in each of " + std::to_string(groups) + " groups");
  }
  Result<std::vector<Window>> windows = read_windows(graph, index, x, w);
  if (!windows) {
    return windows.error();
  }
  TensorShape out = {x[0], w[0]};
  for (const Window& window : *windows) {
    if (window.dilation * (window.kernel - 1) + 1 > window.size + window.begin + window.end) {
      return graph.node_error(index, "its output is empty: the kernel is larger than the padded image");
    }
    out.push_back(window.out());
  }
  MappedNode mapped;
  mapped.step.workload.op = Operator::kConv2d;
  mapped.step.a = {node.input(0), 1.0f, x};
  mapped.step.b = {node.input(1), 1.0f, w};
  mapped.output_shape = out;
  mapped.bias_axis = 1;
  if (windows->size() > 2) {
    return skipped("convolutions over more than two dimensions are not tuned", arithmetic(mapped));
  }
  const Window rows = windows->size() == 2 ? (*windows)[0] : Window();
  mapped.step.workload.conv = conv_shape(x, w, rows, windows->back(), groups);
  mapped.step.workload.conv.filter_constant = graph.constant(node.input(1)) != nullptr;
  if (node.input_size() > 2 && !node.input(2).empty()) {
    mapped.step.workload.epilogue.bias = true;
    mapped.step.bias = {node.input(2), 1.0f, {w[0]}};
  }
  return finished(mapped);
}

// ---- Gemm, MatMul ----

struct MatrixOperand {
  std::string tensor;
  TensorShape shape;  ///< as stored
  bool transposed = false;
};

/// A tensor as stored: what a Transpose of the last two dimensions reads, where one stands before the operator.
MatrixOperand matrix_operand(const OnnxGraph& graph, const std::string& tensor) {
  const MatrixOperand direct{tensor, *graph.shape(tensor), false};
  const int producer = graph.producer(tensor);
  if (producer < 0 || graph.node(producer).op_type() != "Transpose" || direct.shape.size() < 2) {
    return direct;
  }
  const size_t rank = direct.shape.size();
  std::vector<int64_t> swapped(rank);
  for (size_t i = 0; i < rank; ++i) {
    swapped[i] = static_cast<int64_t>(i);
  }
  std::swap(swapped[rank - 1], swapped[rank - 2]);
  const NodeProto& transpose = graph.node(producer);
  const auto perm = NodeAttributes(transpose).integers("perm", rank == 2 ? swapped : std::vector<int64_t>());
  const TensorShape* source = graph.shape(transpose.input(0));
  if (perm != swapped || source == nullptr || source->size() != rank) {
    return direct;
  }
  return {transpose.input(0), *source, true};
}

bool is_constant(const OnnxGraph& graph, const Operand& operand) { return graph.constant(operand.tensor) != nullptr; }

Result<MappedNode> finished_matmul(const OnnxGraph& graph, MappedNode mapped) {
  MatmulShape& s = mapped.step.workload.matmul;
  s.a_constant = is_constant(graph, mapped.step.a);
  s.b_constant = is_constant(graph, mapped.step.b);
  if (s.a_constant && s.b_constant) {
    return skipped("both operands are constant: its result is known beforehand");
  }
  return finished(mapped);
}

/// C of a Gemm, broadcast to M x N: along N it is a bias, else an addend.
void set_gemm_addition(const OnnxGraph& graph, const std::string& tensor, float beta, MappedNode* mapped) {
  const TensorShape* shape = graph.shape(tensor);
  const int64_t n = mapped->output_shape[1];
  const bool along_n =
      shape != nullptr && (element_count(*shape) == 1 || (element_count(*shape) == n && shape->back() == n));
  Operand& operand = along_n ? mapped->step.bias : mapped->step.addend;
  operand = {tensor, beta, along_n ? TensorShape{n} : mapped->output_shape};
  mapped->step.workload.epilogue.bias = along_n;
  mapped->step.workload.epilogue.addend = !along_n;
}

Result<MappedNode> map_gemm(const OnnxGraph& graph, int index) {
  const NodeProto& node = graph.node(index);
  const NodeAttributes attributes(node);
  const MatrixOperand a = matrix_operand(graph, node.input(0)), b = matrix_operand(graph, node.input(1));
  if (a.shape.size() != 2 || b.shape.size() != 2) {
    return graph.node_error(index, "its operands must be matrices");
  }
  MappedNode mapped;
  MatmulShape& s = mapped.step.workload.matmul;
  s.transpose_a = (attributes.integer("transA", 0) != 0) != a.transposed;
  s.transpose_b = (attributes.integer("transB", 0) != 0) != b.transposed;
  s.m = static_cast<int32_t>(a.shape[s.transpose_a ? 1 : 0]);
  s.k = static_cast<int32_t>(a.shape[s.transpose_a ? 0 : 1]);
  s.n = static_cast<int32_t>(b.shape[s.transpose_b ? 0 : 1]);
  if (b.shape[s.transpose_b ? 1 : 0] != s.k) {
    return graph.node_error(index, "its operands differ in the dimension that is summed over");
  }
  mapped.step.a = {a.tensor, 1.0f, a.shape};
  mapped.step.b = {b.tensor, 1.0f, b.shape};
  Operand& scaled =
      is_constant(graph, mapped.step.a) && !is_constant(graph, mapped.step.b) ? mapped.step.a : mapped.step.b;
  scaled.scale = attributes.real("alpha", 1.0f);
  mapped.output_shape = {s.m, s.n};
  mapped.bias_axis = 1;
  const float beta = attributes.real("beta", 1.0f);
  if (node.input_size() > 2 && !node.input(2).empty() && beta != 0.0f) {
    set_gemm_addition(graph, node.input(2), beta, &mapped);
  }
  return finished_matmul(graph, mapped);
}

/// The batch dimensions of a matmul as one. False when they broadcast in a way that one batch dimension cannot say.
bool fold_batch(const TensorShape& a, const TensorShape& b, MatmulShape* s) {
  const int64_t batch_a = element_count(a), batch_b = element_count(b);
  if (batch_b == 1 && !s->transpose_a) {
    s->m =
        static_cast<int32_t>(std::min<int64_t>(batch_a * s->m, INT32_MAX));  // rows of A are contiguous over the batch
    return true;
  }
  if (batch_a != 1 && batch_b != 1) {
    TensorShape longer = a.size() > b.size() ? a : b, shorter = a.size() > b.size() ? b : a;
    shorter.insert(shorter.begin(), longer.size() - shorter.size(), 1);
    if (longer != shorter) {
      return false;
    }
  }
  s->batch = static_cast<int32_t>(std::min<int64_t>(std::max(batch_a, batch_b), INT32_MAX));
  s->a_shared = s->batch > 1 && batch_a == 1;
  s->b_shared = s->batch > 1 && batch_b == 1;
  return true;
}

TensorShape batch_dimensions(const TensorShape& shape) {
  return shape.size() < 2 ? TensorShape() : TensorShape(shape.begin(), shape.end() - 2);
}

TensorShape matmul_output(const TensorShape& a, const TensorShape& b, int64_t m, int64_t n) {
  TensorShape out = batch_dimensions(a), other = batch_dimensions(b);
  if (out.size() < other.size()) {
    std::swap(out, other);
  }
  for (size_t i = 0; i < other.size(); ++i) {
    int64_t& size = out[out.size() - other.size() + i];
    size = std::max(size, other[i]);
  }
  if (a.size() > 1) {
    out.push_back(m);
  }
  if (b.size() > 1) {
    out.push_back(n);
  }
  return out;
}

Result<MappedNode> map_matmul(const OnnxGraph& graph, int index) {
  const NodeProto& node = graph.node(index);
  const MatrixOperand a = matrix_operand(graph, node.input(0)), b = matrix_operand(graph, node.input(1));
  if (a.shape.empty() || b.shape.empty()) {
    return graph.node_error(index, "its operands must not be scalars");
  }
  MappedNode mapped;
  MatmulShape& s = mapped.step.workload.matmul;
  s.transpose_a = a.transposed;
  s.transpose_b = b.transposed;
  // A vector is a matrix of one row (A) or one column (B).
  const auto size = [](const TensorShape& shape, size_t from_end) {
    return static_cast<int32_t>(shape[shape.size() - from_end]);
  };
  s.m = a.shape.size() == 1 ? 1 : size(a.shape, a.transposed ? 1 : 2);
  s.k = size(a.shape, a.transposed ? 2 : 1);
  s.n = b.shape.size() == 1 ? 1 : size(b.shape, b.transposed ? 2 : 1);
  if (size(b.shape, b.shape.size() == 1 || b.transposed ? 1 : 2) != s.k) {
    return graph.node_error(index, "its operands differ in the dimension that is summed over");
  }
  mapped.output_shape = matmul_output(a.shape, b.shape, s.m, s.n);
  const uint64_t all = 2 * static_cast<uint64_t>(element_count(mapped.output_shape)) * static_cast<uint64_t>(s.k);
  if (!fold_batch(batch_dimensions(a.shape), batch_dimensions(b.shape), &s)) {
    return skipped("its batch dimensions broadcast against each other", all);
  }
  mapped.bias_axis = b.shape.size() == 1 ? -1 : static_cast<int>(mapped.output_shape.size()) - 1;
  mapped.step.a = {a.tensor, 1.0f, a.shape};
  mapped.step.b = {b.tensor, 1.0f, b.shape};
  return finished_matmul(graph, mapped);
}

using Map = Result<MappedNode> (*)(const OnnxGraph&, int);
struct MappedOperator {
  const char* op_type;
  Map map;
};
constexpr MappedOperator kMapped[] = {{"Conv", map_conv}, {"Gemm", map_gemm}, {"MatMul", map_matmul}};

const MappedOperator* find_mapped(const NodeProto& node) {
  if (!node.domain().empty() && node.domain() != "ai.onnx") {
    return nullptr;
  }
  const auto found = std::find_if(std::begin(kMapped), std::end(kMapped),
                                  [&](const MappedOperator& entry) { return node.op_type() == entry.op_type; });
  return found == std::end(kMapped) ? nullptr : found;
}

}  // namespace

bool is_mapped_operator(const onnx::NodeProto& node) { return find_mapped(node) != nullptr; }

Result<MappedNode> map_node(const OnnxGraph& graph, int index) {
  const NodeProto& node = graph.node(index);
  if (node.input_size() < 2 || node.output_size() != 1 || node.input(0).empty() || node.input(1).empty()) {
    return graph.node_error(index, "has not two operands and one output");
  }
  const std::string unusable = unusable_shape(graph, node), foreign = foreign_type(graph, node);
  if (!unusable.empty()) {
    return skipped(foreign.empty() ? unusable : foreign);
  }
  Result<MappedNode> mapped = find_mapped(node)->map(graph, index);
  if (!foreign.empty()) {
    const bool counted = mapped && mapped->skip_reason.empty();
    return skipped(foreign, !mapped ? 0 : counted ? arithmetic(*mapped) : mapped->flops);
  }
  if (mapped) {
    mapped->step.name = graph.node_name(index);
    mapped->step.output = node.output(0);
  }
  return mapped;
}

}  // namespace temper
