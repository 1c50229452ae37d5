// The register tile of a contraction whose sizes are arguments. The usual tile (all of its rows and columns) begins
// with what it adds to and ends in registers; any other leaves its sums on the stack, from where one loop finishes
// them: a tenth of the code of doing everything for every tail.
#include <algorithm>

#include "codegen/lower_contraction.h"
#include "schedules/nests.h"

namespace temper {

using llvm::Value;

// Pieces of an axis are whole tiles: where its size is known, so is what a tile finds left, unless it may be cut.
void ContractionLowering::settle(AxisId axis, int64_t tile) {
  int64_t whole = 0;
  if (Emitter::known(extent(axis), &whole) && (whole % tile == 0 || whole < tile)) {
    axes_[axis].left = e_.integer(std::min(whole, tile));
  }
}

// Rows in place step back so that the last tile ends with the matrix, which has at least tile m rows: a constraint of
// the space. Packed tiles are whole anyway.
void ContractionLowering::tile_of_arguments() {
  llvm::IRBuilder<>& b = e_.builder();
  settle(kAxisM, tile_m_);
  settle(kAxisN, width());
  AxisState& m = axes_[kAxisM];
  Value *left = axes_[kAxisN].left, *cut = e_.less(left, e_.integer(width()));
  const bool in_place = b_.layout == PackLayout::kInPlace;
  const bool free_masks = e_.masks() && e_.lanes() == 16 && !Emitter::is(cut, 0);  // those of AVX-512
  skipped_rows_ =
      a_.layout == PackLayout::kInPlace && tile_m_ > 1 ? e_.sub(e_.integer(tile_m_), m.left) : e_.integer(0);
  Tile full{{}, vectors_, {}, free_masks};
  for (int32_t i = 0; i < tile_m_; ++i) {
    full.rows.push_back(e_.integer(i));
  }
  for (int32_t v = 0; free_masks && v < vectors_; ++v) {
    full.masks.push_back(e_.lane_mask(left, v));
  }
  Value* usual = e_.equal(m.left, tile_m_);
  usual = free_masks ? usual : e_.both(usual, b.CreateNot(cut));
  usual = e_.lanes() == 1 && !e_.bare_metal() ? b.getFalse() : usual;
  const auto wide = [&] {
    start_usual(full, usual);
    const Values sums = sum(full, unroll_);
    return e_.choose(
        usual,
        [&] {
          finish_usual(full, sums);
          return Values{b.getTrue()};
        },
        [&] {
          spill(sums, vectors_, tile_buffer());
          return Values{b.getFalse()};
        });
  };
  const auto narrow = [&] {
    sum_by_vectors(full.rows, tile_buffer());
    return Values{b.getFalse()};
  };
  // Panels are padded, so that a tile with a part of its last vector is a whole one.
  Value* is_narrow = in_place && !free_masks ? cut
                     : vectors_ == 1         ? b.getFalse()
                                             : e_.less(left, e_.integer((vectors_ - 1) * e_.lanes() + 1));
  Value* finished = e_.choose(is_narrow, narrow, wide).front();
  e_.when(b.CreateNot(finished), [&] { finish_from(tile_buffer()); });
  skipped_rows_ = e_.integer(0);
}

// The columns that a narrow tile has, a vector at a time.
void ContractionLowering::sum_by_vectors(const Values& rows, Value* buffer) {
  Value *left = axes_[kAxisN].left, *lanes = e_.integer(e_.lanes());
  const auto one = [&](Value* at, bool part) {
    Tile tile{rows, 1, {}, part, at};
    if (part && e_.masks()) {
      tile.masks = {e_.lane_mask(e_.sub(left, at), 0)};
    }
    spill(sum(tile, 1), 1, e_.offset(buffer, at));
  };
  if (b_.layout != PackLayout::kInPlace || e_.lanes() == 1 || e_.masks()) {
    const bool part = b_.layout == PackLayout::kInPlace && e_.lanes() > 1;
    e_.loop(e_.integer(0), left, lanes, [&](Value* at) { one(at, part); });
    return;
  }
  Value* whole = e_.sub(left, e_.mod(left, lanes));
  e_.loop(e_.integer(0), whole, lanes, [&](Value* at) { one(at, false); });
  e_.when(e_.less(whole, left), [&] { one(whole, true); });
}

// Row after row of `vectors`, in a buffer whose rows are as wide as the register tile.
void ContractionLowering::spill(const Values& sums, int32_t vectors, Value* to) {
  for (size_t i = 0; i < sums.size(); ++i) {
    const size_t row = i / static_cast<size_t>(vectors), v = i % static_cast<size_t>(vectors);
    e_.store_vector(sums[i], e_.offset(to, static_cast<int64_t>(row) * width() + static_cast<int64_t>(v) * e_.lanes()));
  }
}

Value* ContractionLowering::tile_buffer() {
  buffer_ = buffer_ == nullptr ? e_.stack(static_cast<int64_t>(width()) * tile_m_) : buffer_;
  return buffer_;
}

Value* ContractionLowering::zeros() {
  zeros_ = zeros_ == nullptr ? e_.zeros(width()) : zeros_;
  return zeros_;
}

// The pointer, or zeros to read instead.
Value* ContractionLowering::pick(Value* condition, Value* pointer) {
  int64_t known = 0;
  const bool always = Emitter::known(condition, &known) && known != 0;
  return always ? pointer : e_.select(condition, pointer, zeros());
}

// Where the bias of the tile's first row or column is, if it is of this kind.
Value* ContractionLowering::bias_of(int64_t kind) {
  Value* bias = e_.offset(entry_bias_, position(kind == kBiasAlongN ? kAxisN : kAxisM));
  return pick(e_.equal(e_.amount(nest_.epilogue().bias), kind), bias);
}

// The usual tile begins with the bias of its columns or with what earlier passes left, any other with zeros.
void ContractionLowering::start_usual(Tile& tile, Value* usual) {
  llvm::IRBuilder<>& b = e_.builder();
  if (Emitter::is(usual, 0)) {
    return;
  }
  Value* out = e_.offset(e_.tensor(TEMPER_OUT), e_.add(entry_out_, affine(out_, {kAxisM, kAxisN})));
  Value* first = first_pass();
  Value* later = e_.both(usual, b.CreateNot(first));
  tile.start = pick(usual, e_.select(first, bias_of(kBiasAlongN), out));
  tile.start_step = e_.select(later, e_.amount(*out_.stride(kAxisM)), e_.integer(0));
}

void ContractionLowering::finish_usual(const Tile& tile, Values sums) {
  llvm::IRBuilder<>& b = e_.builder();
  const size_t vectors = static_cast<size_t>(tile.vectors);
  Value *at = e_.add(entry_out_, affine(out_, {kAxisM, kAxisN})), *stride = e_.amount(*out_.stride(kAxisM));
  Value *last = last_pass(), *adds = e_.both(last, b.CreateNot(e_.equal(e_.amount(nest_.epilogue().addend), 0)));
  const auto mask = [&](size_t v) { return tile.masks.empty() ? nullptr : tile.masks[v]; };
  const auto place = [&](Value* row, size_t v) { return e_.offset(row, static_cast<int64_t>(v) * e_.lanes()); };
  sums = e_.choose(
      adds,
      [&] {
        Values total = sums;
        Value* row = e_.offset(e_.tensor(TEMPER_ADDEND), at);
        for (size_t i = 0; i < total.size(); ++i) {
          row = i > 0 && i % vectors == 0 ? e_.offset(row, stride) : row;
          total[i] = b.CreateFAdd(total[i], e_.load_vector(place(row, i % vectors), mask(i % vectors)));
        }
        return total;
      },
      [&] { return sums; });
  // Where B is a constant, n runs over its output channels, and the bias with it.
  Value* bias_along_m = e_.equal(e_.amount(nest_.epilogue().bias), kBiasAlongM);
  const bool along_m = b_.layout != PackLayout::kConstant && !Emitter::is(bias_along_m, 0);
  Value* row_bias = along_m ? pick(last, bias_of(kBiasAlongM)) : nullptr;
  Value* row_step = e_.select(e_.both(last, bias_along_m), e_.integer(1), e_.integer(0));
  const ActivationBounds bounds = activation_.only_if(last);
  for (size_t i = 0; along_m && i < tile.rows.size(); ++i) {
    Value* added = e_.splat(e_.load(row_bias));
    for (size_t v = 0; v < vectors; ++v) {
      sums[i * vectors + v] = b.CreateFAdd(sums[i * vectors + v], added);
    }
    row_bias = e_.offset(row_bias, row_step);
  }
  sums = bounds.apply(sums);
  Value* row = e_.offset(e_.tensor(TEMPER_OUT), at);
  for (size_t i = 0; i < tile.rows.size(); ++i) {
    for (size_t v = 0; v < vectors; ++v) {
      e_.store_vector(sums[i * vectors + v], place(row, v), mask(v));
    }
    row = e_.offset(row, stride);
  }
}

void ContractionLowering::finish_from(Value* buffer) {
  e_.loop(e_.integer(0), axes_[kAxisM].left, e_.integer(1), [&](Value* row) {
    finish_row(row, e_.offset(buffer, e_.mul(e_.add(row, skipped_rows_), e_.integer(width()))));
  });
}

// What is absent is read from zeros, so that nothing branches.
void ContractionLowering::finish_row(Value* row, Value* buffer) {
  llvm::IRBuilder<>& b = e_.builder();
  Value *left = axes_[kAxisN].left, *last = last_pass();
  Value* at = e_.add(entry_out_, affine(out_, {kAxisM, kAxisN}));
  at = e_.add(at, e_.mul(row, e_.amount(*out_.stride(kAxisM))));
  Value* out = e_.offset(e_.tensor(TEMPER_OUT), at);
  Value* adds = b.CreateNot(e_.equal(e_.amount(nest_.epilogue().addend), 0));
  Value* along_m = e_.both(last, e_.equal(e_.amount(nest_.epilogue().bias), kBiasAlongM));
  const bool no_row_bias = Emitter::is(along_m, 0);
  Value* row_bias = no_row_bias ? llvm::ConstantFP::get(e_.float_type(), 0.0)
                                : e_.load(pick(along_m, e_.offset(bias_of(kBiasAlongM), row)));
  Values terms = {pick(b.CreateNot(first_pass()), out)};
  if (!Emitter::is(e_.equal(e_.amount(nest_.epilogue().bias), kBiasAlongN), 0)) {
    terms.push_back(pick(last, bias_of(kBiasAlongN)));
  }
  if (!Emitter::is(adds, 0)) {
    terms.push_back(pick(e_.both(last, adds), e_.offset(e_.tensor(TEMPER_ADDEND), at)));
  }
  const ActivationBounds bounds = activation_.only_if(last);
  const auto vectors = [&](Value* from, Value* to, bool part) {
    e_.loop(from, to, e_.integer(e_.lanes()), [&](Value* column) {
      Value* mask = part ? e_.lane_mask(e_.sub(left, column), 0) : nullptr;
      Value* value = e_.load_vector(e_.offset(buffer, column));
      value = no_row_bias ? value : b.CreateFAdd(value, e_.splat(row_bias));
      for (Value* term : terms) {
        value = b.CreateFAdd(value, e_.load_vector(e_.offset(term, column), mask));
      }
      e_.store_vector(bounds.apply(value), e_.offset(out, column), mask);
    });
  };
  if (e_.masks() || e_.lanes() == 1) {
    vectors(e_.integer(0), left, e_.masks());
    return;
  }
  Value* whole = e_.sub(left, e_.mod(left, e_.integer(e_.lanes())));
  vectors(e_.integer(0), whole, false);
  e_.loop(whole, left, e_.integer(1), [&](Value* column) {
    Value* value = e_.load(e_.offset(buffer, column));
    value = no_row_bias ? value : b.CreateFAdd(value, row_bias);
    for (Value* term : terms) {
      value = b.CreateFAdd(value, e_.load(e_.offset(term, column)));
    }
    e_.store(bounds.apply(value), e_.offset(out, column));
  });
}

}  // namespace temper
