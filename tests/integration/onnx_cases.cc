#include "tests/integration/onnx_cases.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace temper {
namespace {

bool holds_tuned_operator(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  onnx::ModelProto model;
  if (!model.ParseFromIstream(&file)) {
    return false;
  }
  const auto& nodes = model.graph().node();
  return std::any_of(nodes.begin(), nodes.end(), [](const onnx::NodeProto& node) {
    return node.op_type() == "Conv" || node.op_type() == "Gemm" || node.op_type() == "MatMul";
  });
}

}  // namespace

std::vector<OnnxCase> conformance_cases(const std::string& root) {
  std::vector<OnnxCase> cases;
  for (const char* folder : {"node", "pytorch-converted", "pytorch-operator"}) {
    const std::filesystem::path path = std::filesystem::path(root) / folder;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      const std::string model = entry.path() / "model.onnx";
      if (holds_tuned_operator(model)) {
        cases.push_back({std::string(folder) + "/" + entry.path().filename().string(), model,
                         (entry.path() / "test_data_set_0").string()});
      }
    }
  }
  std::sort(cases.begin(), cases.end(), [](const OnnxCase& a, const OnnxCase& b) { return a.name < b.name; });
  return cases;
}

Result<std::vector<TensorData>> read_tensors(const std::string& data, const std::string& kind) {
  std::vector<TensorData> tensors;
  while (true) {
    const std::string path = data + "/" + kind + "_" + std::to_string(tensors.size()) + ".pb";
    std::ifstream file(path, std::ios::binary);
    if (!file) {
      return tensors;
    }
    onnx::TensorProto proto;
    if (!proto.ParseFromIstream(&file) || proto.data_type() != onnx::TensorProto_DataType_FLOAT) {
      return Error{TEMPER_BAD_DATA, path + ": is no f32 tensor"};
    }
    TensorData tensor;
    tensor.shape.assign(proto.dims().begin(), proto.dims().end());
    tensor.values.assign(proto.float_data().begin(), proto.float_data().end());
    if (proto.has_raw_data()) {
      tensor.values.resize(proto.raw_data().size() / sizeof(float));
      std::memcpy(tensor.values.data(), proto.raw_data().data(), tensor.values.size() * sizeof(float));
    }
    tensors.push_back(std::move(tensor));
  }
}

}  // namespace temper
