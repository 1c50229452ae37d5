// Which variant of a kernel pack gets which fault on which workload, written as a C header for kernels.c. Called by
// write_pack; no part of the product.
#pragma once

#include <string>

#include "codegen/kernel_pack.h"

namespace temper {

/// For a pack of ds_cnn. Fails when its data does not verify.
Result<std::string> planted_plan(const KernelPack& pack);

}  // namespace temper
