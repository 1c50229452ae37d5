// Image-to-rows packing: windows of an image become rows or panels of a matrix, zero where the window leaves the image.
#include "codegen/pack_stage.h"
#include "schedules/nests.h"

namespace temper {
namespace {

// Rows outside the image are read from a buffer of this many zeros, so deep rows are copied in pieces of as many. A
// microcontroller has a kilobyte or two of stack in all.
constexpr int64_t kZeros = 64;
constexpr int64_t kZerosOnBareMetal = 16;

}  // namespace

using llvm::Value;

Value* PackStage::clamp(Value* value, Value* low, Value* high) const { return e.minimum(e.maximum(value, low), high); }

// In memory the filter's depth is (c, kh, kw), here (kh, kw, c).
void PackStage::filter_panels() const {
  const ImageView& view = *access.filter_of;
  Value *c_count = e.amount(view.channels), *kh_count = e.amount(view.kernel_h), *kw_count = e.amount(view.kernel_w);
  Value* tile_stride = e.amount(*access.stride(axis));
  Value *from = e.offset(source, e.mul(position(axis), tile_stride)), *first_k = position(kAxisK);
  const auto depth_offset = [&](Value* k) {
    Value *at = e.add(first_k, k), *window = e.div(at, c_count);
    return e.add(e.mul(e.mod(at, c_count), e.mul(kh_count, kw_count)), window);
  };
  e.loop(e.integer(0), axes[axis].left, e.integer(access.tile), [&](Value* first) {
    Value* left = left_in_tile(first);
    by_element(e.offset(from, e.mul(first, tile_stride)), e.offset(place, e.mul(first, axes[kAxisK].left)), left,
               tile_stride, depth_offset);
  });
}

void PackStage::image() const {
  if (access.image->channels_last) {
    image_panels_of_rows();
  } else {
    image_panels_of_columns();
  }
}

// A window row is one run of memory where pixels follow each other, else each of its pixels is. Output pixels and runs
// are counted up, not divided out.
void PackStage::image_rows() const {
  const ImageView& v = *access.image;
  llvm::IRBuilder<>& b = e.builder();
  Value *channels = e.amount(v.channels), *kernel_w = e.amount(v.kernel_w), *out_width = e.amount(v.out_width);
  Value* pixels_follow = b.CreateICmpEQ(e.amount(v.pixel_stride), channels);
  Value* whole_row = b.CreateAnd(pixels_follow, e.equal(e.amount(v.dilation_w), 1));
  Runs runs;
  runs.pixels = b.CreateSelect(whole_row, kernel_w, e.integer(1));
  runs.per_row = b.CreateSelect(whole_row, e.integer(1), kernel_w);
  runs.length = e.mul(runs.pixels, channels);
  Value *first = position(kAxisK), *depth = axes[kAxisK].left;
  runs.first = e.div(first, runs.length);
  runs.end = e.ceil_div(e.add(first, depth), runs.length);
  Value* pixel = position(axis);
  e.loop(e.integer(0), axes[axis].left, e.integer(1), {e.div(pixel, out_width), e.mod(pixel, out_width)},
         [&](Value* row, const Values& at) {
           image_row(at[0], at[1], runs, e.offset(place, e.mul(row, depth)));
           Value *next = e.add(at[1], e.integer(1)), *wraps = b.CreateICmpEQ(next, out_width);
           return Values{b.CreateSelect(wraps, e.add(at[0], e.integer(1)), at[0]),
                         b.CreateSelect(wraps, e.integer(0), next)};
         });
  pad_rows();
}

// Where sizes are arguments a register tile reads all of its rows. What lies in a fresh workspace may be denormal
// numbers, which cost hundreds of cycles each.
void PackStage::pad_rows() const {
  Value *rows = axes[axis].left, *depth = axes[kAxisK].left;
  int64_t whole = 0;
  const bool known = Emitter::known(e.amount(nest.axes()[axis].extent), &whole);
  if (exact || (known && whole % nest.copies(axis, LoopKind::kUnrolled) == 0)) {
    return;
  }
  Value* missing = e.sub(e.round_up(rows, nest.copies(axis, LoopKind::kUnrolled)), rows);
  e.copy_run(e.offset(place, e.mul(rows, depth)), nullptr, e.mul(missing, depth));
}

void PackStage::image_row(Value* oh, Value* ow, const Runs& runs, Value* to) const {
  const ImageView& v = *access.image;
  llvm::IRBuilder<>& b = e.builder();
  Value *channels = e.amount(v.channels), *width = e.amount(v.width), *dilation_h = e.amount(v.dilation_h);
  Value *first = position(kAxisK), *end = e.add(first, axes[kAxisK].left);
  Value* top = e.sub(e.mul(oh, e.amount(v.stride_h)), e.amount(v.pad_top));
  Value* left = e.sub(e.mul(ow, e.amount(v.stride_w)), e.amount(v.pad_left));
  const Values begin = {e.add(top, e.mul(e.div(runs.first, runs.per_row), dilation_h)),
                        e.mod(runs.first, runs.per_row)};
  e.loop(runs.first, runs.end, e.integer(1), begin, [&](Value* index, const Values& at) {
    Value *ih = at[0], *iw = e.add(left, e.mul(at[1], e.amount(v.dilation_w)));
    Value* start = e.mul(index, runs.length);
    Value *low = e.maximum(start, first), *high = e.minimum(e.add(start, runs.length), end);
    Value* inside = b.CreateICmpULT(ih, e.amount(v.height));
    Value* valid_end = b.CreateSelect(inside, e.minimum(runs.pixels, e.sub(width, iw)), e.integer(0));
    Value* valid_begin = e.maximum(e.integer(0), e.sub(e.integer(0), iw));
    Value* copy_low = clamp(e.add(start, e.mul(valid_begin, channels)), low, high);
    Value* copy_high = clamp(e.add(start, e.mul(valid_end, channels)), copy_low, high);
    Value* window = e.add(e.mul(ih, e.amount(v.row_stride)), e.mul(iw, e.amount(v.pixel_stride)));
    Value* from = e.offset(source, e.add(window, e.sub(low, start)));
    copy_clipped(e.offset(to, e.sub(low, first)), from, e.sub(copy_low, low), e.sub(copy_high, low), e.sub(high, low));
    Value *next = e.add(at[1], e.integer(1)), *wraps = b.CreateICmpEQ(next, runs.per_row);
    return Values{b.CreateSelect(wraps, e.add(ih, dilation_h), ih), b.CreateSelect(wraps, e.integer(0), next)};
  });
}

// Elements low..high of `length` from memory, zeros around them. Where masks are to be had, a short run takes a vector
// or two in all instead of three copies.
void PackStage::copy_clipped(Value* to, Value* from, Value* low, Value* high, Value* length) const {
  const auto in_parts = [&] {
    e.copy_run(to, nullptr, low);
    e.copy_run(e.offset(to, low), e.offset(from, low), e.sub(high, low));
    e.copy_run(e.offset(to, high), nullptr, e.sub(length, high));
  };
  if (e.masks()) {
    e.when(e.less(e.integer(2 * e.lanes()), length), in_parts, [&] { copy_masked(to, from, low, high, length); });
  } else {
    in_parts();
  }
}

void PackStage::copy_masked(Value* to, Value* from, Value* low, Value* high, Value* length) const {
  llvm::IRBuilder<>& b = e.builder();
  e.loop(e.integer(0), length, e.integer(e.lanes()), [&](Value* j) {
    Value* read = b.CreateAnd(b.CreateNot(e.lane_mask(e.sub(low, j), 0)), e.lane_mask(e.sub(high, j), 0));
    e.store_vector(e.load_vector(e.offset(from, j), read), e.offset(to, j), e.lane_mask(e.sub(length, j), 0));
  });
}

void PackStage::image_panels_of_rows() const {
  const int32_t tile = access.tile;
  const int64_t group = tile < 4 || e.lanes() == 1 ? 1 : 4;
  Value *depth = axes[kAxisK].left, *count = axes[axis].left;
  e.loop(e.integer(0), count, e.integer(tile), [&](Value* first) {
    Value *panel = e.offset(place, e.mul(first, depth)), *last = e.sub(count, e.integer(1));
    e.loop(e.integer(0), e.integer(tile), e.integer(group), [&](Value* at) {
      Value* row = tile % group == 0 ? at : e.minimum(at, e.integer(tile - group));
      Values pixels;
      for (int64_t i = 0; i < group; ++i) {
        Value* inside = e.minimum(e.add(e.add(first, row), e.integer(i)), last);
        pixels.push_back(e.add(position(axis), inside));
      }
      image_row_group(pixels, e.offset(panel, row));
    });
  });
}

// Some rows of a panel, all of the depth: for each window position, the channels of each row's pixel or zeros.
void PackStage::image_row_group(const Values& pixels, Value* to) const {
  const ImageView& v = *access.image;
  const int64_t zero_count = e.bare_metal() ? kZerosOnBareMetal : kZeros;
  Value* zeros = e.zeros(zero_count);
  Value *channels = e.amount(v.channels), *kernel_w = e.amount(v.kernel_w);
  Value *first = position(kAxisK), *end = e.add(first, axes[kAxisK].left);
  Values tops, lefts;
  for (Value* pixel : pixels) {
    Value *oh = e.div(pixel, e.amount(v.out_width)), *ow = e.mod(pixel, e.amount(v.out_width));
    tops.push_back(e.sub(e.mul(oh, e.amount(v.stride_h)), e.amount(v.pad_top)));
    lefts.push_back(e.sub(e.mul(ow, e.amount(v.stride_w)), e.amount(v.pad_left)));
  }
  e.loop(e.div(first, channels), e.ceil_div(end, channels), e.integer(1), [&](Value* index) {
    Value* start = e.mul(index, channels);
    Value *kh = e.mul(e.div(index, kernel_w), e.amount(v.dilation_h)),
          *kw = e.mul(e.mod(index, kernel_w), e.amount(v.dilation_w));
    Values windows, valid;
    for (size_t i = 0; i < pixels.size(); ++i) {
      Value *ih = e.add(tops[i], kh), *iw = e.add(lefts[i], kw);
      valid.push_back(e.builder().CreateAnd(e.builder().CreateICmpULT(ih, e.amount(v.height)),
                                            e.builder().CreateICmpULT(iw, e.amount(v.width))));
      windows.push_back(
          e.offset(source, e.add(e.mul(ih, e.amount(v.row_stride)), e.mul(iw, e.amount(v.pixel_stride)))));
    }
    Value *low = e.maximum(start, first), *high = e.minimum(e.add(start, channels), end);
    e.loop(low, high, e.integer(zero_count), [&](Value* k) {
      Values rows;
      for (size_t i = 0; i < pixels.size(); ++i) {
        rows.push_back(e.builder().CreateSelect(valid[i], e.offset(windows[i], e.sub(k, start)), zeros));
      }
      transpose_rows(rows, e.offset(to, e.mul(e.sub(k, first), e.integer(access.tile))),
                     e.minimum(e.integer(zero_count), e.sub(high, k)));
    });
  });
}

// A panel is cut where the output row ends; each segment is a run of pixels that move through the image together.
void PackStage::image_panels_of_columns() const {
  Value *depth = axes[kAxisK].left, *count = axes[axis].left, *out_width = e.amount(access.image->out_width);
  e.loop(e.integer(0), count, e.integer(access.tile), [&](Value* first) {
    Value* panel = e.offset(place, e.mul(first, depth));
    Value* left = e.minimum(e.integer(access.tile), e.sub(count, first));
    Value* pixel = e.add(position(axis), first);
    Value *row = e.div(pixel, out_width),
          *next_row = e.add(e.div(e.sub(e.add(pixel, left), e.integer(1)), out_width), e.integer(1));
    e.loop(row, next_row, e.integer(1), [&](Value* oh) {
      Value* row_start = e.mul(oh, out_width);
      Value *begin = e.maximum(row_start, pixel), *end = e.minimum(e.add(row_start, out_width), e.add(pixel, left));
      image_segment(oh, e.sub(begin, row_start), e.sub(end, begin), e.offset(panel, e.sub(begin, pixel)));
    });
  });
}

void PackStage::image_segment(Value* row, Value* column, Value* length, Value* to) const {
  const ImageView& v = *access.image;
  Value *kernel_h = e.amount(v.kernel_h), *kernel_w = e.amount(v.kernel_w), *width = e.amount(v.width);
  Value* top = e.sub(e.mul(row, e.amount(v.stride_h)), e.amount(v.pad_top));
  Value* left = e.sub(e.mul(column, e.amount(v.stride_w)), e.amount(v.pad_left));
  Value *first = position(kAxisK), *window = e.mul(kernel_h, kernel_w);
  llvm::IRBuilder<>& b = e.builder();
  const Values start = {e.div(first, window), e.mod(e.div(first, kernel_w), kernel_h), e.mod(first, kernel_w), to};
  e.loop(e.integer(0), axes[kAxisK].left, e.integer(1), start, [&](Value*, const Values& at) {
    Value *c = at[0], *kh = at[1], *kw = at[2];
    Value *ih = e.add(top, e.mul(kh, e.amount(v.dilation_h))), *iw = e.add(left, e.mul(kw, e.amount(v.dilation_w)));
    Value* from =
        e.offset(source, e.add(e.mul(c, e.amount(v.channel_stride)),
                               e.add(e.mul(ih, e.amount(v.row_stride)), e.mul(iw, e.amount(v.pixel_stride)))));
    Value* step = e.amount(v.stride_w);
    // Elements low..high of the segment are inside the image.
    Value* low = e.minimum(length, e.ceil_div(e.maximum(e.integer(0), e.sub(e.integer(0), iw)), step));
    Value* high = e.minimum(length, e.ceil_div(e.maximum(e.integer(0), e.sub(width, iw)), step));
    high = b.CreateSelect(b.CreateICmpULT(ih, e.amount(v.height)), e.maximum(low, high), low);
    copy_window(at[3], from, low, high, length);
    Value *next_kw = e.add(kw, e.integer(1)), *wraps_kw = b.CreateICmpEQ(next_kw, kernel_w);
    Value *next_kh = b.CreateSelect(wraps_kw, e.add(kh, e.integer(1)), kh),
          *wraps_kh = b.CreateICmpEQ(next_kh, kernel_h);
    return Values{b.CreateSelect(wraps_kh, e.add(c, e.integer(1)), c), b.CreateSelect(wraps_kh, e.integer(0), next_kh),
                  b.CreateSelect(wraps_kw, e.integer(0), next_kw), e.offset(at[3], access.tile)};
  });
}

// Elements low..high of `length` from memory, zeros around them; a stride other than 1 is read element by element.
void PackStage::copy_window(Value* to, Value* from, Value* low, Value* high, Value* length) const {
  Value* step = e.amount(access.image->stride_w);
  const auto strided = [&] {
    e.copy_run(to, nullptr, length);
    e.loop(low, high, e.integer(1),
           [&](Value* j) { e.store(e.load(e.offset(from, e.mul(j, step))), e.offset(to, j)); });
  };
  const auto contiguous = [&] {
    if (e.masks()) {
      copy_masked(to, from, low, high, length);
    } else {
      copy_clipped(to, from, low, high, length);
    }
  };
  e.when(e.equal(step, 1), contiguous, strided);
}

}  // namespace temper
