// The timing worker's bench: loaded kernels in slots, the tensors of the workloads under test, checks and times.
// Called by worker alone, in a process that may die with the kernel it runs. Never compiles.
#pragma once

#include <array>
#include <list>
#include <memory>
#include <vector>

#include "codegen/guarded_buffer.h"
#include "codegen/worker.h"
#include "codegen/worker_setup.h"
#include "runtime/tuner.h"
#include "temper/port_linux.h"
#include "temper/temper.h"

namespace temper {

enum class CheckVerdict : uint8_t { kRight, kWrong, kOverran };

class WorkerBench {
 public:
  /// Both outlive it. One thread only where the system gives no more.
  WorkerBench(const WorkerSetup* setup, const WorkerBackend& backend, std::string symbol);

  /// Links an object into a slot. A failure to link is kept and told by prepare. False: the request itself is wrong.
  bool load(uint8_t slot, uint32_t workload, const Config& config, const std::vector<uint8_t>& object);
  bool unload(uint8_t slot);

  /// Brings tensors, packed constant and workspace in place. ok, or why the slot cannot run.
  temper_outcome prepare(uint8_t slot);
  /// One run of a prepared slot into a poisoned output.
  CheckVerdict check(uint8_t slot, uint32_t expected_digest, uint64_t* elapsed_ns);
  /// Nanoseconds of `calls` back-to-back calls of a prepared slot.
  uint64_t time(uint8_t slot, uint32_t calls);

 private:
  struct Slot {
    bool loaded = false;
    bool packed = false;
    temper_outcome outcome = TEMPER_OUTCOME_INVALID;  ///< of loading
    uint32_t handle = 0;
    uint32_t workload = 0;
    temper_plan plan{};
    GuardedBuffer packed_constant;
  };
  struct TensorSet {
    uint32_t workload = 0;
    std::array<GuardedBuffer, TEMPER_TENSOR_COUNT> tensor;
    size_t bytes = 0;
  };

  TensorSet* tensors_of(uint32_t workload);
  std::array<void*, TEMPER_TENSOR_COUNT> arguments(const Slot& slot, const TensorSet& set) const;
  bool run_once(const Slot& slot, const std::array<void*, TEMPER_TENSOR_COUNT>& tensors);

  const WorkerSetup* setup_;
  const WorkerBackend& backend_;
  std::string symbol_;
  std::unique_ptr<temper_linux_threads, void (*)(temper_linux_threads*)> threads_{nullptr,
                                                                                  temper_linux_threads_destroy};
  temper_port port_{};
  std::array<Slot, kMaxSlots> slots_;
  std::list<TensorSet> tensor_sets_;  ///< most recently used first
  GuardedBuffer workspace_;
};

}  // namespace temper
