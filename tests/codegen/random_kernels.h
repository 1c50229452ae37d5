// Random workloads and knobs for tests of kernels: lengths of one, and lengths that end a tile early, exactly or just
// after it. Called by the tests that run kernels here and by those that send them to an emulator.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "codegen/target.h"
#include "schedules/templates.h"

namespace temper {

/// One of the values.
int32_t pick(std::mt19937& random, const std::vector<int32_t>& values);
/// low..high.
int32_t between(std::mt19937& random, int32_t low, int32_t high);

Workload random_matmul(std::mt19937& random);
/// Of template kGemm.
Workload random_conv(std::mt19937& random);
Workload random_depthwise(std::mt19937& random);

/// Sets the run knobs of kGemm.
void random_blocks(std::mt19937& random, std::vector<int32_t>& knobs);
/// Knobs that a kernel of these dims can be made with; tiles may exceed the target's registers.
std::vector<int32_t> random_gemm_knobs(std::mt19937& random, const std::vector<int32_t>& dims, const Target& target);
std::vector<int32_t> random_depthwise_knobs(std::mt19937& random, const std::vector<int32_t>& dims,
                                            const Target& target);
/// Some of the dims, all or none of them.
FixedDims random_fixed_dims(std::mt19937& random, const std::vector<int32_t>& dims);
/// The operand knobs fit the dims.
bool reads_operands(const std::vector<int32_t>& dims, const std::vector<int32_t>& knobs);

}  // namespace temper
