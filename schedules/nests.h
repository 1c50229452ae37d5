// The loop nest of each template for given knob values, made with the primitives of loop_nest.h. Called by codegen.
#pragma once

#include <vector>

#include "schedules/loop_nest.h"
#include "schedules/templates.h"

namespace temper {

/// What a nest is made from. With dims, everything is a number; without, run knobs are arguments and so are the dims
/// that are not fixed (args: dims, then knobs).
struct NestInput {
  const std::vector<int32_t>* dims = nullptr;
  std::vector<int32_t> knobs;        ///< one value per knob of the template
  const FixedDims* fixed = nullptr;  ///< where dims is null

  std::optional<int32_t> known(int32_t index) const;
  bool is(int32_t index, int32_t value) const { return known(index) == value; }
  bool is_not(int32_t index, int32_t value) const { return known(index).value_or(value) != value; }

  Amount dim(int32_t index) const;
  /// A run knob of a template with dim_count dims.
  Amount run_knob(int32_t index, int32_t dim_count) const;
};

/// Axes of the nest of kGemm, in order. batch outer x batch inner = g.
enum GemmAxis : AxisId { kAxisOuter = 0, kAxisInner, kAxisM, kAxisN, kAxisK };
Result<LoopNest> gemm_nest(const NestInput& input);

/// Axes of the nest of kDepthwise.
enum DepthwiseAxis : AxisId { kAxisImage = 0, kAxisChannel, kAxisRow, kAxisColumn, kAxisKernelRow, kAxisKernelColumn };
/// The two layouts are two nests: vectors run over channels or over columns.
Result<LoopNest> depthwise_nest(const NestInput& input, bool channels_last);

/// Keeps the first error of a chain of primitives; after it the rest does nothing of use and the nest is dropped.
struct PrimitiveChain {
  std::optional<Error> error;
  template <class T>
  T take(Result<T> result) {
    if (result) {
      return *result;
    }
    if (!error) {
      error = result.error();
    }
    return T{};
  }
};

}  // namespace temper
