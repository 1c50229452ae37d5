// Writes small ONNX files for tests, through the protobuf schema.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

namespace temper {

class OnnxBuilder {
 public:
  explicit OnnxBuilder(int64_t opset = 13);

  /// A size below 1 is written as it stands; `dynamic` of them are named.
  OnnxBuilder& input(const std::string& name, const std::vector<int64_t>& shape);
  OnnxBuilder& dynamic_input(const std::string& name, const std::vector<std::string>& dimensions);
  OnnxBuilder& shapeless_input(const std::string& name);
  OnnxBuilder& output(const std::string& name);
  /// Values 0.25, 0.5, 0.75, ... repeating over seven, unless given.
  OnnxBuilder& constant(const std::string& name, const std::vector<int64_t>& shape,
                        const std::vector<float>& values = {});
  /// The node added last takes the attributes that follow.
  OnnxBuilder& node(const std::string& op_type, const std::vector<std::string>& inputs, const std::string& output);
  OnnxBuilder& attribute(const std::string& name, int64_t value);
  OnnxBuilder& attribute(const std::string& name, float value);
  OnnxBuilder& attribute(const std::string& name, const std::string& value);
  OnnxBuilder& attribute(const std::string& name, const std::vector<int64_t>& values);

  onnx::ModelProto& model() { return model_; }
  std::string bytes() const { return model_.SerializeAsString(); }
  /// Writes the model beside the test and returns its path.
  std::string write(const std::string& stem) const;

 private:
  onnx::AttributeProto* add_attribute(const std::string& name, onnx::AttributeProto_AttributeType type);
  onnx::ModelProto model_;
};

/// The file's path.
std::string write_bytes(const std::string& stem, const std::string& bytes);

}  // namespace temper
