#include "codegen/lower_contraction.h"

#include "codegen/pack_stage.h"
#include "schedules/nests.h"

namespace temper {

using llvm::Value;

// Observed, one float at a time on Cortex-M4 and -M7: a body for each tail takes 2 to 8 % longer than the tile of
// arguments with its sizes known, which begins with the bias in registers, and half as much flash again. By vectors of
// MVE it is the other way round, 3 %.
ContractionLowering::ContractionLowering(Emitter& emitter, const LoopNest& nest, const NestInput& input)
    : NestWalker(emitter, nest, nest.register_begin()),
      exact_(input.dims != nullptr && !(emitter.bare_metal() && emitter.lanes() == 1)),
      a_(*nest.access(TEMPER_IN_A)),
      b_(*nest.access(TEMPER_IN_B)),
      out_(*nest.access(TEMPER_OUT)),
      tile_m_(nest.copies(kAxisM, LoopKind::kUnrolled)),
      vectors_(nest.copies(kAxisN, LoopKind::kUnrolled)),
      unroll_(nest.copies(kAxisK, LoopKind::kUnrolled)),
      activation_(emitter, nest.epilogue()) {
  Value* source = e_.amount(input.dim(kGemmASource));
  Value* swapped = e_.at_entry([&] { return e_.equal(source, TEMPER_IN_B); });
  Value *left = e_.tensor(TEMPER_IN_A), *right = e_.tensor(TEMPER_IN_B);
  source_a_ = e_.at_entry([&] { return e_.select(swapped, right, left); });
  source_b_ = e_.at_entry([&] { return e_.select(swapped, left, right); });
  place_a_ = place_b_ = e_.workspace();
  skipped_rows_ = e_.integer(0);
}

// Once for a work item, not for every tile.
void ContractionLowering::begin_batch_entry() {
  entry_a_ = batch_entry(a_, kAxisM, source_a_);
  entry_b_ = batch_entry(b_, kAxisN, source_b_);
  entry_out_ = affine(out_, {kAxisOuter, kAxisInner});
  entry_bias_ = e_.offset(e_.tensor(TEMPER_BIAS), e_.mul(position(kAxisInner), e_.amount(nest_.epilogue().bias_inner)));
}

// A packed constant is indexed by g inner alone.
Value* ContractionLowering::batch_entry(const Access& access, AxisId axis, Value* source) {
  if (access.layout != PackLayout::kConstant) {
    return e_.offset(source, affine(access, {kAxisOuter, kAxisInner}));
  }
  Value* whole = e_.mul(e_.round_up(extent(axis), access.tile), extent(kAxisK));
  return e_.offset(source, e_.mul(position(kAxisInner), whole));
}

void ContractionLowering::stages(const Loop& loop) {
  if (loop.kind == LoopKind::kParallel) {
    begin_batch_entry();
  }
  const bool packs_a = a_.layout != PackLayout::kInPlace && a_.pack_at == loop.id;
  const bool packs_b = b_.layout != PackLayout::kInPlace && b_.pack_at == loop.id;
  if (!packs_a && !packs_b) {
    return;
  }
  for (AxisState& state : axes_) {
    state.origin = e_.add(state.origin, state.inside);
    state.inside = e_.integer(0);
  }
  if (packs_a) {
    pack_operand(a_, kAxisM, entry_a_, place_a_);
    // B follows A's part of the workspace, which is rounded up to 64 bytes.
    const auto piece_of = [&](AxisId axis) {
      for (const Loop& candidate : nest_.loops()) {
        for (const LoopPart& part : candidate.parts) {
          if (part.axis == axis) {
            return e_.chunk(part.step, nest_.axes()[axis].extent);
          }
        }
      }
      return extent(axis);
    };
    Value *rows = piece_of(kAxisM), *depth = piece_of(kAxisK);
    place_b_ = e_.at_entry([&] { return e_.offset(e_.workspace(), e_.round_up(e_.mul(rows, depth), 16)); });
  }
  if (packs_b) {
    pack_operand(b_, kAxisN, entry_b_, place_b_);
  }
}

void ContractionLowering::pack_operand(const Access& access, AxisId axis, Value* source, Value* place) {
  const PackStage stage{e_, nest_, access, axis, axes_, source, place, exact_};
  stage.emit();
}

Value* ContractionLowering::affine(const Access& access, std::initializer_list<AxisId> axes) {
  Value* sum = e_.integer(0);
  for (AxisId axis : axes) {
    sum = e_.add(sum, e_.mul(position(axis), e_.amount(*access.stride(axis))));
  }
  return sum;
}

void ContractionLowering::register_tile() {
  if (exact_) {
    exact_tile();
  } else {
    tile_of_arguments();
  }
}

// Sizes are known: a tile for the whole rows and columns, another for each tail.
void ContractionLowering::exact_tile() {
  const auto exact = [&](int64_t count) {
    Values rows;
    for (int64_t i = 0; i < count; ++i) {
      rows.push_back(e_.integer(i));
    }
    with_columns(rows);
  };
  int64_t whole = 0;
  Emitter::known(extent(kAxisM), &whole);
  const int64_t tail = whole % tile_m_;
  if (tail == 0) {
    exact(tile_m_);
  } else if (whole < tile_m_) {
    exact(tail);
  } else {
    e_.when(
        e_.less(axes_[kAxisM].left, e_.integer(tile_m_)), [&] { exact(tail); }, [&] { exact(tile_m_); });
  }
}

void ContractionLowering::with_columns(const Values& rows) {
  const Tile full{rows, vectors_, {}, false};
  int64_t whole = 0;
  Emitter::known(extent(kAxisN), &whole);
  const int64_t tail = whole % width();
  const auto emit_end = [&] {
    Tile end{rows, static_cast<int32_t>((tail + e_.lanes() - 1) / e_.lanes()), {}, tail % e_.lanes() != 0};
    for (int32_t v = 0; e_.masks() && end.edge && v < end.vectors; ++v) {
      end.masks.push_back(e_.lane_mask(e_.integer(tail), v));
    }
    emit_tile(end);
  };
  if (tail == 0) {
    emit_tile(full);
  } else if (whole < width()) {
    emit_end();
  } else {
    e_.when(e_.less(axes_[kAxisN].left, e_.integer(width())), emit_end, [&] { emit_tile(full); });
  }
}

void ContractionLowering::emit_tile(const Tile& tile) {
  const Values sums = sum(tile, unroll_);
  if (tile.edge && tile.masks.empty()) {
    spill(sums, tile.vectors, tile_buffer());
    finish_from(tile_buffer());
  } else {
    finish(tile, sums);
  }
}

// Address of the tile's first element. Panels: [inner][tiles][K][tile] once packed for good, [tiles][depth][tile] in
// the workspace.
Value* ContractionLowering::operand_base(const Access& access, AxisId axis, Value* source, Value* place) {
  switch (access.layout) {
    case PackLayout::kPanel:
    case PackLayout::kRows:
      return e_.offset(place, e_.mul(axes_[axis].inside, axes_[kAxisK].left));
    case PackLayout::kConstant:
      return e_.offset(
          source, e_.add(e_.mul(position(axis), extent(kAxisK)), e_.mul(position(kAxisK), e_.integer(access.tile))));
    case PackLayout::kInPlace:
      break;
  }
  return e_.offset(source, affine(access, {axis, kAxisK}));
}

// Sums stay in registers. Where sizes are known they start at zero, and what earlier passes left in the output is added
// at the end.
Values ContractionLowering::sum(const Tile& tile, int32_t unroll) {
  const size_t count = tile.rows.size() * static_cast<size_t>(tile.vectors);
  Values carried(count, e_.zero());
  Value* row = tile.start;
  for (size_t i = 0; tile.start != nullptr && i < count; ++i) {
    const size_t v = i % static_cast<size_t>(tile.vectors);
    row = i > 0 && v == 0 ? e_.offset(row, tile.start_step) : row;
    carried[i] = e_.load_vector(e_.offset(row, static_cast<int64_t>(v) * e_.lanes()),
                                tile.masks.empty() ? nullptr : tile.masks[v]);
  }
  Value* first_b = operand_base(b_, kAxisN, entry_b_, place_b_);
  carried.push_back(tile.first_column == nullptr ? first_b
                                                 : e_.offset(first_b, e_.mul(tile.first_column, b_column_stride())));
  Value* a = operand_base(a_, kAxisM, entry_a_, place_a_);
  a = e_.offset(a, e_.mul(e_.sub(e_.integer(0), skipped_rows_), row_stride()));
  for (size_t i = 0; i < tile.rows.size(); i += rows_per_pointer(tile)) {
    carried.push_back(e_.offset(a, e_.mul(tile.rows[i], row_stride())));
  }
  Value* depth = axes_[kAxisK].left;
  int64_t known_depth = 0;
  const bool known = Emitter::known(depth, &known_depth);
  Value* whole = known ? e_.integer(known_depth / unroll * unroll) : e_.sub(depth, e_.mod(depth, e_.integer(unroll)));
  // Read in place, A's stride along k may be an argument: the unrolled loop is for stride 1, where steps are
  // displacements, and any other stride takes the loop of single steps.
  const bool panel = a_.layout == PackLayout::kPanel || a_.layout == PackLayout::kConstant;
  Value* stride = panel                            ? e_.integer(tile_m_)
                  : a_.layout == PackLayout::kRows ? e_.integer(1)
                                                   : e_.amount(*a_.stride(kAxisK));
  Value* fast_stride = Emitter::known(stride) || unroll == 1 ? stride : e_.integer(1);
  if (fast_stride != stride) {
    whole = e_.select(e_.equal(stride, 1), whole, e_.integer(0));
  }
  carried = e_.loop(e_.integer(0), whole, e_.integer(unroll), carried,
                    [&](Value*, const Values& values) { return multiply_add(tile, unroll, fast_stride, values); });
  if (known) {
    carried = multiply_add(tile, static_cast<int32_t>(known_depth % unroll), stride, carried);
  } else if (unroll > 1) {
    carried = e_.loop(whole, depth, e_.integer(1), carried,
                      [&](Value*, const Values& values) { return multiply_add(tile, 1, stride, values); });
  }
  carried.resize(count);
  return carried;
}

// Read in place element by element, B may have any stride along n; vectors are contiguous, and so are panels.
Value* ContractionLowering::b_column_stride() {
  const bool elements = b_.layout == PackLayout::kInPlace && e_.lanes() == 1;
  return elements ? e_.amount(*b_.stride(kAxisN)) : e_.integer(1);
}

Value* ContractionLowering::row_stride() {
  if (a_.layout == PackLayout::kPanel || a_.layout == PackLayout::kConstant) {
    return e_.integer(1);
  }
  return a_.layout == PackLayout::kRows ? axes_[kAxisK].left : e_.amount(*a_.stride(kAxisM));
}

// Rows a known distance apart share one pointer; else as many as the addressing of the target reaches from one.
size_t ContractionLowering::rows_per_pointer(const Tile& tile) {
  return Emitter::known(row_stride()) ? tile.rows.size() : e_.strided_reach();
}

// carried: the sums, B's pointer, A's pointers.
Values ContractionLowering::multiply_add(const Tile& tile, int32_t steps, Value* a_stride, const Values& carried) {
  Values next = carried;
  const size_t rows = tile.rows.size(), vectors = static_cast<size_t>(tile.vectors), share = rows_per_pointer(tile);
  const size_t b_at = rows * vectors, a_at = b_at + 1;
  Value* b_stride = b_.layout == PackLayout::kInPlace ? e_.amount(*b_.stride(kAxisK)) : e_.integer(b_.tile);
  for (int32_t step = 0; step < steps; ++step) {
    Value* a_step = e_.mul(e_.integer(step), a_stride);
    Value* b_step = e_.offset(carried[b_at], e_.mul(e_.integer(step), b_stride));
    Values columns;
    for (size_t v = 0; v < vectors; ++v) {
      columns.push_back(load_b(tile, b_step, static_cast<int32_t>(v)));
    }
    for (size_t i = 0; i < rows; ++i) {
      Value* inside = e_.mul(e_.integer(static_cast<int64_t>(i % share)), row_stride());
      Value* value = e_.splat(e_.load(e_.offset(e_.offset(carried[a_at + i / share], inside), a_step)));
      for (size_t v = 0; v < vectors; ++v) {
        next[i * vectors + v] = e_.fma(value, columns[v], next[i * vectors + v]);
      }
    }
  }
  next[b_at] = e_.offset(carried[b_at], e_.mul(e_.integer(steps), b_stride));
  for (size_t at = a_at; at < next.size(); ++at) {
    next[at] = e_.offset(carried[at], e_.mul(e_.integer(steps), a_stride));
  }
  return next;
}

// Panels are padded, so only B in place ends inside a vector. Without masks each lane past the end reads the first
// column again.
Value* ContractionLowering::load_b(const Tile& tile, Value* pointer, int32_t vector) {
  const bool partial = tile.edge && b_.layout == PackLayout::kInPlace;
  if (!partial) {
    Value* column = e_.integer(static_cast<int64_t>(vector) * e_.lanes());
    return e_.load_vector(e_.offset(pointer, e_.mul(column, b_column_stride())));
  }
  if (!tile.masks.empty()) {
    return e_.load_vector(e_.offset(pointer, static_cast<int64_t>(vector) * e_.lanes()),
                          tile.masks[static_cast<size_t>(vector)]);
  }
  Value* left = axes_[kAxisN].left;
  left = tile.first_column == nullptr ? left : e_.sub(left, tile.first_column);
  Value* result = e_.zero();
  for (int32_t lane = 0; lane < e_.lanes(); ++lane) {
    Value* column = e_.integer(static_cast<int64_t>(vector) * e_.lanes() + lane);
    Value* safe = e_.builder().CreateSelect(e_.less(column, left), column, e_.integer(0));
    Value* value = e_.load(e_.offset(pointer, safe));
    result = e_.lanes() == 1 ? value : e_.builder().CreateInsertElement(result, value, static_cast<uint64_t>(lane));
  }
  return result;
}

Value* ContractionLowering::first_pass() { return e_.equal(position(kAxisK), 0); }

Value* ContractionLowering::last_pass() {
  return e_.builder().CreateNot(e_.less(e_.add(position(kAxisK), axes_[kAxisK].left), extent(kAxisK)));
}

}  // namespace temper
