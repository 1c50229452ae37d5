#include "schedules/import/onnx_constants.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace temper {

Result<TensorData> read_constant(const onnx::TensorProto& tensor) {
  if (tensor.data_type() != onnx::TensorProto_DataType_FLOAT) {
    return Error{TEMPER_UNSUPPORTED, "constant '" + tensor.name() + "' is not f32"};
  }
  if (tensor.data_location() == onnx::TensorProto_DataLocation_EXTERNAL) {
    return Error{TEMPER_UNSUPPORTED, "constant '" + tensor.name() + "' lies in another file, which is not read"};
  }
  TensorData data;
  data.shape = {tensor.dims().begin(), tensor.dims().end()};
  const bool raw = tensor.has_raw_data();
  const size_t stated = raw ? tensor.raw_data().size() / sizeof(float) : static_cast<size_t>(tensor.float_data_size());
  if (element_count(data.shape) < 0 || stated != static_cast<size_t>(element_count(data.shape)) ||
      (raw && tensor.raw_data().size() % sizeof(float) != 0)) {
    return Error{TEMPER_BAD_DATA, "constant '" + tensor.name() + "' holds more or fewer values than its shape says"};
  }
  data.values.resize(stated);
  if (raw) {
    std::memcpy(data.values.data(), tensor.raw_data().data(),
                tensor.raw_data().size());  // little-endian, as this host is
  } else {
    std::copy(tensor.float_data().begin(), tensor.float_data().end(), data.values.begin());
  }
  return data;
}

namespace {

/// A vector of `count` from a constant of as many values, or of one.
Result<std::vector<double>> channel_values(const OnnxGraph& graph, const std::string& tensor, size_t count) {
  Result<TensorData> data = read_constant(*graph.constant(tensor));
  if (!data) {
    return Error{data.error().code, graph.path() + ": " + data.error().message};
  }
  if (data->values.size() != count && data->values.size() != 1) {
    return Error{TEMPER_BAD_DATA, graph.path() + ": constant '" + tensor + "' has not one value per channel"};
  }
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = data->values[data->values.size() == 1 ? 0 : i];
  }
  return values;
}

/// out = (in - mean) * gamma / sqrt(variance + epsilon) + beta, as a factor of the filter and a new bias.
Result<bool> fold_batch_norm(const OnnxGraph& graph, int index, std::vector<double>* factor,
                             std::vector<double>* bias) {
  const onnx::NodeProto& norm = graph.node(index);
  const double epsilon = NodeAttributes(norm).real("epsilon", 1e-5f);
  std::vector<std::vector<double>> parameters;  // gamma, beta, mean, variance
  for (int i = 1; i < 5; ++i) {
    Result<std::vector<double>> values = channel_values(graph, norm.input(i), bias->size());
    if (!values) {
      return values.error();
    }
    parameters.push_back(*values);
  }
  for (size_t i = 0; i < bias->size(); ++i) {
    const double scale = parameters[0][i] / std::sqrt(parameters[3][i] + epsilon);
    (*factor)[i] *= scale;
    (*bias)[i] = ((*bias)[i] - parameters[2][i]) * scale + parameters[1][i];
  }
  return true;
}

size_t bias_length(const FusedNode& node) {
  const Workload& workload = node.mapped.step.workload;
  return static_cast<size_t>(workload.op == Operator::kConv2d ? workload.conv.out_channels : workload.matmul.n);
}

/// Runs the folds of a step over its own bias: what is added in the end, and by what each channel of the filter is
/// multiplied.
Result<bool> run_folds(const OnnxGraph& graph, const FusedNode& node, std::vector<double>* factor,
                       std::vector<double>* bias) {
  const Operand& own = node.mapped.step.bias;
  if (!own.tensor.empty()) {
    Result<std::vector<double>> values = channel_values(graph, own.tensor, bias->size());
    if (!values) {
      return values.error();
    }
    for (size_t i = 0; i < bias->size(); ++i) {
      (*bias)[i] = double{own.scale} * (*values)[i];
    }
  }
  for (const BiasFold& fold : node.folds) {
    if (fold.batch_norm >= 0) {
      Result<bool> done = fold_batch_norm(graph, fold.batch_norm, factor, bias);
      if (!done) {
        return done;
      }
      continue;
    }
    Result<std::vector<double>> added = channel_values(graph, fold.added, bias->size());
    if (!added) {
      return added.error();
    }
    for (size_t i = 0; i < bias->size(); ++i) {
      (*bias)[i] += (*added)[i];
    }
  }
  return true;
}

/// The filter of a convolution, each output channel times its factor.
Result<bool> scale_filter(const OnnxGraph& graph, const std::vector<double>& factor, ImportedStep* step,
                          std::map<std::string, TensorData>* constants) {
  Result<TensorData> filter = read_constant(*graph.constant(step->b.tensor));
  if (!filter) {
    return Error{filter.error().code, graph.path() + ": " + filter.error().message};
  }
  const size_t per_channel = filter->values.size() / factor.size();
  for (size_t i = 0; i < filter->values.size(); ++i) {
    filter->values[i] = static_cast<float>(filter->values[i] * factor[i / per_channel]);
  }
  step->b = {"folded filter of " + step->output, 1.0f, filter->shape};
  (*constants)[step->b.tensor] = *filter;
  return true;
}

Result<bool> fold_bias(const OnnxGraph& graph, FusedNode* node, std::map<std::string, TensorData>* constants) {
  ImportedStep& step = node->mapped.step;
  const size_t count = bias_length(*node);
  std::vector<double> bias(count, 0.0), factor(count, 1.0);
  Result<bool> done = run_folds(graph, *node, &factor, &bias);
  if (!done) {
    return done;
  }
  TensorData folded;
  folded.shape = {static_cast<int64_t>(count)};
  for (double value : bias) {
    folded.values.push_back(static_cast<float>(value));
  }
  step.bias = {"folded bias of " + step.output, 1.0f, folded.shape};
  (*constants)[step.bias.tensor] = std::move(folded);
  const bool scaled =
      std::any_of(node->folds.begin(), node->folds.end(), [](const BiasFold& f) { return f.batch_norm >= 0; });
  return scaled ? scale_filter(graph, factor, &step, constants) : Result<bool>(true);
}

}  // namespace

Result<bool> collect_constants(const OnnxGraph& graph, FusedNode* node, std::map<std::string, TensorData>* constants) {
  if (!node->folds.empty()) {
    Result<bool> done = fold_bias(graph, node, constants);
    if (!done) {
      return done;
    }
  }
  ImportedStep& step = node->mapped.step;
  for (Operand* operand : {&step.a, &step.b, &step.bias, &step.addend}) {
    const onnx::TensorProto* constant = graph.constant(operand->tensor);
    if (constant == nullptr) {
      continue;
    }
    Result<TensorData> data = read_constant(*constant);
    if (!data) {
      return Error{data.error().code, graph.path() + ": " + data.error().message};
    }
    if (operand->scale != 1.0f) {
      for (float& value : data->values) {
        value *= operand->scale;
      }
      operand->tensor = "scaled " + operand->tensor + " of " + step.output;
      operand->scale = 1.0f;
    }
    (*constants)[operand->tensor] = std::move(*data);
  }
  return true;
}

}  // namespace temper
