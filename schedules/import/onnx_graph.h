// An ONNX model as loaded: shapes fixed and inferred, constants and consumers indexed. Made by the importer for one
// import, asked by its parts; private to this folder. Never changes a node.
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "schedules/import/onnx_import.h"

namespace temper {

using TensorShape = std::vector<int64_t>;

/// Elements of a shape; 0 when it overflows 2^62.
int64_t element_count(const TensorShape& shape);

/// Attributes of a node by name. A missing one, or one of another type, gives the default.
class NodeAttributes {
 public:
  explicit NodeAttributes(const onnx::NodeProto& node) : node_(node) {}
  bool has(const char* name) const { return find(name) != nullptr; }
  int64_t integer(const char* name, int64_t otherwise) const;
  float real(const char* name, float otherwise) const;
  std::string text(const char* name, const std::string& otherwise) const;
  std::vector<int64_t> integers(const char* name, const std::vector<int64_t>& otherwise) const;

 private:
  const onnx::AttributeProto* find(const char* name) const;
  const onnx::NodeProto& node_;
};

class OnnxGraph {
 public:
  static Result<std::unique_ptr<OnnxGraph>> load(const std::string& path, const ImportOptions& options);

  int node_count() const { return model_.graph().node_size(); }
  const onnx::NodeProto& node(int index) const { return model_.graph().node(index); }
  /// For messages and tables: the node's name, else that of its first output.
  std::string node_name(int index) const;
  /// "FILE: node 'NAME' (Op): WHAT" as TEMPER_BAD_DATA.
  Error node_error(int index, const std::string& what) const;
  /// Everything it reads, also from inside its inner graphs.
  const std::vector<std::string>& reads(int index) const { return reads_[static_cast<size_t>(index)]; }
  int64_t opset() const { return opset_; }
  const std::string& path() const { return path_; }
  std::vector<std::string> inputs() const;  ///< of the graph, constants left out
  std::vector<std::string> outputs() const;

  /// NULL when it is unknown, or a size of it is.
  const TensorShape* shape(const std::string& tensor) const;
  /// onnx::TensorProto_DataType; UNDEFINED when unknown.
  int element_type(const std::string& tensor) const;
  /// The constant that a tensor is, through Identity; NULL when it is none.
  const onnx::TensorProto* constant(const std::string& tensor) const;
  /// Index of the node that writes it; -1: none.
  int producer(const std::string& tensor) const;
  /// Index of the only node that reads it, once, when it is no output of the graph either; else -1.
  int only_reader(const std::string& tensor) const;

 private:
  OnnxGraph() = default;
  Result<bool> parse();
  Result<bool> check_opset();
  Result<bool> check_options(const ImportOptions& options) const;
  Result<bool> fix_inputs(const ImportOptions& options);
  Result<bool> override_input(const TensorShape& shape, onnx::ValueInfoProto* input);
  Result<bool> fix_dynamic_sizes(const ImportOptions& options, onnx::ValueInfoProto* input);
  void infer_shapes();
  /// A value that is already known keeps its type and shape unless override_known.
  void note_value(const onnx::ValueInfoProto& value, bool override_known);
  void index_constants();
  Result<bool> index_readers();
  Result<bool> check_schemas() const;
  Result<bool> check_windows() const;
  std::map<std::string, TensorShape> stated_shapes() const;
  Result<bool> secure_inference();

  std::string path_;
  onnx::ModelProto model_;
  int64_t opset_ = 1;
  bool shapes_changed_ = false;       ///< a dynamic size was fixed
  bool static_size_changed_ = false;  ///< a size that the file states was replaced
  std::map<std::string, TensorShape> shapes_;
  std::map<std::string, int> types_;
  std::map<std::string, const onnx::TensorProto*> constants_;
  std::map<std::string, int> producers_;
  std::map<std::string, int> only_reader_;
  std::vector<std::vector<std::string>> reads_;  ///< by node
};

}  // namespace temper
