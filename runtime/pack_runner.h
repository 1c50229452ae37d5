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
  /// the largest, all in this memory. Counts the largest value of every run knob for each variant. Not while a run
  /// goes on.
  size_t bytes_wanted();
  /// Lends the memory. TEMPER_NO_MEMORY when a workload's default does not fit; candidates that do not fit later are
  /// invalid.
  Status attach(void* memory, size_t memory_bytes);

  /// One slot. A run past its limit is too_slow, with the limit as its time: it did come back.
  Runner runner();

 private:
  bool lay_out(const Space& space);
  size_t bytes_of_variant(const Space& space, uint32_t variant);
  temper_outcome find_kernel();
  uint32_t fold_inputs() const;
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
  temper_outcome outcome_ = TEMPER_OUTCOME_INVALID;  ///< of the slot's build
  bool running_ = false;

  // Written by a build, or where a run begins, before they are read.
  RunKind kind_;
  bool prepared_;                          ///< the constant of the slot's plan is packed
  uint8_t parts_shift_;                    ///< a call is made in up to 2^parts_shift_ parts
  size_t tensor_at_[TEMPER_TENSOR_COUNT];  ///< in memory_; behind its guard for the output; 0: absent
  size_t tensor_bytes_;                    ///< all of them
  size_t inputs_at_, inputs_bytes_;
  uint32_t inputs_fold_;      ///< of inputs and packed constant, before the kernel ran
  uint8_t* side_;             ///< the packed constant, and behind it the workspace
  uint32_t workload_;         ///< of the slot
  const Config* wanted_;      ///< what is built
  uint32_t filled_workload_;  ///< whose inputs are in memory
  uint32_t number_;
  uint32_t item_;      ///< of the grid: where the next part begins
  uint32_t limit_ns_;  ///< saturated: none
  uint32_t spent_ns_;  ///< saturated
  RunResult result_;
  temper_plan plan_;
};

}  // namespace temper
