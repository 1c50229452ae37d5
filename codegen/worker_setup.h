// What a worker is told once: the facts and the pack. Turns (workload, config) into spaces and compile requests.
// Called by worker and worker_bench only. Never changes after it was made.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/kernel_compiler.h"
#include "runtime/pack_view.h"
#include "runtime/space.h"

namespace temper {

class WorkerSetup {
 public:
  /// From the payload of kSetup. TEMPER_BAD_DATA when the pack does not verify.
  static Result<std::unique_ptr<WorkerSetup>> create(const std::vector<uint8_t>& payload);

  const PackView& pack() const { return pack_; }
  const temper_facts& facts() const { return facts_; }
  uint32_t threads() const { return facts_.value[TEMPER_FACT_THREADS] > 1 ? facts_.value[TEMPER_FACT_THREADS] : 1; }
  /// Valid while this lives; every space shares one scratch, so use one at a time.
  Space space(uint32_t workload) const;
  /// TEMPER_INVALID_ARGUMENT when there is no such workload or a choice is out of range.
  Result<KernelRequest> kernel_request(uint32_t workload, const Config& config, const std::string& symbol) const;
  bool in_range(uint32_t workload, const Config& config) const;

 private:
  WorkerSetup() = default;

  std::vector<uint64_t> pack_bytes_;  ///< 64-bit words keep the alignment that a pack needs
  temper_facts facts_{};
  PackView pack_;
  mutable std::vector<int32_t> values_;
  mutable std::vector<Interval> intervals_;
};

/// The payload of kSetup.
std::vector<uint8_t> setup_payload(const temper_facts& facts, const void* pack, size_t pack_bytes);

}  // namespace temper
