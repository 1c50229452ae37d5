// The naive, obviously right computation of every operator. Called to compute digests and by tests; never fast on
// purpose.
#pragma once

#include <array>
#include <vector>

#include "runtime/span.h"
#include "schedules/workload.h"

namespace temper {

/// Tensors by temper_tensor in the workload's own layouts; out is written whole. Sizes as tensor_elements tells.
/// Sums in double; exact on small integers.
void compute_reference(const Workload& workload, const std::array<const float*, TEMPER_TENSOR_COUNT>& inputs,
                       Span<float> out);

/// Digest of the output on the small-integer inputs of runtime/check.h.
uint32_t reference_digest(const Workload& workload);

}  // namespace temper
