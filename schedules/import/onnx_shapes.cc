// Sizes of the graph's inputs and the shapes that follow from them: the part of OnnxGraph that changes the model.
#include <onnx/defs/schema.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <map>
#include <set>

#include "schedules/import/onnx_graph.h"

namespace temper {
namespace {

std::string shape_sizes(const TensorShape& shape) {
  std::string text;
  for (int64_t size : shape) {
    text += text.empty() ? "" : "x";
    text += std::to_string(size);
  }
  return text;
}

/// Constants of at most so many elements may be shapes, axes or the like.
constexpr int64_t kShapeElements = 64;

struct ConvolutionLike {
  const char* op_type;
  int filter_input;
};
constexpr ConvolutionLike kConvolutions[] = {
    {"Conv", 1}, {"ConvTranspose", 1}, {"ConvInteger", 1}, {"QLinearConv", 3}, {"DeformConv", 1}};

std::string how_to_give(const onnx::ValueInfoProto& input) {
  return "; give its shape (--shape " + input.name() + "=1x3x224x224, for instance)";
}

}  // namespace

/// Refuses options that fit no input: a mistyped name would go unnoticed.
Result<bool> OnnxGraph::check_options(const ImportOptions& options) const {
  std::set<std::string> dimensions, names;
  for (const onnx::ValueInfoProto& input : model_.graph().input()) {
    if (constants_.count(input.name()) == 0) {
      names.insert(input.name());
    }
    for (const auto& dim : input.type().tensor_type().shape().dim()) {
      dimensions.insert(dim.dim_param());
    }
  }
  std::string known;
  for (const std::string& name : names) {
    known += " " + name;
  }
  for (const auto& [name, shape] : options.input_shapes) {
    if (names.count(name) == 0) {
      return Error{TEMPER_INVALID_ARGUMENT, path_ + ": has no input called '" + name + "'; its inputs:" + known};
    }
    for (int64_t size : shape) {
      if (size < 1) {
        return Error{TEMPER_INVALID_ARGUMENT, "shape " + name + "=" + shape_sizes(shape) + ": sizes are at least 1"};
      }
    }
  }
  for (const auto& [name, size] : options.dimensions) {
    if (size < 1) {
      return Error{TEMPER_INVALID_ARGUMENT,
                   "dimension " + name + "=" + std::to_string(size) + ": sizes are at least 1"};
    }
    if (name.empty() || dimensions.count(name) == 0) {
      return Error{TEMPER_INVALID_ARGUMENT, path_ + ": no input has a dimension called '" + name + "'"};
    }
  }
  return true;
}

Result<bool> OnnxGraph::fix_inputs(const ImportOptions& options) {
  Result<bool> done = check_options(options);
  for (onnx::ValueInfoProto& input : *model_.mutable_graph()->mutable_input()) {
    if (!done) {
      break;
    }
    // Sequences and maps keep theirs: nodes that read them have no shape.
    if (constants_.count(input.name()) != 0 || !input.type().has_tensor_type()) {
      continue;
    }
    const auto given = options.input_shapes.find(input.name());
    done = given != options.input_shapes.end() ? override_input(given->second, &input)
                                               : fix_dynamic_sizes(options, &input);
  }
  return done;
}

Result<bool> OnnxGraph::override_input(const TensorShape& shape, onnx::ValueInfoProto* input) {
  onnx::TypeProto_Tensor* type = input->mutable_type()->mutable_tensor_type();
  if (type->has_shape() && type->shape().dim_size() != static_cast<int>(shape.size())) {
    return Error{TEMPER_INVALID_ARGUMENT, path_ + ": input '" + input->name() + "' has " +
                                              std::to_string(type->shape().dim_size()) +
                                              " dimensions, the shape given has " + std::to_string(shape.size())};
  }
  const bool known = type->has_shape();
  for (size_t i = 0; i < shape.size(); ++i) {
    auto* dim = known ? type->mutable_shape()->mutable_dim(static_cast<int>(i)) : type->mutable_shape()->add_dim();
    static_size_changed_ |= dim->dim_value() > 0 && dim->dim_value() != shape[i];
    dim->set_dim_value(shape[i]);
  }
  shapes_changed_ = true;
  return true;
}

Result<bool> OnnxGraph::fix_dynamic_sizes(const ImportOptions& options, onnx::ValueInfoProto* input) {
  const std::string where = path_ + ": input '" + input->name() + "'";
  onnx::TypeProto_Tensor* type = input->mutable_type()->mutable_tensor_type();
  if (!type->has_shape()) {
    return Error{TEMPER_BAD_DATA, where + " has no shape" + how_to_give(*input)};
  }
  for (int i = 0; i < type->shape().dim_size(); ++i) {
    auto* dim = type->mutable_shape()->mutable_dim(i);
    if (dim->has_dim_value() && dim->dim_value() < 1) {
      return Error{TEMPER_BAD_DATA, where + ": size " + std::to_string(dim->dim_value()) + " of dimension " +
                                        std::to_string(i) + " is not positive" + how_to_give(*input)};
    }
    if (dim->has_dim_value()) {
      continue;
    }
    const auto named = options.dimensions.find(dim->dim_param());
    if (named == options.dimensions.end() && i > 0) {
      const std::string name = dim->dim_param().empty() ? "" : " ('" + dim->dim_param() + "')";
      return Error{TEMPER_BAD_DATA, where + ": dimension " + std::to_string(i) + name +
                                        " is dynamic; only the first one, the batch, is 1 unless given" +
                                        how_to_give(*input)};
    }
    dim->set_dim_value(named == options.dimensions.end() ? 1 : named->second);
    shapes_changed_ = true;
  }
  return true;
}

/// Shapes that need no inference: of constants and of the graph's inputs.
std::map<std::string, TensorShape> OnnxGraph::stated_shapes() const {
  std::map<std::string, TensorShape> stated = shapes_;
  for (const onnx::ValueInfoProto& input : model_.graph().input()) {
    if (!input.type().tensor_type().has_shape() || constants_.count(input.name()) != 0) {
      continue;
    }
    TensorShape& shape = stated[input.name()];
    for (const auto& dim : input.type().tensor_type().shape().dim()) {
      shape.push_back(dim.dim_value());
    }
  }
  return stated;
}

/// ONNX's shape inference takes the window of a convolution that states none from its filter, and reads past the end
/// of the image's shape where the filter has more dimensions. A stated window it does compare, so it is stated here. Of
/// a Gemm before operator set 9 it reads two dimensions, present or not.
Result<bool> OnnxGraph::secure_inference() {
  const std::map<std::string, TensorShape> stated = stated_shapes();
  const auto shape_of = [&](const onnx::NodeProto& node, int input) {
    const auto found = input < node.input_size() ? stated.find(node.input(input)) : stated.end();
    return found == stated.end() ? nullptr : &found->second;
  };
  for (int i = 0; i < node_count(); ++i) {
    onnx::NodeProto* node = model_.mutable_graph()->mutable_node(i);
    for (int operand = 0; operand < 2 && node->op_type() == "Gemm"; ++operand) {
      const TensorShape* shape = shape_of(*node, operand);
      if (shape != nullptr && shape->size() != 2) {
        return node_error(i, "its operands must be matrices");
      }
    }
    const auto convolution = std::find_if(std::begin(kConvolutions), std::end(kConvolutions),
                                          [&](const ConvolutionLike& kind) { return node->op_type() == kind.op_type; });
    if (convolution == std::end(kConvolutions) || NodeAttributes(*node).has("kernel_shape")) {
      continue;
    }
    const TensorShape* filter = shape_of(*node, convolution->filter_input);
    if (filter == nullptr || filter->size() < 3) {
      return node_error(i, "states no kernel_shape, and that of its filter is not known beforehand");
    }
    onnx::AttributeProto* window = node->add_attribute();
    window->set_name("kernel_shape");
    window->set_type(onnx::AttributeProto_AttributeType_INTS);
    window->mutable_ints()->Add(filter->begin() + 2, filter->end());
  }
  return true;
}

void OnnxGraph::infer_shapes() {
  onnx::GraphProto* graph = model_.mutable_graph();
  const auto stated = graph->value_info();
  if (shapes_changed_) {
    graph->clear_value_info();
    for (onnx::ValueInfoProto& output : *graph->mutable_output()) {
      if (output.type().has_tensor_type()) {
        output.mutable_type()->mutable_tensor_type()->clear_shape();
      }
    }
  }
  // Inference reads sizes from initialisers alone: small constants of Constant nodes become some.
  std::set<std::string> initialised;
  for (const onnx::TensorProto& tensor : graph->initializer()) {
    initialised.insert(tensor.name());
  }
  for (const auto& [name, tensor] : constants_) {
    const bool of_constant_node = initialised.count(name) == 0 && node(producer(name)).op_type() == "Constant";
    if (of_constant_node && element_count({tensor->dims().begin(), tensor->dims().end()}) <= kShapeElements) {
      onnx::TensorProto* copy = graph->add_initializer();
      *copy = *tensor;
      copy->set_name(name);
    }
  }
  onnx::shape_inference::InferShapes(model_, onnx::OpSchemaRegistry::Instance(),
                                     onnx::ShapeInferenceOptions(false, 0, true));
  for (const auto* list : {&graph->input(), &graph->value_info(), &graph->output()}) {
    for (const onnx::ValueInfoProto& value : *list) {
      note_value(value, true);
    }
  }
  if (!static_size_changed_) {
    for (const onnx::ValueInfoProto& value : stated) {
      note_value(value, false);
    }
  }
}

void OnnxGraph::note_value(const onnx::ValueInfoProto& value, bool override_known) {
  if (!value.type().has_tensor_type()) {
    return;
  }
  const onnx::TypeProto_Tensor& type = value.type().tensor_type();
  if (override_known || types_.count(value.name()) == 0) {
    types_[value.name()] = type.elem_type();
  }
  if (!type.has_shape() || (!override_known && shapes_.count(value.name()) != 0)) {
    return;
  }
  TensorShape shape;
  for (const auto& dim : type.shape().dim()) {
    if (!dim.has_dim_value()) {
      return;
    }
    shape.push_back(dim.dim_value());
  }
  shapes_[value.name()] = shape;
}

}  // namespace temper
