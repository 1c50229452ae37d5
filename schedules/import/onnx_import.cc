#include "schedules/import/onnx_import.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <set>

#include "schedules/import/onnx_constants.h"
#include "schedules/import/onnx_epilogue.h"
#include "schedules/import/onnx_flops.h"

namespace temper {
namespace {

enum class Constants { kLeave, kCollect };

class Importer {
 public:
  explicit Importer(const OnnxGraph& graph) : graph_(graph), covered_(static_cast<size_t>(graph.node_count()), false) {}

  Result<ImportedGraph> run(Constants constants);

 private:
  Result<bool> map_all();
  void mark_needed();
  void list_skipped();
  void add_skipped(const std::string& operator_name, const std::string& reason, uint64_t flops_of_it);
  void note_scaled(const FusedNode& node);
  void add_workload(const ImportedStep& step);
  Result<bool> check_any_workload() const;

  const OnnxGraph& graph_;
  std::vector<bool> covered_;  ///< by node: part of a step
  std::vector<FusedNode> fused_;
  std::map<int, MappedNode> refused_;  ///< Conv, Gemm, MatMul without a workload
  std::set<std::string> needed_;       ///< tensors that a step, an uncovered node or the graph's caller reads
  ImportedGraph out_;
};

Result<bool> Importer::map_all() {
  for (int i = 0; i < graph_.node_count(); ++i) {
    if (!is_mapped_operator(graph_.node(i))) {
      continue;
    }
    Result<MappedNode> mapped = map_node(graph_, i);
    if (!mapped) {
      return mapped.error();
    }
    if (!mapped->skip_reason.empty()) {
      refused_[i] = *mapped;
      continue;
    }
    FusedNode node;
    node.mapped = *mapped;
    node.last = i;
    covered_[static_cast<size_t>(i)] = true;
    fuse_epilogue(graph_, &covered_, &node);
    fused_.push_back(std::move(node));
  }
  std::stable_sort(fused_.begin(), fused_.end(),
                   [](const FusedNode& a, const FusedNode& b) { return a.last < b.last; });
  return true;
}

/// Walks backwards from the graph's outputs; what nobody reads (a Transpose that was folded into its reader) is not
/// listed as skipped.
void Importer::mark_needed() {
  for (const std::string& name : graph_.outputs()) {
    needed_.insert(name);
  }
  auto step = fused_.rbegin();
  for (int i = graph_.node_count() - 1; i >= 0; --i) {
    for (; step != fused_.rend() && step->last == i; ++step) {
      const ImportedStep& s = step->mapped.step;
      needed_.insert({s.a.tensor, s.b.tensor, s.bias.tensor, s.addend.tensor});
    }
    if (covered_[static_cast<size_t>(i)]) {
      continue;
    }
    const auto& outputs = graph_.node(i).output();
    if (std::any_of(outputs.begin(), outputs.end(),
                    [&](const std::string& name) { return needed_.count(name) != 0; })) {
      needed_.insert(graph_.reads(i).begin(), graph_.reads(i).end());
    }
  }
}

void Importer::list_skipped() {
  for (int i = 0; i < graph_.node_count(); ++i) {
    const onnx::NodeProto& node = graph_.node(i);
    const auto wanted = [&](const std::string& name) {
      return needed_.count(name) != 0 && graph_.constant(name) == nullptr;
    };
    if (covered_[static_cast<size_t>(i)] || node.op_type() == "Constant" ||
        std::none_of(node.output().begin(), node.output().end(), wanted)) {
      continue;
    }
    const auto refused = refused_.find(i);
    const NodeCost cost =
        refused == refused_.end() ? cost_of(graph_, i) : NodeCost{refused->second.skip_reason, refused->second.flops};
    out_.uncovered.push_back({node.op_type(), graph_.node_name(i), cost.reason});
    add_skipped(node.op_type(), cost.reason, cost.flops);
  }
}

void Importer::add_skipped(const std::string& operator_name, const std::string& reason, uint64_t flops_of_it) {
  for (SkippedOperator& skipped : out_.network.skipped) {
    if (skipped.operator_name == operator_name && skipped.reason == reason) {
      ++skipped.count;
      skipped.flops += flops_of_it;
      return;
    }
  }
  out_.network.skipped.push_back({operator_name, reason, 1, flops_of_it});
}

/// alpha and beta on tensors that are not constant stay to be done before the workload.
void Importer::note_scaled(const FusedNode& node) {
  const ImportedStep& step = node.mapped.step;
  for (const Operand* operand : {&step.a, &step.b, &step.bias, &step.addend}) {
    if (operand->scale != 1.0f && graph_.constant(operand->tensor) == nullptr) {
      add_skipped("Gemm", "alpha or beta scales a tensor that is not constant",
                  static_cast<uint64_t>(element_count(operand->shape)));
    }
  }
}

void Importer::add_workload(const ImportedStep& step) {
  for (NetworkWorkload& known : out_.network.workloads) {
    if (known.workload == step.workload) {
      ++known.count;
      return;
    }
  }
  out_.network.workloads.push_back({step.workload, step.name, 1});
}

/// A network of which nothing is known because its shapes are not is an error, not an empty result.
Result<bool> Importer::check_any_workload() const {
  if (fused_.empty() && !refused_.empty() && refused_.begin()->second.skip_reason == kUnknownShapes) {
    Error error = graph_.node_error(refused_.begin()->first, refused_.begin()->second.skip_reason);
    error.message += "; give the shapes of the graph's inputs (--shape NAME=1x3x224x224)";
    return error;
  }
  return true;
}

Result<ImportedGraph> Importer::run(Constants constants) {
  Result<bool> done = map_all();
  if (done) {
    done = check_any_workload();
  }
  if (!done) {
    return done.error();
  }
  out_.network.name = std::filesystem::path(graph_.path()).stem().string();
  out_.inputs = graph_.inputs();
  out_.outputs = graph_.outputs();
  mark_needed();
  list_skipped();
  for (FusedNode& node : fused_) {
    note_scaled(node);
    if (constants == Constants::kCollect) {
      done = collect_constants(graph_, &node, &out_.constants);
      if (!done) {
        return done.error();
      }
    }
    add_workload(node.mapped.step);
    out_.steps.push_back(node.mapped.step);
  }
  return std::move(out_);
}

/// The border: nothing that protobuf or ONNX throw passes it.
Result<ImportedGraph> import_any(const std::string& path, const ImportOptions& options, Constants constants) {
  try {
    Result<std::unique_ptr<OnnxGraph>> graph = OnnxGraph::load(path, options);
    if (!graph) {
      return graph.error();
    }
    return Importer(**graph).run(constants);
  } catch (const std::bad_alloc&) {
    return Error{TEMPER_NO_MEMORY, path + ": too large for the memory of this machine"};
  } catch (const std::exception& failure) {
    return Error{TEMPER_BAD_DATA, path + ": ONNX finds it inconsistent: " + failure.what()};
  }
}

}  // namespace

Result<Network> import_onnx(const std::string& path, const ImportOptions& options) {
  Result<ImportedGraph> graph = import_any(path, options, Constants::kLeave);
  if (!graph) {
    return graph.error();
  }
  return graph->network;
}

Result<ImportedGraph> import_onnx_graph(const std::string& path, const ImportOptions& options) {
  return import_any(path, options, Constants::kCollect);
}

}  // namespace temper
