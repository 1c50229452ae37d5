// Which dims are constants in the kernels of a pack: those that all workloads share which a variant may serve. Called
// before kernels are compiled, and by write_pack, which refuses a workload that a kernel was not compiled for.
#pragma once

#include <vector>

#include "schedules/spaces.h"
#include "schedules/template_data.h"

namespace temper {

/// Fixes what all workloads that a variant may serve, on whatever machine, share. One that serves none fixes nothing.
Result<bool> fix_dims(const std::vector<NetworkWorkload>& workloads, std::vector<PackVariant>* variants);

/// TEMPER_BAD_DATA, naming both, when a variant may serve a workload that differs in a fixed dim.
Result<bool> check_fixed_dims(const std::vector<NetworkWorkload>& workloads, const std::vector<PackVariant>& variants,
                              const std::vector<TemplateData>& templates);

/// `hash`, continued over what is fixed; unchanged where nothing is.
uint32_t hash_fixed_dims(uint32_t hash, const std::vector<PackVariant>& variants);

}  // namespace temper
