// Makes and executes plans: a workload bound to a kernel, its run knobs and its packed constant.
// Called by the C API, by runners on a device and in the host's worker. Knows no operator: everything follows from the
// space.
#pragma once

#include "runtime/space.h"
#include "temper/temper.h"

namespace temper {

/// Binds `config` of `space` to `kernel`. threads is bounded by the facts, the grid and the work there is.
/// TEMPER_BAD_DATA when the shape program yields a size that is negative or not a multiple of its unit, packs a tensor
/// that is not constant, or would read outside it; *out is then unspecified.
Status make_plan(const Space& space, const Config& config, temper_kernel kernel, temper_plan* out);

}  // namespace temper
