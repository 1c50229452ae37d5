#include "schedules/import/onnx_graph.h"

#include <google/protobuf/stubs/logging.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

namespace temper {
namespace {

constexpr uint64_t kProtobufLimit = uint64_t{1} << 31;

/// All names that the graphs inside a node's attributes read, whoever writes them.
void collect_inner_reads(const onnx::NodeProto& node, std::vector<std::string>* out) {
  std::vector<const onnx::GraphProto*> open;
  const auto push_inner = [&](const onnx::NodeProto& from) {
    for (const onnx::AttributeProto& attribute : from.attribute()) {
      if (attribute.has_g()) {
        open.push_back(&attribute.g());
      }
      for (const onnx::GraphProto& inner : attribute.graphs()) {
        open.push_back(&inner);
      }
    }
  };
  push_inner(node);
  while (!open.empty()) {
    const onnx::GraphProto* graph = open.back();
    open.pop_back();
    for (const onnx::NodeProto& inner : graph->node()) {
      out->insert(out->end(), inner.input().begin(), inner.input().end());
      push_inner(inner);
    }
    for (const onnx::ValueInfoProto& output : graph->output()) {
      out->push_back(output.name());
    }
  }
}

}  // namespace

int64_t element_count(const TensorShape& shape) {
  int64_t count = 1;
  for (int64_t size : shape) {
    if (__builtin_mul_overflow(count, size, &count)) {
      return 0;
    }
  }
  return count;
}

const onnx::AttributeProto* NodeAttributes::find(const char* name) const {
  for (const onnx::AttributeProto& attribute : node_.attribute()) {
    if (attribute.name() == name) {
      return &attribute;
    }
  }
  return nullptr;
}

int64_t NodeAttributes::integer(const char* name, int64_t otherwise) const {
  const onnx::AttributeProto* found = find(name);
  return found != nullptr && found->has_i() ? found->i() : otherwise;
}

float NodeAttributes::real(const char* name, float otherwise) const {
  const onnx::AttributeProto* found = find(name);
  return found != nullptr && found->has_f() ? found->f() : otherwise;
}

std::string NodeAttributes::text(const char* name, const std::string& otherwise) const {
  const onnx::AttributeProto* found = find(name);
  return found != nullptr && found->has_s() ? found->s() : otherwise;
}

std::vector<int64_t> NodeAttributes::integers(const char* name, const std::vector<int64_t>& otherwise) const {
  const onnx::AttributeProto* found = find(name);
  if (found == nullptr || found->ints_size() == 0) {
    return otherwise;
  }
  return {found->ints().begin(), found->ints().end()};
}

Result<std::unique_ptr<OnnxGraph>> OnnxGraph::load(const std::string& path, const ImportOptions& options) {
  std::unique_ptr<OnnxGraph> graph(new OnnxGraph);
  graph->path_ = path;
  Result<bool> done = graph->parse();
  if (done) {
    done = graph->check_opset();
  }
  if (done) {
    graph->index_constants();
    done = graph->fix_inputs(options);
  }
  if (done) {
    done = graph->index_readers();
  }
  if (done) {
    done = graph->check_schemas();
  }
  if (done) {
    done = graph->check_windows();
  }
  if (done) {
    done = graph->secure_inference();
  }
  if (!done) {
    return done.error();
  }
  graph->infer_shapes();
  return graph;
}

Result<bool> OnnxGraph::parse() {
  std::error_code failed;
  const uint64_t bytes = std::filesystem::file_size(path_, failed);
  if (failed) {  // so it does for what is no file: to open a pipe would hang
    return Error{TEMPER_NOT_FOUND, path_ + ": cannot be read: " + failed.message()};
  }
  std::ifstream file(path_, std::ios::binary);
  if (!file) {
    return Error{TEMPER_NOT_FOUND, path_ + ": cannot be opened for reading"};
  }
  if (bytes >= kProtobufLimit) {
    return Error{TEMPER_UNSUPPORTED,
                 path_ + ": is larger than protobuf reads (2 GiB); save its weights as external data"};
  }
  google::protobuf::LogSilencer silence;
  if (!model_.ParseFromIstream(&file)) {
    return Error{TEMPER_BAD_DATA, path_ + ": is not an ONNX model, or is truncated"};
  }
  if (!model_.has_graph() || model_.ir_version() <= 0) {
    return Error{TEMPER_BAD_DATA, path_ + ": is not an ONNX model: it holds no graph"};
  }
  return true;
}

Result<bool> OnnxGraph::check_opset() {
  bool stated = false;
  for (const onnx::OperatorSetIdProto& set : model_.opset_import()) {
    if (set.domain().empty() || set.domain() == "ai.onnx") {
      opset_ = set.version();
      stated = true;
    }
  }
  if (!stated && model_.ir_version() >= 3) {
    return Error{TEMPER_BAD_DATA,
                 path_ + ": states no operator set of the ONNX domain (truncated, or of custom operators alone)"};
  }
  const auto& known = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  const auto range = known.find("");
  const int64_t newest = range == known.end() ? 0 : range->second.second;
  if (opset_ < 1 || opset_ > newest) {
    return Error{TEMPER_BAD_VERSION, path_ + ": uses ONNX operator set " + std::to_string(opset_) +
                                         "; this build knows 1 to " + std::to_string(newest) +
                                         "; export the model with opset " + std::to_string(newest)};
  }
  return true;
}

std::string OnnxGraph::node_name(int index) const {
  const onnx::NodeProto& found = node(index);
  if (!found.name().empty()) {
    return found.name();
  }
  if (found.output_size() > 0 && !found.output(0).empty()) {
    return found.output(0);
  }
  std::string number = "#";
  number += std::to_string(index);
  return number;
}

Error OnnxGraph::node_error(int index, const std::string& what) const {
  return Error{TEMPER_BAD_DATA, path_ + ": node '" + node_name(index) + "' (" + node(index).op_type() + "): " + what};
}

std::vector<std::string> OnnxGraph::inputs() const {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto& input : model_.graph().input()) {
    if (constants_.count(input.name()) == 0) {
      names.push_back(input.name());
    }
  }
  return names;
}

