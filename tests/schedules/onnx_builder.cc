#include "tests/schedules/onnx_builder.h"

#include <filesystem>
#include <fstream>

namespace temper {

OnnxBuilder::OnnxBuilder(int64_t opset) {
  model_.set_ir_version(7);
  model_.mutable_graph()->set_name("test");
  onnx::OperatorSetIdProto* set = model_.add_opset_import();
  set->set_domain("");
  set->set_version(opset);
}

OnnxBuilder& OnnxBuilder::input(const std::string& name, const std::vector<int64_t>& shape) {
  shapeless_input(name);
  auto* type =
      model_.mutable_graph()->mutable_input(model_.graph().input_size() - 1)->mutable_type()->mutable_tensor_type();
  type->mutable_shape();  // a scalar has a shape of no dimensions
  for (int64_t size : shape) {
    type->mutable_shape()->add_dim()->set_dim_value(size);
  }
  return *this;
}

OnnxBuilder& OnnxBuilder::dynamic_input(const std::string& name, const std::vector<std::string>& dimensions) {
  shapeless_input(name);
  auto* type =
      model_.mutable_graph()->mutable_input(model_.graph().input_size() - 1)->mutable_type()->mutable_tensor_type();
  for (const std::string& dimension : dimensions) {
    auto* dim = type->mutable_shape()->add_dim();
    if (dimension.find_first_not_of("0123456789") == std::string::npos) {
      dim->set_dim_value(std::stoll(dimension));
    } else {
      dim->set_dim_param(dimension);
    }
  }
  return *this;
}

OnnxBuilder& OnnxBuilder::shapeless_input(const std::string& name) {
  onnx::ValueInfoProto* value = model_.mutable_graph()->add_input();
  value->set_name(name);
  value->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto_DataType_FLOAT);
  return *this;
}

OnnxBuilder& OnnxBuilder::output(const std::string& name) {
  onnx::ValueInfoProto* value = model_.mutable_graph()->add_output();
  value->set_name(name);
  value->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto_DataType_FLOAT);
  return *this;
}

OnnxBuilder& OnnxBuilder::constant(const std::string& name, const std::vector<int64_t>& shape,
                                   const std::vector<float>& values) {
  onnx::TensorProto* tensor = model_.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(onnx::TensorProto_DataType_FLOAT);
  int64_t count = 1;
  for (int64_t size : shape) {
    tensor->add_dims(size);
    count *= size;
  }
  for (int64_t i = 0; i < count; ++i) {
    tensor->add_float_data(values.empty() ? 0.25f * static_cast<float>(i % 7 + 1) : values[static_cast<size_t>(i)]);
  }
  return *this;
}

OnnxBuilder& OnnxBuilder::node(const std::string& op_type, const std::vector<std::string>& inputs,
                               const std::string& output) {
  onnx::NodeProto* added = model_.mutable_graph()->add_node();
  added->set_op_type(op_type);
  added->set_name(op_type + "_of_" + output);
  for (const std::string& name : inputs) {
    added->add_input(name);
  }
  added->add_output(output);
  return *this;
}

onnx::AttributeProto* OnnxBuilder::add_attribute(const std::string& name, onnx::AttributeProto_AttributeType type) {
  onnx::AttributeProto* added = model_.mutable_graph()->mutable_node(model_.graph().node_size() - 1)->add_attribute();
  added->set_name(name);
  added->set_type(type);
  return added;
}

OnnxBuilder& OnnxBuilder::attribute(const std::string& name, int64_t value) {
  add_attribute(name, onnx::AttributeProto_AttributeType_INT)->set_i(value);
  return *this;
}

OnnxBuilder& OnnxBuilder::attribute(const std::string& name, float value) {
  add_attribute(name, onnx::AttributeProto_AttributeType_FLOAT)->set_f(value);
  return *this;
}

OnnxBuilder& OnnxBuilder::attribute(const std::string& name, const std::string& value) {
  add_attribute(name, onnx::AttributeProto_AttributeType_STRING)->set_s(value);
  return *this;
}

OnnxBuilder& OnnxBuilder::attribute(const std::string& name, const std::vector<int64_t>& values) {
  onnx::AttributeProto* added = add_attribute(name, onnx::AttributeProto_AttributeType_INTS);
  for (int64_t value : values) {
    added->add_ints(value);
  }
  return *this;
}

std::string write_bytes(const std::string& stem, const std::string& bytes) {
  const std::string path = (std::filesystem::current_path() / (stem + ".onnx")).string();
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  return path;
}

std::string OnnxBuilder::write(const std::string& stem) const { return write_bytes(stem, bytes()); }

}  // namespace temper
