// The digest of runtime/check.h, computed eight bytes at a time: the host checks outputs of megabytes for every trial.
// Called by worker_bench. Same result as the device core's, which has no room for the tables.
#pragma once

#include <cstdint>

#include "runtime/span.h"

namespace temper {

/// Equals digest(output).
uint32_t fast_digest(Span<const float> output);

}  // namespace temper
