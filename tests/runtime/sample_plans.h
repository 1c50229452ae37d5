// Plans to bake into tables: shared by the test of winners and by the fuzzers' samples. Host only.
#pragma once

#include <cstring>

#include "schedules/table_writer.h"

namespace temper::test {

inline BakedPlan unpacked_plan(uint16_t kernel) {
  BakedPlan baked;
  baked.plan.grid = 4;
  baked.plan.threads = 2;
  baked.plan.workspace_bytes = 128;
  baked.plan.packed_tensor = TEMPER_TENSOR_COUNT;
  baked.kernel = kernel;
  return baked;
}

/// A 6 x 5 operand in blocks of 4 columns.
inline BakedPlan packed_plan(uint16_t kernel) {
  BakedPlan baked = unpacked_plan(kernel);
  baked.plan.packed_tensor = TEMPER_IN_B;
  baked.plan.packed_bytes = 2 * 4 * 6 * sizeof(float);
  const int32_t layout[11] = {1, 0, 5, 1, 4, 1, 0, 1, 0, 6, 5};
  std::memcpy(baked.plan.pack_layout, layout, sizeof layout);
  return baked;
}

}  // namespace temper::test
