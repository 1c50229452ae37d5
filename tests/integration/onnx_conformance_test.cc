// ONNX's own conformance data, imported and executed by us: by the reference and by compiled kernels of the default
// config.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>

#include "codegen/execute_workload.h"
#include "schedules/reference.h"
#include "tests/integration/graph_execution.h"
#include "tests/integration/onnx_cases.h"
#include "tests/integration/steady_facts.h"

namespace temper {
namespace {

std::string compute_by_reference(const Workload& workload, const std::array<const float*, TEMPER_TENSOR_COUNT>& inputs,
                                 Span<float> out) {
  compute_reference(workload, inputs, out);
  return "";
}

ComputeWorkload compute_compiled(KernelMode mode) {
  return
      [mode](const Workload& workload, const std::array<const float*, TEMPER_TENSOR_COUNT>& inputs, Span<float> out) {
        ExecuteOptions options;
        options.facts = steady_facts();
        options.mode = mode;
        const Result<bool> done = execute_workload(workload, options, inputs, out);
        return done ? std::string() : done.error().message;
      };
}

/// Why the graph cannot be computed by workloads alone; empty when it can.
std::string out_of_scope(const Result<ImportedGraph>& graph) {
  if (!graph) {
    return graph.error().message;
  }
  if (!graph->uncovered.empty()) {
    return graph->uncovered.front().operator_name + ": " + graph->uncovered.front().reason;
  }
  return "";
}

/// Rounding of a sum grows with the root of its length.
double tolerance(const ImportedGraph& graph, float expected) {
  int64_t longest = 1;
  for (const ImportedStep& step : graph.steps) {
    longest = std::max(longest, reduction_length(step.workload));
  }
  return 1e-5 * std::sqrt(static_cast<double>(longest)) + 1e-4 * std::fabs(expected);
}

void check_case(const OnnxCase& test, const ImportedGraph& graph, const ComputeWorkload& compute) {
  INFO(test.name);
  const Result<std::vector<TensorData>> inputs = read_tensors(test.data, "input");
  const Result<std::vector<TensorData>> expected = read_tensors(test.data, "output");
  REQUIRE(inputs.ok());
  REQUIRE(expected.ok());
  REQUIRE(inputs->size() == graph.inputs.size());
  REQUIRE(expected->size() == graph.outputs.size());
  std::map<std::string, TensorData> tensors;
  for (size_t i = 0; i < inputs->size(); ++i) {
    tensors[graph.inputs[i]] = (*inputs)[i];
  }
  CHECK(execute_graph(graph, compute, &tensors) == "");
  for (size_t i = 0; i < expected->size(); ++i) {
    const std::vector<float>& want = (*expected)[i].values;
    const std::vector<float>& got = tensors[graph.outputs[i]].values;
    REQUIRE(got.size() == want.size());
    size_t wrong = 0;
    for (size_t j = 0; j < want.size(); ++j) {
      wrong += std::fabs(got[j] - want[j]) <= tolerance(graph, want[j]) ? 0 : 1;
    }
    CHECK(wrong == 0);
  }
}

void check_all(const ComputeWorkload& compute) {
  const std::vector<OnnxCase> cases = conformance_cases(TEMPER_ONNX_TESTDATA);
  size_t in_scope = 0;
  for (const OnnxCase& test : cases) {
    const Result<ImportedGraph> graph = import_onnx_graph(test.model, {});
    const std::string reason = out_of_scope(graph);
    std::printf("%s %s%s%s\n", reason.empty() ? "in scope:    " : "out of scope:", test.name.c_str(),
                reason.empty() ? "" : ": ", reason.c_str());
    if (reason.empty()) {
      ++in_scope;
      check_case(test, *graph, compute);
    } else {
      // Nothing but a third dimension keeps a case of these folders out.
      CHECK(reason == "Conv: convolutions over more than two dimensions are not tuned");
    }
  }
  std::printf("%zu of %zu cases in scope\n", in_scope, cases.size());
  CHECK(in_scope >= 44);
}

TEST_CASE("ONNX conformance cases equal their stored outputs when computed by the reference") {
  check_all(compute_by_reference);
}

TEST_CASE("ONNX conformance cases equal their stored outputs when computed by baked kernels") {
  check_all(compute_compiled(KernelMode::kBaked));
}

TEST_CASE("ONNX conformance cases equal their stored outputs when computed by kernels with run knobs") {
  check_all(compute_compiled(KernelMode::kPack));
}

}  // namespace
}  // namespace temper
