#include "codegen/lower_window.h"

#include <algorithm>

namespace temper {
namespace {

constexpr int64_t kMaxUnrolledTaps = 512;  // multiply-adds of one unrolled tile

}  // namespace

using llvm::Value;

// The loops inside the grid depend on where the edges of the image fall, so they are emitted here.
WindowLowering::WindowLowering(Emitter& emitter, const LoopNest& nest, bool channels_last, const NestInput& input)
    : NestWalker(emitter, nest, 1),
      exact_(input.dims != nullptr),
      channels_last_(channels_last),
      inner_blocks_(channels_last && emitter.bare_metal()),
      dims_(input),
      tile_h_(nest.copies(kAxisRow, LoopKind::kUnrolled)),
      tile_w_(nest.copies(kAxisColumn, LoopKind::kUnrolled)),
      vectors_(nest.copies(kAxisChannel, LoopKind::kUnrolled)),
      activation_(emitter, nest.epilogue()) {}

// On a microcontroller the channel blocks of one row block, which follow each other in the grid, are taken together:
// what depends on the pixel alone is then computed once for all of them. Items are counted channels inside: so they are
// with order 1, and with any order where a row block is all rows.
void WindowLowering::grid(size_t place) {
  if (!inner_blocks_) {
    NestWalker::grid(place);
    return;
  }
  llvm::IRBuilder<>& b = e_.builder();
  Value *size = e_.integer(block_size()), *height = dim(kDwOutH);
  Value* step = e_.chunk({dims_.run_knob(kDwKnobRows, kDwDimCount), 1}, dims_.dim(kDwOutH));
  Value* c_blocks = e_.at_entry([&] { return e_.ceil_div(dim(kDwC), size); });
  Value* row_blocks = e_.at_entry([&] { return e_.ceil_div(height, step); });
  Value* rows_inside = e_.at_entry([&] {
    Value* order = e_.amount(dims_.run_knob(kDwKnobOrder, kDwDimCount));
    return b.CreateAnd(e_.equal(order, 0), b.CreateNot(e_.equal(row_blocks, 1)));
  });
  Value* together = e_.at_entry([&] { return b.CreateSelect(rows_inside, e_.integer(1), c_blocks); });
  Value *begin = e_.begin_item(), *end = e_.end_item();
  e_.loop(e_.div(begin, together), e_.ceil_div(end, together), e_.integer(1), [&](Value* run) {
    const std::vector<AxisState> saved = axes_;
    Value *rest = e_.div(run, row_blocks), *first = e_.mul(e_.mod(run, row_blocks), step);
    Value* start = e_.mul(run, together);
    Value* channel_block = e_.mod(rest, c_blocks);
    first_block_ = b.CreateSelect(rows_inside, channel_block, e_.maximum(e_.sub(begin, start), e_.integer(0)));
    Value* end_of_run = e_.minimum(e_.sub(end, start), c_blocks);
    end_block_ = b.CreateSelect(rows_inside, e_.add(channel_block, e_.integer(1)), end_of_run);
    axes_[kAxisImage].inside = b.CreateSelect(rows_inside, e_.div(rest, c_blocks), rest);
    axes_[kAxisRow].inside = first;
    axes_[kAxisRow].left = e_.minimum(step, e_.sub(height, first));
    register_tile();
    axes_ = saved;
  });
}

// Channels: whole blocks, then one that ends early; by masks, or channel by channel where there are none.
void WindowLowering::register_tile() {
  Value *channel = position(kAxisChannel), *left = axes_[kAxisChannel].left;
  const auto emit = [&](bool packed) {
    const Block whole{inner_blocks_ ? nullptr : channel, vectors_, {}, false, packed};
    if (!channels_last_ || inner_blocks_) {
      rows(whole);
      return;
    }
    const int64_t size = static_cast<int64_t>(vectors_) * e_.lanes();
    int64_t count = 0;
    const bool even = Emitter::known(extent(kAxisChannel), &count) && count % size == 0, known = exact_;
    Value* full = even ? e_.builder().getTrue() : e_.builder().CreateNot(e_.less(left, e_.integer(size)));
    full = known && count < size ? e_.builder().getFalse() : full;
    // Masks of AVX-512 cost little, so a pack holds the masked body of one vector alone. Of several it does not: LLVM
    // ties a multiply-add to a masked load that it alone uses, not to its sum, and runs out of registers.
    const bool masked_only = !known && !even && vectors_ == 1 && e_.masks() && e_.lanes() == 16;
    full = masked_only ? e_.builder().getFalse() : full;
    e_.when(
        full, [&] { rows(whole); },
        [&] {
          if (!e_.masks()) {
            e_.loop(e_.integer(0), left, e_.integer(1), [&](Value* i) {
              rows({e_.add(channel, i), 1, {}, true, packed});
            });
            return;
          }
          if (!known && vectors_ > 1) {  // in a pack, a vector at a time: far less code than all of them masked
            e_.loop(e_.integer(0), left, e_.integer(e_.lanes()), [&](Value* i) {
              rows({e_.add(channel, i), 1, {e_.lane_mask(e_.sub(left, i), 0)}, false, packed, true});
            });
            return;
          }
          Block tail = whole;
          tail.vectors = known ? static_cast<int32_t>((count % size + e_.lanes() - 1) / e_.lanes()) : vectors_;
          for (int32_t v = 0; v < tail.vectors; ++v) {
            tail.masks.push_back(e_.lane_mask(known ? e_.integer(count % size) : left, v));
          }
          rows(tail);
        });
  };
  if (!channels_last_) {
    emit(false);
    return;
  }
  if (e_.lanes() == 1) {  // the filter is read as it is
    emit(false);
    return;
  }
  e_.when(
      e_.equal(dim(kDwFilterConstant), 0), [&] { emit(false); }, [&] { emit(true); });
}

// Outputs of which every tap is inside the image.
WindowLowering::Range WindowLowering::interior(AxisId axis, const Range& whole) {
  const bool row = axis == kAxisRow;
  Value *stride = dim(row ? kDwStrideH : kDwStrideW), *pad = dim(row ? kDwPadTop : kDwPadLeft);
  Value *size = dim(row ? kDwInH : kDwInW), *kernel = dim(row ? kDwKernelH : kDwKernelW);
  Value* span = e_.mul(e_.sub(kernel, e_.integer(1)), dim(row ? kDwDilationH : kDwDilationW));
  Value* last = e_.sub(e_.add(e_.sub(size, e_.integer(1)), pad), span);
  Value* begin = e_.minimum(e_.maximum(e_.ceil_div(pad, stride), whole.begin), whole.end);
  Value* end = e_.div(e_.maximum(e_.add(last, stride), e_.integer(0)), stride);
  return {begin, e_.minimum(e_.maximum(end, begin), whole.end)};
}

// Taps of one output that are inside the image.
WindowLowering::Range WindowLowering::taps(Value* output, bool vertical) {
  Value *stride = dim(vertical ? kDwStrideH : kDwStrideW), *pad = dim(vertical ? kDwPadTop : kDwPadLeft);
  Value *dilation = dim(vertical ? kDwDilationH : kDwDilationW), *size = dim(vertical ? kDwInH : kDwInW);
  Value* first = e_.sub(e_.mul(output, stride), pad);
  // Asked for every pixel of an edge, and a division takes as long as several taps.
  const auto taps_over = [&](Value* elements) {
    Value* some = e_.maximum(elements, e_.integer(0));
    return e_
        .choose(
            e_.equal(dilation, 1), [&] { return Values{some}; }, [&] { return Values{e_.ceil_div(some, dilation)}; })
        .front();
  };
  Value* begin = taps_over(e_.sub(e_.integer(0), first));
  Value* end = taps_over(e_.sub(size, first));
  return {begin, e_.minimum(end, dim(vertical ? kDwKernelH : kDwKernelW))};
}

// The inside where it holds a register tile and `condition` holds; else nothing, at the end.
WindowLowering::Range WindowLowering::at_least(const Range& inside, const Range& whole, int64_t size,
                                               Value* condition) {
  llvm::IRBuilder<>& b = e_.builder();
  Value* fits = b.CreateNot(e_.less(e_.sub(inside.end, inside.begin), e_.integer(size)));
  fits = b.CreateSelect(condition, fits, b.getFalse());
  return {b.CreateSelect(fits, inside.begin, whole.end), b.CreateSelect(fits, inside.end, whole.end)};
}

// One loop over what is before and behind the inside.
void WindowLowering::each_edge(const Range& whole, const Range& inside, const std::function<void(Value*)>& body) {
  Value *before = e_.sub(inside.begin, whole.begin), *behind = e_.sub(whole.end, inside.end);
  e_.loop(e_.integer(0), e_.add(before, behind), e_.integer(1), [&](Value* i) {
    Value* late = e_.add(inside.end, e_.sub(i, before));
    body(e_.builder().CreateSelect(e_.less(i, before), e_.add(whole.begin, i), late));
  });
}

void WindowLowering::rows(const Block& block) {
  Value* first = position(kAxisRow);
  const Range whole{first, e_.add(first, axes_[kAxisRow].left)};
  const bool gathers = channels_last_ && !block.packed_filter && e_.lanes() > 1;
  const bool pixels_only = block.scalar || (gathers && !dims_.known(kDwFilterConstant));
  if (pixels_only) {
    const Range nothing{extent(kAxisColumn), extent(kAxisColumn)};
    e_.loop(whole.begin, whole.end, e_.integer(1),
            [&](Value* row) { edge_pixels(block, row, 1, taps(row, true), nothing); });
    return;
  }
  // Loops over the taps that are inside serve every row; only a pack's size speaks against a body for the interior.
  if (tile_h_ == 1 && !window_known()) {
    e_.loop(whole.begin, whole.end, e_.integer(1), [&](Value* row) { columns(block, row, 1, taps(row, true), false); });
    return;
  }
  const Range inside = at_least(interior(kAxisRow, whole), whole, tile_h_, e_.builder().getTrue());
  each_edge(whole, inside, [&](Value* row) { columns(block, row, 1, taps(row, true), false); });
  e_.loop(inside.begin, inside.end, e_.integer(tile_h_), [&](Value* row) {
    Value* start = tile_h_ == 1 ? row : e_.minimum(row, e_.sub(inside.end, e_.integer(tile_h_)));
    columns(block, start, tile_h_, {e_.integer(0), dim(kDwKernelH)}, true);
  });
}

// The last tile of the inside steps back and computes some outputs again rather than end early.
void WindowLowering::columns(const Block& block, Value* row, int32_t height, const Range& kernel_rows,
                             bool interior_rows) {
  const Range whole{e_.integer(0), extent(kAxisColumn)};
  const int64_t size = static_cast<int64_t>(tile_w_) * (channels_last_ ? 1 : e_.lanes());
  Value* contiguous = e_.equal(dim(kDwStrideW), 1);
  Value* tiles = channels_last_ || dims_.known(kDwStrideW) ? e_.builder().getTrue() : contiguous;
  Range inside_image;  // the same for every row
  e_.at_entry([&] {
    inside_image = interior(kAxisColumn, whole);
    return inside_image.begin;
  });
  const Range inside = at_least(inside_image, whole, size, tiles);
  if (channels_last_ || !e_.masks()) {
    edge_pixels(block, row, height, kernel_rows, inside);
  } else {
    edge_vectors(block, row, height, kernel_rows, inside);
  }
  e_.loop(inside.begin, inside.end, e_.integer(size), [&](Value* at) {
    Tile one;
    one.row = row;
    one.column = size == 1 ? at : e_.minimum(at, e_.sub(inside.end, e_.integer(size)));
    one.height = height;
    one.width = tile_w_;
    one.kernel_rows = kernel_rows;
    one.kernel_columns = {e_.integer(0), dim(kDwKernelW)};
    one.interior = interior_rows;
    tile(block, one);
  });
}

// One column of the tile's rows at a time, which share the taps that are inside.
void WindowLowering::edge_pixels(const Block& block, Value* row, int32_t height, const Range& kernel_rows,
                                 const Range& inside) {
  Block pixel = block;
  pixel.scalar = block.scalar || !channels_last_;
  each_edge({e_.integer(0), extent(kAxisColumn)}, inside, [&](Value* column) {
    Tile one;
    one.row = row;
    one.column = column;
    one.height = height;
    one.width = 1;
    one.kernel_rows = kernel_rows;
    one.kernel_columns = taps(column, false);
    tile(pixel, one);
  });
}

void WindowLowering::edge_vectors(const Block& block, Value* row, int32_t height, const Range& kernel_rows,
                                  const Range& inside) {
  llvm::IRBuilder<>& b = e_.builder();
  e_.loop(e_.integer(0), e_.integer(2), e_.integer(1), [&](Value* side) {
    Value *before = e_.equal(side, 0), *end = b.CreateSelect(before, inside.begin, extent(kAxisColumn));
    e_.loop(b.CreateSelect(before, e_.integer(0), inside.end), end, e_.integer(e_.lanes()), [&](Value* column) {
      Tile one;
      one.row = row;
      one.column = column;
      one.height = height;
      one.width = 1;
      one.kernel_rows = kernel_rows;
      one.kernel_columns = {e_.integer(0), dim(kDwKernelW)};
      one.columns_end = end;
      tile(block, one);
    });
  });
}

void WindowLowering::tile(const Block& block, Tile one) {
  const Range &rows = one.kernel_rows, &columns = one.kernel_columns;
  Value* top = e_.sub(e_.mul(one.row, dim(kDwStrideH)), dim(kDwPadTop));
  Value* left = e_.sub(e_.mul(one.column, dim(kDwStrideW)), dim(kDwPadLeft));
  top = e_.add(top, e_.mul(rows.begin, dim(kDwDilationH)));
  left = e_.add(left, e_.mul(columns.begin, dim(kDwDilationW)));
  Value *image = position(kAxisImage), *in = e_.mul(image, dim(kDwInN)), *out = e_.mul(image, dim(kDwOutN));
  in = e_.add(in, e_.add(e_.mul(top, dim(kDwInRow)), e_.mul(left, dim(kDwInPixel))));
  one.image = e_.offset(e_.tensor(TEMPER_IN_A), in);
  one.out = e_.add(out, e_.add(e_.mul(one.row, dim(kDwOutRow)), e_.mul(one.column, dim(kDwOutPixel))));
  one.tap = e_.add(e_.mul(rows.begin, dim(kDwKernelW)), columns.begin);
  if (block.channel == nullptr) {
    blocks_of_tile(block, one);
  } else {
    block_of_tile(block, one);
  }
}

void WindowLowering::block_of_tile(const Block& block, const Tile& one) {
  finish(block, one, unrollable(one) ? sums_unrolled(block, one) : sums_of_arguments(block, one));
}

// Whole blocks, then what is left: a masked block, or channel by channel.
void WindowLowering::blocks_of_tile(const Block& block, const Tile& one) {
  Value *channels = extent(kAxisChannel), *size = e_.integer(block_size());
  const auto at = [&](Value* channel, int32_t vectors, bool scalar) {
    return Block{channel, vectors, {}, scalar, block.packed_filter};
  };
  int64_t count = 0;
  const bool even = Emitter::known(channels, &count) && count % block_size() == 0;
  Value* whole = even ? end_block_ : e_.minimum(end_block_, e_.div(channels, size));
  e_.loop(first_block_, whole, e_.integer(1),
          [&](Value* index) { block_of_tile(at(e_.mul(index, size), vectors_, false), one); });
  if (even || block_size() == 1) {
    return;
  }
  Value* rest = e_.mul(e_.div(channels, size), size);
  Value* end = e_.minimum(e_.mul(end_block_, size), channels);
  if (!e_.masks()) {
    e_.loop(rest, end, e_.integer(1), [&](Value* channel) { block_of_tile(at(channel, 1, true), one); });
    return;
  }
  e_.when(e_.less(rest, end), [&] {
    Block tail = at(rest, vectors_, false);
    for (int32_t v = 0; v < vectors_; ++v) {
      tail.masks.push_back(e_.lane_mask(e_.sub(end, rest), v));
    }
    block_of_tile(tail, one);
  });
}

bool WindowLowering::window_known() const {
  constexpr DepthwiseDim kWindow[] = {kDwKernelH,   kDwKernelW,   kDwStrideH, kDwStrideW,
                                      kDwDilationH, kDwDilationW, kDwInRow,   kDwInPixel};
  return std::all_of(std::begin(kWindow), std::end(kWindow), [&](DepthwiseDim dim) { return dims_.known(dim); });
}

bool WindowLowering::unrollable(const Tile& one) const {
  if (!one.interior || !window_known()) {
    return false;
  }
  const int64_t taps = static_cast<int64_t>(*dims_.known(kDwKernelH)) * *dims_.known(kDwKernelW);
  return taps * one.height * one.width * vectors_ <= kMaxUnrolledTaps;
}

}  // namespace temper
