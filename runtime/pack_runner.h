// The runner of a device that ships a kernel pack: building is finding the variant, checking is one run on small
// integers compared with the pack's digest, timing is calls on the port's clock. A long call is made in parts over its
// grid, one part a poll, so that a step stays short and what is hopeless is cut. Called by the tuner; works in the
// memory lent for one run, never allocates and never writes outside it.
#pragma once

#include <cstdint>

#include "runtime/current_space.h"
#include "runtime/runner.h"
#include "temper/temper.h"

namespace temper {

class PackRunner {
 public:
  PackRunner() = default;
  /// Both outlive the runner. Of the config it reads pack, port and memories.
  PackRunner(CurrentSpace* spaces, const temper_config* config) : spaces_(spaces), config_(config) {}

  /// What a tuning run over all workloads can use of the memory lent to it: tensors, packed constant and workspaces of
  /// the largest. Counts the largest value of every run knob for each variant. Not while a run goes on.
  size_t bytes_wanted();
  /// Lends the memory. TEMPER_NO_MEMORY when a workload's default does not fit; candidates that do not fit later are
  /// invalid.
  Status attach(void* memory, size_t memory_bytes);

  /// One slot. A run past its limit is too_slow, with the limit as its time: it did come back.
  Runner runner();

 private:
  bool lay_out(const Space& space);
  size_t bytes_of_variant(const Space& space, const VariantView& variant);
  temper_outcome find_kernel(uint32_t workload, const Config& config);
  bool prepare();
  void call(uint32_t begin, uint32_t end);
  void set_alarm(uint64_t after_ns) const;
  uint64_t now_ns() const;
  void run_part();
  void run_calls();
  void finish(temper_outcome outcome, uint64_t elapsed_ns);

  static Status build_slot(void* self, uint8_t slot, uint32_t workload, const Config& config);
  static bool poll_slot(void* self, uint8_t slot, temper_outcome* outcome, uint32_t* build_us);
  static Status run_slot(void* self, uint8_t slot, RunKind kind, uint32_t number, uint64_t limit_ns);
  static bool poll_result(void* self, RunResult* result);
  static void release_slot(void* self, uint8_t slot);

  CurrentSpace* spaces_ = nullptr;
  const temper_config* config_ = nullptr;
  uint8_t* memory_ = nullptr;  ///< of the tensors; plans name it as number 0
  size_t memory_bytes_ = 0;
  size_t tensor_at_[TEMPER_TENSOR_COUNT] = {};  ///< in memory_; behind its guard for the output; 0: absent
  size_t tensor_bytes_ = 0;                     ///< all of them
  uint8_t* side_ = nullptr;                     ///< the packed constant, and behind it the workspace
  uint32_t workload_ = UINT32_MAX;              ///< of the slot
  uint32_t filled_workload_ = UINT32_MAX;       ///< whose inputs are in memory
  temper_outcome outcome_ = TEMPER_OUTCOME_INVALID;
  RunKind kind_ = RunKind::kCheck;
  bool prepared_ = false;  ///< the constant of the slot's plan is packed
  bool running_ = false;
  uint8_t parts_shift_ = 0;  ///< a call is made in up to 2^parts_shift_ parts
  uint32_t number_ = 0;
  uint32_t item_ = 0;      ///< of the grid: where the next part begins
  uint32_t limit_ns_ = 0;  ///< saturated: none
  uint32_t spent_ns_ = 0;  ///< saturated
  RunResult result_{};
  temper_plan plan_{};
};

}  // namespace temper
