// Small random workloads with every attribute varied, for property tests of schedules and codegen. Deterministic by
// generator state.
#pragma once

#include <array>
#include <vector>

#include "runtime/random.h"
#include "schedules/workload.h"

namespace temper::test {

/// Valid; extents up to about `limit`.
Workload random_matmul(Random& random, int32_t limit);
/// Any padding, stride, dilation and group count; one in four is depthwise.
Workload random_conv(Random& random, int32_t limit);
Workload random_workload(Random& random, int32_t limit);

/// Inputs of small integers (runtime/check.h) for a workload, and pointers to them; absent tensors are null.
struct TestTensors {
  explicit TestTensors(const Workload& workload);
  std::array<std::vector<float>, TEMPER_TENSOR_COUNT> data;
  std::array<const float*, TEMPER_TENSOR_COUNT> inputs{};
};

}  // namespace temper::test
