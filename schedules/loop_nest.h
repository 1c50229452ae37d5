// The loop nest of a template as data, and the primitives that transform it. Built by nests.h, walked by codegen, which
// emits exactly the loops found here. Never knows an instruction set; every primitive refuses with a reason and then
// leaves the nest unchanged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedules/result.h"
#include "temper/kernel.h"

namespace temper {

/// A size: a number, or an argument of the kernel (an index into args of temper_kernel), or the quotient of two
/// arguments.
struct Amount {
  enum class Kind : uint8_t { kConstant, kArgument, kQuotient };
  Kind kind = Kind::kConstant;
  int32_t value = 0;    ///< the number, or the index of the (dividend) argument
  int32_t divisor = 0;  ///< kQuotient: index of the dividing argument

  static Amount constant(int32_t number) { return {Kind::kConstant, number, 0}; }
  static Amount argument(int32_t index) { return {Kind::kArgument, index, 0}; }
  static Amount quotient(int32_t dividend, int32_t divisor) { return {Kind::kQuotient, dividend, divisor}; }
  bool known() const { return kind == Kind::kConstant; }
  bool is(int32_t number) const { return known() && value == number; }
  bool operator==(const Amount&) const = default;
};

/// A piece of an axis: `amount` rounded up to `multiple`, and no more than the axis so rounded.
struct Chunk {
  Amount amount;
  int32_t multiple = 1;

  bool known() const { return amount.known(); }
  bool operator==(const Chunk&) const = default;
};

using AxisId = uint32_t;
using LoopId = uint32_t;  ///< 0 is no loop

enum class AxisKind : uint8_t { kSpatial, kReduction };
enum class LoopKind : uint8_t { kSerial, kUnrolled, kVectorized, kParallel };

struct Axis {
  std::string name;
  AxisKind kind;
  Amount extent;
};

/// The loop runs over `span` elements of the axis (the part that the enclosing loop of the same axis leaves it), `step`
/// at a time.
struct LoopPart {
  AxisId axis = 0;
  Chunk span, step;
};

struct Loop {
  LoopId id = 0;
  std::string name;
  LoopKind kind = LoopKind::kSerial;
  std::vector<LoopPart> parts;         ///< one; several, outermost first, after fuse
  bool accumulates_in_output = false;  ///< reduction passes whose partial sums wait in the output
  std::optional<Amount> exchanged_by;  ///< when not 0, changes places with the next loop; fused: its last two parts do
};

/// Image-to-rows view of an operand: element (pixel, depth), pixel = (oh, ow), depth = the window position and the
/// channel; zero outside the image. Strides in elements.
struct ImageView {
  Amount enabled;  ///< the view is used where this amount equals `enabled_value`
  int32_t enabled_value = 0;
  bool channels_last = false;  ///< depth = (kh, kw, c), else (c, kh, kw)
  Amount height, width, out_width, kernel_h, kernel_w, stride_h, stride_w, pad_top, pad_left, dilation_h, dilation_w;
  Amount channels, channel_stride, row_stride, pixel_stride;
};

struct Term {
  AxisId axis;
  Amount stride;
};

enum class PackLayout : uint8_t { kInPlace, kPanel, kRows, kConstant };

/// How a tensor is addressed, and where (if at all) it is packed.
struct Access {
  temper_tensor tensor = TEMPER_OUT;
  std::vector<Term> terms;
  std::optional<ImageView> image = std::nullopt;
  /// The filter beside an image whose depth runs (kh, kw, c): in memory its depth is (c, kh, kw).
  std::optional<ImageView> filter_of = std::nullopt;
  bool strided_vectors = false;  ///< vectors along an axis of another stride than 1 are gathered
  PackLayout layout = PackLayout::kInPlace;
  LoopId pack_at = 0;    ///< kPanel, kRows: packed at the start of each iteration of this loop
  AxisId tile_axis = 0;  ///< the axis that panels are tiles of
  int32_t tile = 0;      ///< elements of tile_axis per panel; 1 for kRows

  const Amount* stride(AxisId axis) const;
};

/// What happens to a finished sum: bias, addend, activation. Amounts as in the dims of the template.
struct EpilogueStage {
  Amount bias, bias_inner, addend, activation, clip_low, clip_high;
  LoopId at = 0;
};

struct SplitLoops {
  LoopId outer = 0, inner = 0;
};

class LoopNest {
 public:
  /// A new axis and its loop, innermost. Returns the axis; loop_of gives the loop.
  AxisId add_axis(const std::string& name, AxisKind kind, Amount extent);
  LoopId loop_of(AxisId axis) const;
  void add_access(Access access) { accesses_.push_back(std::move(access)); }
  void set_epilogue(EpilogueStage stage) { epilogue_ = stage; }

  /// loop -> outer (by `factor`) and, directly inside, inner (over `factor`).
  Result<SplitLoops> split(LoopId loop, Chunk factor);
  /// The loops listed take, in this order, the places that they occupy now.
  Result<bool> reorder(const std::vector<LoopId>& order);
  /// outer and inner, adjacent, change places when the argument is not 0.
  Result<bool> exchange_by(LoopId outer, LoopId inner, Amount argument);
  /// One loop over both, which must be adjacent.
  Result<LoopId> fuse(LoopId outer, LoopId inner);
  Result<bool> unroll(LoopId loop);
  Result<bool> vectorize(LoopId loop);
  Result<bool> parallel(LoopId loop);
  /// Partial sums of this reduction loop wait in the output between its iterations, so that spatial loops may be inside
  /// it.
  Result<bool> accumulate_in_output(LoopId loop);
  /// The epilogue runs in each iteration of `loop`, on the sums finished there.
  Result<bool> compute_at(LoopId loop);
  /// Caches an operand in panels of `tile` (or rows) at `loop`; kConstant: once per plan, loop 0.
  Result<bool> pack(temper_tensor tensor, PackLayout layout, AxisId tile_axis, int32_t tile, LoopId loop);

  const std::vector<Axis>& axes() const { return axes_; }
  const std::vector<Loop>& loops() const { return loops_; }
  const Access* access(temper_tensor tensor) const;
  const EpilogueStage& epilogue() const { return epilogue_; }
  /// Index of the first loop from which on all is held in registers: reduction, unrolled and vectorized loops only.
  size_t register_begin() const;
  /// Iterations of all unrolled (kUnrolled) or vectorized loops over an axis.
  int32_t copies(AxisId axis, LoopKind kind) const;

 private:
  size_t find(LoopId loop) const;
  bool spatial(const Loop& loop) const;
  std::optional<int32_t> trip_count(const Loop& loop) const;
  /// With the next loop or the one before.
  bool exchanged(size_t position) const;
  /// An operand is packed or the epilogue runs there.
  bool has_stage(LoopId loop) const;
  Result<bool> check_reductions(const std::vector<Loop>& loops) const;
  Result<bool> check_epilogue(const std::vector<Loop>& loops, size_t position) const;
  Result<bool> check_footprint(const std::vector<Loop>& loops, const Access& access, size_t position) const;
  Result<bool> check_stages(const std::vector<Loop>& loops) const;
  Result<bool> check_vectors(const Access& access, AxisId axis) const;

  std::vector<Axis> axes_;
  std::vector<Loop> loops_;  ///< outermost first
  std::vector<Access> accesses_;
  EpilogueStage epilogue_;
  LoopId next_loop_ = 1;
};

}  // namespace temper
