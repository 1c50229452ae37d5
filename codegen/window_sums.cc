// The sums of one register tile of a window reduction, and their end: bias, addend, activation, stores.
#include "codegen/lower_window.h"

namespace temper {

using llvm::Value;

namespace {

constexpr int64_t kMaxUnrolledRow = 7;  // taps of a kernel row that are unrolled inside the loop over kernel rows

}  // namespace

Value* WindowLowering::product(int32_t a, int32_t b) {
  return e_.at_entry([&] { return e_.mul(dim(a), dim(b)); });
}

// Lanes `stride` apart; masked-off lanes are not read.
Value* WindowLowering::strided(Value* pointer, Value* stride, Value* mask) {
  llvm::IRBuilder<>& b = e_.builder();
  if (e_.lanes() == 1) {
    return e_.load(pointer);
  }
  if (e_.masks()) {
    Value* step = e_.splat(b.CreateSExtOrTrunc(stride, b.getInt32Ty()));
    Value* places = b.CreateGEP(e_.float_type(), pointer, b.CreateMul(e_.lane_numbers(), step));
    return b.CreateMaskedGather(e_.vector_type(), places, llvm::Align(4), mask, e_.zero());
  }
  Value* result = e_.zero();
  for (int32_t lane = 0; lane < e_.lanes(); ++lane) {
    Value* value = e_.load(e_.offset(pointer, e_.mul(e_.integer(lane), stride)));
    result = b.CreateInsertElement(result, value, static_cast<uint64_t>(lane));
  }
  return result;
}

// Packed: [blocks][kh][kw][block]; else [channel][kh][kw].
Value* WindowLowering::filter_at(const Block& block, Value* tap) {
  Value *taps = product(kDwKernelH, kDwKernelW), *filter = e_.tensor(TEMPER_IN_B);
  if (!block.packed_filter) {
    return e_.offset(filter, e_.add(e_.mul(block.channel, taps), tap));
  }
  Value* inside = block.scalar || block.inside ? e_.mod(block.channel, e_.integer(block_size())) : e_.integer(0);
  Value* start = e_.sub(block.channel, inside);
  return e_.offset(filter, e_.add(e_.add(e_.mul(start, taps), e_.mul(tap, e_.integer(block_size()))), inside));
}

// Elements from one tap to the next.
int64_t WindowLowering::weight_step(const Block& block) const { return block.packed_filter ? block_size() : 1; }

Value* WindowLowering::weight(const Block& block, Value* pointer, int32_t vector) {
  const int64_t first = int64_t{vector} * e_.lanes();
  if (block.packed_filter) {
    return block.scalar ? e_.load(pointer) : e_.load_vector(e_.offset(pointer, first));
  }
  Value* taps = product(kDwKernelH, kDwKernelW);
  Value* place = e_.offset(pointer, e_.mul(e_.integer(first), taps));
  if (block.scalar) {
    return e_.load(place);
  }
  Value* mask = block.masks.empty() ? nullptr : block.masks[static_cast<size_t>(vector)];
  return channels_last_ ? strided(place, taps, mask) : e_.splat(e_.load(place));
}

Value* WindowLowering::input(const Block& block, const Tile& one, Value* pointer, Value* column, int32_t across,
                             int32_t vector) {
  if (block.scalar) {
    return e_.load(pointer);
  }
  if (channels_last_) {
    return e_.load_vector(e_.offset(pointer, int64_t{vector} * e_.lanes()),
                          block.masks.empty() ? nullptr : block.masks[static_cast<size_t>(vector)]);
  }
  llvm::IRBuilder<>& b = e_.builder();
  Value* stride = dim(kDwStrideW);
  if (one.columns_end == nullptr) {
    int64_t known = 1;
    return Emitter::known(stride, &known) && known != 1 ? strided(pointer, stride, nullptr) : e_.load_vector(pointer);
  }
  const auto lanes = [&](Value* value) { return e_.splat(b.CreateSExtOrTrunc(value, b.getInt32Ty())); };
  Value* columns = b.CreateAdd(lanes(column), b.CreateMul(e_.lane_numbers(), lanes(stride)));
  Value* mask = b.CreateAnd(b.CreateICmpULT(columns, lanes(dim(kDwInW))), output_mask(block, one, across, 0));
  return e_
      .choose(
          e_.equal(stride, 1), [&] { return Values{e_.load_vector(pointer, mask)}; },
          [&] { return Values{strided(pointer, stride, mask)}; })
      .front();
}

// image, filter: at the tap, of the tile's first output; column: of the image, where lanes may be outside.
void WindowLowering::one_tap(const Block& block, const Tile& one, Value* image, Value* filter, Value* column,
                             Values& sums) {
  const int64_t step = channels_last_ || block.scalar ? 1 : e_.lanes();
  Value* down = product(kDwStrideH, kDwInRow);
  Value* across = e_.at_entry([&] { return e_.mul(e_.mul(e_.integer(step), dim(kDwStrideW)), dim(kDwInPixel)); });
  for (int32_t v = 0; v < block.vectors; ++v) {
    Value* factor = weight(block, filter, v);
    for (int32_t t = 0; t < one.height; ++t) {
      for (int32_t i = 0; i < one.width; ++i) {
        Value* at = e_.add(e_.mul(e_.integer(t), down), e_.mul(e_.integer(i), across));
        Value* first = e_.add(column, e_.mul(e_.integer(i * step), dim(kDwStrideW)));
        Value* value = input(block, one, e_.offset(image, at), first, i, v);
        Value*& sum = sums[static_cast<size_t>((t * one.width + i) * block.vectors + v)];
        sum = e_.fma(value, factor, sum);
      }
    }
  }
}

// A kernel row of three taps side by side, outputs `stride` pixels apart: each input is loaded once for all of them.
void WindowLowering::row_of_three(const Block& block, const Tile& one, Value* image, Value* filter, int32_t stride,
                                  Values& sums) {
  Value *down = product(kDwStrideH, kDwInRow), *pixel = dim(kDwInPixel);
  for (int32_t v = 0; v < block.vectors; ++v) {
    Values factors;
    for (int64_t tap = 0; tap < 3; ++tap) {
      factors.push_back(weight(block, e_.offset(filter, tap * weight_step(block)), v));
    }
    for (int32_t t = 0; t < one.height; ++t) {
      for (int32_t column = 0; column < (one.width - 1) * stride + 3; ++column) {
        Value* at = e_.add(e_.mul(e_.integer(t), down), e_.mul(e_.integer(column), pixel));
        Value* value = input(block, one, e_.offset(image, at), nullptr, 0, v);
        for (int32_t i = 0; i < one.width; ++i) {
          const int32_t tap = column - i * stride;
          if (tap >= 0 && tap < 3) {
            Value*& sum = sums[static_cast<size_t>((t * one.width + i) * block.vectors + v)];
            sum = e_.fma(value, factors[static_cast<size_t>(tap)], sum);
          }
        }
      }
    }
  }
}

// Where sizes are arguments: rows of three adjacent taps, the usual window, have bodies of their own.
Values WindowLowering::sums_of_arguments(const Block& block, const Tile& one) {
  const Range& columns = one.kernel_columns;
  const bool whole_row = Emitter::is(columns.begin, 0) && columns.end == dim(kDwKernelW);
  if (exact_ || !channels_last_ || block.scalar || !whole_row) {
    return sums_by_loops(block, one, Taps::kAny);
  }
  const auto three = [&](int32_t stride) {
    return e_.at_entry([&] {
      Value* adjacent = e_.both(e_.equal(dim(kDwKernelW), 3), e_.equal(dim(kDwDilationW), 1));
      return one.width == 1 ? adjacent : e_.both(adjacent, e_.equal(dim(kDwStrideW), stride));
    });
  };
  const auto any = [&] { return sums_by_loops(block, one, Taps::kAny); };
  const auto other_strides = [&] {
    return e_.bare_metal() || one.width == 1
               ? any()
               : e_.choose(
                     three(2), [&] { return sums_by_loops(block, one, Taps::kThreeStride2); }, any);
  };
  return e_.choose(
      three(1), [&] { return sums_by_loops(block, one, Taps::kThree); }, other_strides);
}

// One pointer into the image and one into the filter move from tap to tap, or from row to row.
Values WindowLowering::sums_by_loops(const Block& block, const Tile& one, Taps taps) {
  Value* zero = block.scalar ? llvm::ConstantFP::get(e_.float_type(), 0.0) : e_.zero();
  const size_t count = static_cast<size_t>(one.height * one.width * block.vectors);
  const Range &rows = one.kernel_rows, &columns = one.kernel_columns;
  Value* left = e_.sub(e_.mul(one.column, dim(kDwStrideW)), dim(kDwPadLeft));
  Values carried(count, zero);
  carried.push_back(e_.offset(one.image, e_.mul(block.channel, channel_step(kDwInC))));
  carried.push_back(filter_at(block, one.tap));
  Value *row_step = product(kDwDilationH, kDwInRow), *column_step = product(kDwDilationW, kDwInPixel);
  Value* weights = e_.integer(weight_step(block));
  Value* weights_row = e_.at_entry([&] { return e_.mul(dim(kDwKernelW), weights); });
  const auto column = [&](Value* kernel_column) { return e_.add(left, e_.mul(kernel_column, dim(kDwDilationW))); };
  int64_t begin = 1, end = 0;
  const bool short_row = Emitter::known(columns.begin, &begin) && Emitter::known(columns.end, &end) && begin == 0 &&
                         end <= kMaxUnrolledRow;
  carried = e_.loop(rows.begin, rows.end, e_.integer(1), carried, [&](Value*, const Values& at) {
    Values row = at;
    if (taps != Taps::kAny) {
      row_of_three(block, one, at[count], at[count + 1], taps == Taps::kThree ? 1 : 2, row);
    } else if (short_row) {
      for (int64_t i = 0; i < end; ++i) {
        Value* kernel_column = e_.integer(i);
        one_tap(block, one, e_.offset(at[count], e_.mul(kernel_column, column_step)),
                e_.offset(at[count + 1], e_.mul(kernel_column, weights)), column(kernel_column), row);
      }
    } else {
      row = e_.loop(columns.begin, columns.end, e_.integer(1), row, [&](Value* kernel_column, const Values& inner) {
        Values next = inner;
        one_tap(block, one, inner[count], inner[count + 1], column(kernel_column), next);
        next[count] = e_.offset(inner[count], column_step);
        next[count + 1] = e_.offset(inner[count + 1], weights);
        return next;
      });
    }
    row[count] = e_.offset(at[count], row_step);
    row[count + 1] = e_.offset(at[count + 1], weights_row);
    return row;
  });
  carried.resize(count);
  return carried;
}

// Everything known: each input vector is loaded once for all taps and output rows that use it.
Values WindowLowering::sums_unrolled(const Block& block, const Tile& one) {
  const auto d = [&](DepthwiseDim which) { return *dims_.known(which); };
  Values sums(static_cast<size_t>(one.height * one.width * block.vectors), e_.zero());
  Value* base = e_.offset(one.image, e_.mul(block.channel, channel_step(kDwInC)));
  Value* filter = filter_at(block, one.tap);
  const int32_t step = channels_last_ ? d(kDwStrideW) : d(kDwStrideW) * e_.lanes();
  const int32_t last_row = (one.height - 1) * d(kDwStrideH) + (d(kDwKernelH) - 1) * d(kDwDilationH);
  for (int32_t v = 0; v < block.vectors; ++v) {
    for (int32_t row = 0; row <= last_row; ++row) {
      std::map<int32_t, Value*> loaded;
      for (int32_t t = 0; t < one.height; ++t) {
        const int32_t distance = row - t * d(kDwStrideH), kernel_row = distance / d(kDwDilationH);
        if (distance < 0 || distance % d(kDwDilationH) != 0 || kernel_row >= d(kDwKernelH)) {
          continue;
        }
        for (int32_t kernel_column = 0; kernel_column < d(kDwKernelW); ++kernel_column) {
          const int64_t tap = int64_t{kernel_row} * d(kDwKernelW) + kernel_column;
          Value* factor = weight(block, e_.offset(filter, tap * weight_step(block)), v);
          for (int32_t i = 0; i < one.width; ++i) {
            const int32_t column = i * step + kernel_column * d(kDwDilationW);
            Value*& value = loaded[column];
            if (value == nullptr) {
              Value* at = e_.integer(int64_t{row} * d(kDwInRow) + int64_t{column} * d(kDwInPixel));
              value = input(block, one, e_.offset(base, at), nullptr, i, v);
            }
            Value*& sum = sums[static_cast<size_t>((t * one.width + i) * block.vectors + v)];
            sum = e_.fma(value, factor, sum);
          }
        }
      }
    }
  }
  return sums;
}

Value* WindowLowering::output_mask(const Block& block, const Tile& one, int32_t across, int32_t vector) {
  if (one.columns_end != nullptr) {
    return e_.lane_mask(e_.sub(one.columns_end, one.column), across);
  }
  return block.masks.empty() ? nullptr : block.masks[static_cast<size_t>(vector)];
}

Value* WindowLowering::load_output(const Block& block, Value* pointer, Value* mask) {
  return block.scalar ? e_.load(pointer) : e_.load_vector(pointer, mask);
}

void WindowLowering::finish(const Block& block, const Tile& one, Values sums) {
  const int64_t step = channels_last_ || block.scalar ? 1 : e_.lanes();
  const auto index = [&](int32_t t, int32_t i, int32_t v) {
    return static_cast<size_t>((t * one.width + i) * block.vectors + v);
  };
  Value* first = e_.add(one.out, e_.mul(block.channel, channel_step(kDwOutC)));
  const auto place = [&](Value* base, int32_t t, int32_t i, int32_t v) {
    Value* at = e_.add(e_.mul(e_.integer(t), dim(kDwOutRow)), e_.mul(e_.integer(i * step), dim(kDwOutPixel)));
    return e_.offset(e_.offset(base, at), int64_t{v} * e_.lanes());
  };
  const auto each = [&](const std::function<void(int32_t, int32_t, int32_t)>& body) {
    for (int32_t t = 0; t < one.height; ++t) {
      for (int32_t i = 0; i < one.width; ++i) {
        for (int32_t v = 0; v < block.vectors; ++v) {
          body(t, i, v);
        }
      }
    }
  };
  const auto bias = [&](int32_t v) {
    Value* from = e_.offset(e_.offset(e_.tensor(TEMPER_BIAS), block.channel), int64_t{v} * e_.lanes());
    if (block.scalar || !channels_last_) {
      return block.scalar ? e_.load(from) : e_.splat(e_.load(from));
    }
    return e_.load_vector(from, block.masks.empty() ? nullptr : block.masks[static_cast<size_t>(v)]);
  };
  const auto biased = [&] {
    Values values, result = sums;
    for (int32_t v = 0; v < block.vectors; ++v) {
      values.push_back(bias(v));
    }
    each([&](int32_t t, int32_t i, int32_t v) {
      result[index(t, i, v)] = e_.builder().CreateFAdd(result[index(t, i, v)], values[static_cast<size_t>(v)]);
    });
    return result;
  };
  const auto unchanged = [&] { return sums; };
  sums = e_.choose(e_.equal(dim(kDwBias), 0), unchanged, biased);
  const auto added = [&] {
    Values result = sums;
    Value* addend = e_.offset(e_.tensor(TEMPER_ADDEND), first);
    each([&](int32_t t, int32_t i, int32_t v) {
      Value* value = load_output(block, place(addend, t, i, v), output_mask(block, one, i, v));
      result[index(t, i, v)] = e_.builder().CreateFAdd(result[index(t, i, v)], value);
    });
    return result;
  };
  sums = e_.choose(e_.equal(dim(kDwAddend), 0), unchanged, added);
  Value* out = e_.offset(e_.tensor(TEMPER_OUT), first);
  sums = activation_.apply(sums);
  each([&](int32_t t, int32_t i, int32_t v) {
    Value* value = sums[index(t, i, v)];
    if (block.scalar) {
      e_.store(value, place(out, t, i, v));
    } else {
      e_.store_vector(value, place(out, t, i, v), output_mask(block, one, i, v));
    }
  });
}

}  // namespace temper