std::vector<std::string> OnnxGraph::outputs() const {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto& output : model_.graph().output()) {
    names.push_back(output.name());
  }
  return names;
}

void OnnxGraph::index_constants() {
  for (const onnx::TensorProto& tensor : model_.graph().initializer()) {
    constants_[tensor.name()] = &tensor;
    shapes_[tensor.name()] = {tensor.dims().begin(), tensor.dims().end()};
    types_[tensor.name()] = tensor.data_type();
  }
  for (const onnx::NodeProto& node : model_.graph().node()) {
    if (node.op_type() == "Constant" && node.output_size() == 1) {
      for (const onnx::AttributeProto& attribute : node.attribute()) {
        if (attribute.name() == "value" && attribute.has_t()) {
          constants_[node.output(0)] = &attribute.t();
          shapes_[node.output(0)] = {attribute.t().dims().begin(), attribute.t().dims().end()};
          types_[node.output(0)] = attribute.t().data_type();
        }
      }
    }
    if (node.op_type() == "Identity" && node.input_size() == 1 && node.output_size() == 1) {
      const auto source = constants_.find(node.input(0));
      if (source != constants_.end()) {
        constants_[node.output(0)] = source->second;
        shapes_[node.output(0)] = shapes_[node.input(0)];
        types_[node.output(0)] = types_[node.input(0)];
      }
    }
  }
}

Result<bool> OnnxGraph::index_readers() {
  std::set<std::string> written;
  for (const onnx::ValueInfoProto& input : model_.graph().input()) {
    written.insert(input.name());
  }
  for (const auto& [name, tensor] : constants_) {
    written.insert(name);
  }
  for (const onnx::SparseTensorProto& tensor : model_.graph().sparse_initializer()) {
    written.insert(tensor.values().name());
  }
  for (int i = 0; i < node_count(); ++i) {
    std::vector<std::string> read(node(i).input().begin(), node(i).input().end());
    for (const std::string& name : read) {
      if (!name.empty() && written.count(name) == 0) {
        return node_error(i,
                          "reads '" + name + "', which nothing before it writes (damaged, or not in execution order)");
      }
    }
    collect_inner_reads(node(i), &read);
    for (const std::string& name : read) {
      only_reader_[name] = only_reader_.count(name) == 0 ? i : -1;
    }
    reads_.push_back(std::move(read));
    for (const std::string& name : node(i).output()) {
      written.insert(name);
      producers_[name] = i;
    }
  }
  for (const onnx::ValueInfoProto& output : model_.graph().output()) {
    only_reader_[output.name()] = -1;
  }
  return true;
}

/// ONNX's shape inference reads operands and attributes that the operator's schema promises without looking whether
/// they are there.
Result<bool> OnnxGraph::check_schemas() const {
  for (int i = 0; i < node_count(); ++i) {
    const bool ours = node(i).domain().empty() || node(i).domain() == "ai.onnx";
    const onnx::OpSchema* schema =
        ours ? onnx::OpSchemaRegistry::Schema(node(i).op_type(), static_cast<int>(opset_), "") : nullptr;
    if (schema == nullptr) {
      continue;
    }
    try {
      schema->Verify(node(i));
    } catch (const std::exception& failure) {
      return node_error(i, failure.what());
    }
  }
  return true;
}

/// ONNX's shape inference divides by strides without looking at them.
Result<bool> OnnxGraph::check_windows() const {
  for (int i = 0; i < node_count(); ++i) {
    const NodeAttributes attributes(node(i));
    for (const char* name : {"strides", "dilations"}) {
      const std::vector<int64_t> values = attributes.integers(name, {});
      if (std::any_of(values.begin(), values.end(), [](int64_t value) { return value < 1 || value > INT32_MAX; })) {
        return node_error(i, std::string(name) + " must be at least 1 and below 2^31");
      }
    }
  }
  return true;
}

const TensorShape* OnnxGraph::shape(const std::string& tensor) const {
  const auto found = shapes_.find(tensor);
  return found == shapes_.end() ? nullptr : &found->second;
}

int OnnxGraph::element_type(const std::string& tensor) const {
  const auto found = types_.find(tensor);
  return found == types_.end() ? int{onnx::TensorProto_DataType_UNDEFINED} : found->second;
}

const onnx::TensorProto* OnnxGraph::constant(const std::string& tensor) const {
  const auto found = constants_.find(tensor);
  return found == constants_.end() ? nullptr : found->second;
}

int OnnxGraph::producer(const std::string& tensor) const {
  const auto found = producers_.find(tensor);
  return found == producers_.end() ? -1 : found->second;
}

int OnnxGraph::only_reader(const std::string& tensor) const {
  const auto found = only_reader_.find(tensor);
  return found == only_reader_.end() ? -1 : found->second;
}

}  // namespace temper
