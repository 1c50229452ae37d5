// One workload compiled in this process and run on given tensors: for conformance tests and one-off comparisons. The
// kernel is trusted: nothing is guarded and a crash is the caller's. Tuning goes through jit_runner instead.
#pragma once

#include <array>
#include <vector>

#include "codegen/kernel_compiler.h"
#include "runtime/span.h"
#include "schedules/workload.h"
#include "temper/temper.h"

namespace temper {

struct ExecuteOptions {
  temper_facts facts{};        ///< of this machine
  std::vector<int32_t> knobs;  ///< one value per knob of the template; empty: the default config
  KernelMode mode = KernelMode::kBaked;
  const temper_port* port = nullptr;  ///< threads; nullptr: one
};

class CompiledWorkload {
 public:
  /// TEMPER_INVALID_ARGUMENT when the knobs are not a legal config, TEMPER_NOT_FOUND when the space has no legal
  /// config, else what the compiler says.
  static Result<CompiledWorkload> create(const Workload& workload, const ExecuteOptions& options);

  /// Inputs by temper_tensor in the workload's layouts (absent ones nullptr); `out` as tensor_elements tells. The
  /// constant operand is packed in every call. TEMPER_INVALID_ARGUMENT when a tensor is missing or `out` is of another
  /// size.
  Result<bool> run(const std::array<const float*, TEMPER_TENSOR_COUNT>& inputs, Span<float> out);

  const temper_plan& plan() const { return plan_; }
  const std::vector<int32_t>& knobs() const { return knobs_; }

 private:
  CompiledWorkload(KernelLoader loader, const Workload& workload) : loader_(std::move(loader)), workload_(workload) {}

  KernelLoader loader_;
  Workload workload_;
  temper_plan plan_{};
  std::vector<int32_t> knobs_;
  const temper_port* port_ = nullptr;
};

/// compile, run once, forget.
Result<bool> execute_workload(const Workload& workload, const ExecuteOptions& options,
                              const std::array<const float*, TEMPER_TENSOR_COUNT>& inputs, Span<float> out);

}  // namespace temper
