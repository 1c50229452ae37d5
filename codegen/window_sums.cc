// The sums of one register tile of a window reduction, and their end: bias, addend, activation, stores.
#include "codegen/lower_window.h"

namespace temper {

using llvm::Value;

namespace {

constexpr int64_t kMaxUnrolledRow = 7;  // taps of a kernel row that are unrolled inside the loop over kernel rows

}  // namespace

Value* WindowLowering::image_at(const Block& block, Value* input_row, Value* input_column) {
  Value* at = e_.add(e_.mul(position(kAxisImage), dim(kDwInN)), e_.mul(block.channel, dim(kDwInC)));
  at = e_.add(at, e_.add(e_.mul(input_row, dim(kDwInRow)), e_.mul(input_column, dim(kDwInPixel))));
  return e_.offset(e_.tensor(TEMPER_IN_A), at);
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
Value* WindowLowering::weight(const Block& block, Value* kernel_row, Value* kernel_column, int32_t vector) {
  Value* taps = e_.mul(dim(kDwKernelH), dim(kDwKernelW));
  Value* tap = e_.add(e_.mul(kernel_row, dim(kDwKernelW)), kernel_column);
  Value* filter = e_.tensor(TEMPER_IN_B);
  if (!block.packed_filter) {
    Value* place =
        e_.offset(filter, e_.add(e_.mul(e_.add(block.channel, e_.integer(int64_t{vector} * e_.lanes())), taps), tap));
    if (block.scalar) {
      return e_.load(place);
    }
    Value* mask = block.masks.empty() ? nullptr : block.masks[static_cast<size_t>(vector)];
    return channels_last_ ? strided(place, taps, mask) : e_.splat(e_.load(place));
  }
  const int64_t size = int64_t{vectors_} * e_.lanes();
  Value* inside = block.scalar ? e_.mod(block.channel, e_.integer(size)) : e_.integer(int64_t{vector} * e_.lanes());
  Value* start = block.scalar ? e_.sub(block.channel, inside) : block.channel;
  Value* place = e_.offset(filter, e_.add(e_.add(e_.mul(start, taps), e_.mul(tap, e_.integer(size))), inside));
  return block.scalar ? e_.load(place) : e_.load_vector(place);
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

void WindowLowering::one_tap(const Block& block, const Tile& one, Value* kernel_row, Value* kernel_column,
                             Values& sums) {
  Value* input_row =
      e_.add(e_.sub(e_.mul(one.row, dim(kDwStrideH)), dim(kDwPadTop)), e_.mul(kernel_row, dim(kDwDilationH)));
  Value* first =
      e_.add(e_.sub(e_.mul(one.column, dim(kDwStrideW)), dim(kDwPadLeft)), e_.mul(kernel_column, dim(kDwDilationW)));
  Value* base = image_at(block, input_row, first);
  const int64_t step = channels_last_ || block.scalar ? 1 : e_.lanes();
  for (int32_t v = 0; v < block.vectors; ++v) {
    Value* factor = weight(block, kernel_row, kernel_column, v);
    for (int32_t t = 0; t < one.height; ++t) {
      for (int32_t i = 0; i < one.width; ++i) {
        Value* columns = e_.mul(e_.integer(i * step), dim(kDwStrideW));
        Value* at =
            e_.add(e_.mul(e_.mul(e_.integer(t), dim(kDwStrideH)), dim(kDwInRow)), e_.mul(columns, dim(kDwInPixel)));
        Value* value = input(block, one, e_.offset(base, at), e_.add(first, columns), i, v);
        Value*& sum = sums[static_cast<size_t>((t * one.width + i) * block.vectors + v)];
        sum = e_.fma(value, factor, sum);
      }
    }
  }
}

Values WindowLowering::sums_by_loops(const Block& block, const Tile& one) {
  Value* zero = block.scalar ? llvm::ConstantFP::get(e_.float_type(), 0.0) : e_.zero();
  Values sums(static_cast<size_t>(one.height * one.width * block.vectors), zero);
  int64_t begin = 1, end = 0;
  const bool short_row = Emitter::known(one.kernel_columns.begin, &begin) &&
                         Emitter::known(one.kernel_columns.end, &end) && begin == 0 && end <= kMaxUnrolledRow;
  return e_.loop(one.kernel_rows.begin, one.kernel_rows.end, e_.integer(1), sums,
                 [&](Value* kernel_row, const Values& carried) {
                   Values row = carried;
                   if (short_row) {
                     for (int64_t kernel_column = 0; kernel_column < end; ++kernel_column) {
                       one_tap(block, one, kernel_row, e_.integer(kernel_column), row);
                     }
                     return row;
                   }
                   return e_.loop(one.kernel_columns.begin, one.kernel_columns.end, e_.integer(1), row,
                                  [&](Value* kernel_column, const Values& inner) {
                                    Values next = inner;
                                    one_tap(block, one, kernel_row, kernel_column, next);
                                    return next;
                                  });
                 });
}

// Everything known: each input vector is loaded once for all taps and output rows that use it.
Values WindowLowering::sums_unrolled(const Block& block, const Tile& one) {
  const std::vector<int32_t>& d = *dims_.dims;
  Values sums(static_cast<size_t>(one.height * one.width * block.vectors), e_.zero());
  Value* top = e_.sub(e_.mul(one.row, dim(kDwStrideH)), dim(kDwPadTop));
  Value* left = e_.sub(e_.mul(one.column, dim(kDwStrideW)), dim(kDwPadLeft));
  Value* base = image_at(block, top, left);
  const int32_t step = channels_last_ ? d[kDwStrideW] : d[kDwStrideW] * e_.lanes();
  const int32_t last_row = (one.height - 1) * d[kDwStrideH] + (d[kDwKernelH] - 1) * d[kDwDilationH];
  for (int32_t v = 0; v < block.vectors; ++v) {
    for (int32_t row = 0; row <= last_row; ++row) {
      std::map<int32_t, Value*> loaded;
      for (int32_t t = 0; t < one.height; ++t) {
        const int32_t distance = row - t * d[kDwStrideH], kernel_row = distance / d[kDwDilationH];
        if (distance < 0 || distance % d[kDwDilationH] != 0 || kernel_row >= d[kDwKernelH]) {
          continue;
        }
        for (int32_t kernel_column = 0; kernel_column < d[kDwKernelW]; ++kernel_column) {
          Value* factor = weight(block, e_.integer(kernel_row), e_.integer(kernel_column), v);
          for (int32_t i = 0; i < one.width; ++i) {
            const int32_t column = i * step + kernel_column * d[kDwDilationW];
            Value*& value = loaded[column];
            if (value == nullptr) {
              Value* at = e_.integer(int64_t{row} * d[kDwInRow] + int64_t{column} * d[kDwInPixel]);
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
  Value* first = e_.add(e_.mul(position(kAxisImage), dim(kDwOutN)), e_.mul(block.channel, dim(kDwOutC)));
  first = e_.add(first, e_.add(e_.mul(one.row, dim(kDwOutRow)), e_.mul(one.column, dim(kDwOutPixel))));
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
  each([&](int32_t t, int32_t i, int32_t v) {
    Value* value = activation_.apply(sums[index(t, i, v)]);
    if (block.scalar) {
      e_.store(value, place(out, t, i, v));
    } else {
      e_.store_vector(value, place(out, t, i, v), output_mask(block, one, i, v));
    }
  });
}

}  // namespace temper
