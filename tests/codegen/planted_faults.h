// The faults that the test worker plants, and the pack that asks for them: matmul workloads of 4x4xK whose depth K
// names the fault. Shared by fault_worker.cc and the tests of the runner; no part of the product.
#pragma once

#include <cstdint>

#include "schedules/workload.h"

namespace temper {

enum class Fault : int32_t {
  kGood = 1,
  kKernelCrashes,
  kKernelHangs,
  kWrongResult,
  kWritesBehindOutput,
  kWritesBeforeOutput,
  kWritesFarBehindOutput,
  kWritesInput,
  kKernelExits,
  kBuilderAborts,
  kBuilderHangs,
  kBuilderRefuses,
  kBuilderExits,
  kLoadFails,
  kSlowKernel,
  kFaultEnd
};

inline constexpr int32_t kFaultTile = 4;

inline Workload workload_with(Fault fault) {
  Workload workload;
  workload.op = Operator::kMatmul;
  workload.matmul.m = workload.matmul.n = kFaultTile;
  workload.matmul.k = static_cast<int32_t>(fault);
  return workload;
}

}  // namespace temper
