// The runner of a device that ships a kernel pack: building is finding the variant, checking is one run on small
// integers compared with the pack's digest, timing is back-to-back calls on the port's clock. Called by the tuner;
// everything is done when a callback returns. Works in the memory lent for one tuning run; never allocates and never
// writes outside it.
#pragma once

#include <cstdint>

#include "runtime/runner.h"
#include "runtime/space.h"
#include "temper/temper.h"

namespace temper {

class PackRunner {
 public:
  static constexpr uint8_t kSlots = 4;  ///< a rematch holds the default and three contenders side by side

  PackRunner() = default;
  /// All outlive the runner. `spaces`: by workload; others on the same thread may share them.
  PackRunner(const PackView* pack, Span<const Space> spaces, const temper_port* port)
      : pack_(pack), spaces_(spaces), port_(port) {}

  /// What a tuning run over all workloads can use: tensors, packed constant and workspaces of the largest. Counts the
  /// largest value of every run knob for each variant.
  size_t bytes_wanted();
  /// Lends the memory. TEMPER_NO_MEMORY when a workload's default does not fit; candidates that do not fit later are
  /// invalid.
  Status attach(void* memory, size_t memory_bytes);

  Runner runner();

 private:
  struct Slot {
    uint32_t workload;
    Config config;
    temper_kernel kernel;
    temper_outcome outcome;
  };
  /// Where the tensors of one workload lie in the memory.
  struct Layout {
    float* tensor[TEMPER_TENSOR_COUNT];
    float* guarded_output;
    uint8_t* packed;
    uint8_t* workspace;
    size_t bytes;
  };

  static Layout lay_out(const WorkloadView& workload, const temper_plan& plan, uint8_t* base);
  void select(uint32_t workload);
  size_t bytes_of_variant(const VariantView& variant);
  temper_outcome find_kernel(uint32_t workload, const Config& config, temper_kernel* kernel);
  Status bind(uint8_t slot);
  void fill_inputs();
  Status call();
  Status check();
  Status time(uint32_t number, uint64_t limit_ns);

  static Status build_slot(void* self, uint8_t slot, uint32_t workload, const Config& config);
  static bool poll_slot(void* self, uint8_t slot, temper_outcome* outcome, uint32_t* build_us);
  static Status run_slot(void* self, uint8_t slot, RunKind kind, uint32_t number, uint64_t limit_ns);
  static bool poll_result(void* self, RunResult* result);
  static void release_slot(void* self, uint8_t slot);

  const PackView* pack_ = nullptr;
  Span<const Space> spaces_;
  const temper_port* port_ = nullptr;
  uint8_t* memory_ = nullptr;
  size_t memory_bytes_ = 0;
  const Space* space_ = nullptr;  ///< of workload_
  uint32_t workload_ = UINT32_MAX;
  uint32_t filled_workload_ = UINT32_MAX;  ///< whose inputs are in memory
  uint8_t bound_slot_ = kSlots;            ///< whose plan is plan_; kSlots: none's
  temper_plan plan_{};
  Layout layout_{};
  bool packed_ = false;  ///< a packed constant is in memory: packed_tensor_ in packed_layout_
  temper_tensor packed_tensor_ = TEMPER_TENSOR_COUNT;
  int32_t packed_layout_[11] = {};
  Slot slots_[kSlots] = {};
  RunResult result_{};
};

}  // namespace temper
