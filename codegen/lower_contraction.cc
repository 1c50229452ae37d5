#include "codegen/lower_contraction.h"

#include "codegen/pack_stage.h"
#include "schedules/nests.h"

namespace temper {

using llvm::Value;

ContractionLowering::ContractionLowering(Emitter& emitter, const LoopNest& nest, Amount a_source)
    : NestWalker(emitter, nest, nest.register_begin()),
      a_(*nest.access(TEMPER_IN_A)),
      b_(*nest.access(TEMPER_IN_B)),
      out_(*nest.access(TEMPER_OUT)),
      tile_m_(nest.copies(kAxisM, LoopKind::kUnrolled)),
      vectors_(nest.copies(kAxisN, LoopKind::kUnrolled)),
      unroll_(nest.copies(kAxisK, LoopKind::kUnrolled)),
      activation_(emitter, nest.epilogue()) {
  Value* source = e_.amount(a_source);
  Value* swapped = e_.at_entry([&] { return e_.equal(source, TEMPER_IN_B); });
  Value *left = e_.tensor(TEMPER_IN_A), *right = e_.tensor(TEMPER_IN_B);
  source_a_ = e_.at_entry([&] { return e_.builder().CreateSelect(swapped, right, left); });
  source_b_ = e_.at_entry([&] { return e_.builder().CreateSelect(swapped, left, right); });
  place_a_ = place_b_ = e_.workspace();
  skipped_rows_ = e_.integer(0);
}

void ContractionLowering::stages(const Loop& loop) {
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
    pack_operand(a_, kAxisM, source_a_, place_a_);
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
    pack_operand(b_, kAxisN, source_b_, place_b_);
  }
}

void ContractionLowering::pack_operand(const Access& access, AxisId axis, Value* source, Value* place) {
  const PackStage stage{e_,   nest_, access, axis, axes_, e_.offset(source, affine(access, {kAxisOuter, kAxisInner})),
                        place};
  stage.emit();
}

Value* ContractionLowering::affine(const Access& access, std::initializer_list<AxisId> axes) {
  Value* sum = e_.integer(0);
  for (AxisId axis : axes) {
    sum = e_.add(sum, e_.mul(position(axis), e_.amount(*access.stride(axis))));
  }
  return sum;
}

// Rows: exact tails where M is known. Else packed tiles are whole, and rows in place step back so that the tile ends
// with the matrix; a matrix lower than a tile goes row by row.
void ContractionLowering::register_tile() {
  const auto exact = [&](int64_t count) {
    Values rows;
    for (int64_t i = 0; i < count; ++i) {
      rows.push_back(e_.integer(i));
    }
    with_columns(rows);
  };
  AxisState& m = axes_[kAxisM];
  skipped_rows_ = e_.integer(0);
  int64_t whole = 0;
  if (Emitter::known(extent(kAxisM), &whole)) {
    const int64_t tail = whole % tile_m_;
    if (tail == 0) {
      exact(tile_m_);
    } else if (whole < tile_m_) {
      exact(tail);
    } else {
      e_.when(
          e_.less(m.left, e_.integer(tile_m_)), [&] { exact(tail); }, [&] { exact(tile_m_); });
    }
    return;
  }
  if (a_.layout != PackLayout::kInPlace || tile_m_ == 1) {
    exact(tile_m_);
    return;
  }
  const auto row_by_row = [&] {
    const AxisState saved = m;
    e_.loop(e_.integer(0), saved.left, e_.integer(1), [&](Value* i) {
      m.inside = e_.add(saved.inside, i);
      m.left = e_.integer(1);
      exact(1);
    });
    m = saved;
  };
  e_.when(e_.less(extent(kAxisM), e_.integer(tile_m_)), row_by_row, [&] {
    skipped_rows_ = e_.sub(e_.integer(tile_m_), m.left);
    exact(tile_m_);
    skipped_rows_ = e_.integer(0);
  });
}

void ContractionLowering::with_columns(const Values& rows) {
  const int64_t width = static_cast<int64_t>(vectors_) * e_.lanes();
  Value* left = axes_[kAxisN].left;
  const Tile full{rows, vectors_, {}, false};
  const auto edge = [&](int32_t vectors, Value* columns) {
    Tile tile{rows, vectors, {}, true};
    for (int32_t v = 0; e_.masks() && v < vectors; ++v) {
      tile.masks.push_back(e_.lane_mask(columns, v));
    }
    return tile;
  };
  int64_t whole = 0;
  if (Emitter::known(extent(kAxisN), &whole)) {
    const int64_t tail = whole % width;
    const Tile end = edge(static_cast<int32_t>((tail + e_.lanes() - 1) / e_.lanes()), e_.integer(tail));
    const bool even = tail % e_.lanes() == 0;
    const auto emit_end = [&] { emit_tile(even ? Tile{rows, end.vectors, {}, false} : end, false); };
    if (tail == 0) {
      emit_tile(full, false);
    } else if (whole < width) {
      emit_end();
    } else {
      e_.when(e_.less(left, e_.integer(width)), emit_end, [&] { emit_tile(full, false); });
    }
    return;
  }
  // Masks of AVX-512 cost nothing, so whole tiles take them too and the pack holds one body; elsewhere the two ends
  // differ: only the finish where B is packed, the sums too where it is not.
  if (e_.masks() && e_.lanes() == 16) {
    emit_tile(edge(vectors_, left), false);
  } else if (b_.layout != PackLayout::kInPlace) {
    emit_tile(full, true);
  } else {
    e_.when(
        e_.less(left, e_.integer(width)), [&] { emit_tile(edge(vectors_, left), false); },
        [&] { emit_tile(full, false); });
  }
}

// fork: only at the end is it known whether the columns end inside the tile.
void ContractionLowering::emit_tile(const Tile& tile, bool fork) {
  const Values sums = sum(tile);
  if (Emitter::known(extent(kAxisM))) {
    if (tile.edge && tile.masks.empty()) {
      finish_by_element(tile, spill(sums));
    } else {
      finish(tile, sums);
    }
    return;
  }
  // Where sizes are arguments, the usual end (whole tile, one pass, no addend) stays in registers; any other goes over
  // the stack in a loop over rows, a tenth of the code of doing everything for every row.
  Value* inside = e_.less(axes_[kAxisN].left, e_.integer(static_cast<int64_t>(vectors_) * e_.lanes()));
  const auto rare = [&] {
    Value* buffer = spill(sums);
    if (fork) {
      e_.when(
          inside, [&] { finish_from(masked(tile), buffer); }, [&] { finish_from(tile, buffer); });
    } else {
      finish_from(tile, buffer);
    }
  };
  if (e_.lanes() == 1 || (tile.edge && tile.masks.empty()) || tile.rows.size() != static_cast<size_t>(tile_m_)) {
    rare();
    return;
  }
  llvm::IRBuilder<>& b = e_.builder();
  Value* usual = b.CreateAnd(b.CreateAnd(first_pass(), last_pass()), e_.equal(e_.amount(nest_.epilogue().addend), 0));
  usual = b.CreateAnd(usual, e_.equal(axes_[kAxisM].left, tile_m_));
  usual = fork ? b.CreateAnd(usual, b.CreateNot(inside)) : usual;
  e_.when(
      usual, [&] { finish_usual(tile, sums); }, rare);
}

ContractionLowering::Tile ContractionLowering::masked(const Tile& tile) {
  Tile edge = tile;
  edge.edge = true;
  for (int32_t v = 0; e_.masks() && v < tile.vectors; ++v) {
    edge.masks.push_back(e_.lane_mask(axes_[kAxisN].left, v));
  }
  return edge;
}

void ContractionLowering::finish_from(const Tile& tile, Value* buffer) {
  if (tile.edge && tile.masks.empty()) {
    finish_by_element(tile, buffer);
  } else {
    finish_by_rows(tile, buffer);
  }
}

// Address of the tile's first element. Panels: [inner][tiles][K][tile] once packed for good, [tiles][depth][tile] in
// the workspace.
Value* ContractionLowering::operand_base(const Access& access, AxisId axis, Value* source, Value* place) {
  switch (access.layout) {
    case PackLayout::kPanel:
    case PackLayout::kRows:
      return e_.offset(place, e_.mul(axes_[axis].inside, axes_[kAxisK].left));
    case PackLayout::kConstant: {
      Value* whole = e_.mul(e_.round_up(extent(axis), access.tile), extent(kAxisK));
      Value* inside = e_.add(e_.mul(position(axis), extent(kAxisK)), e_.mul(position(kAxisK), e_.integer(access.tile)));
      return e_.offset(source, e_.add(e_.mul(position(kAxisInner), whole), inside));
    }
    case PackLayout::kInPlace:
      break;
  }
  return e_.offset(source, affine(access, {kAxisOuter, kAxisInner, axis, kAxisK}));
}

// Sums start at zero and stay in registers; what earlier passes left in the output is added at the end.
Values ContractionLowering::sum(const Tile& tile) {
  Values carried(tile.rows.size() * static_cast<size_t>(tile.vectors), e_.zero());
  const size_t count = carried.size();
  carried.push_back(operand_base(b_, kAxisN, source_b_, place_b_));
  Value* a = operand_base(a_, kAxisM, source_a_, place_a_);
  a = e_.offset(a, e_.mul(e_.sub(e_.integer(0), skipped_rows_), row_stride()));
  for (size_t i = 0; i < tile.rows.size(); i += rows_per_pointer(tile)) {
    carried.push_back(e_.offset(a, e_.mul(tile.rows[i], row_stride())));
  }
  Value* depth = axes_[kAxisK].left;
  int64_t known_depth = 0;
  const bool known = Emitter::known(depth, &known_depth);
  Value* whole =
      known ? e_.integer(known_depth / unroll_ * unroll_) : e_.sub(depth, e_.mod(depth, e_.integer(unroll_)));
  // Read in place, A's stride along k may be an argument: the unrolled loop is for stride 1, where steps are
  // displacements, and any other stride takes the loop of single steps.
  const bool panel = a_.layout == PackLayout::kPanel || a_.layout == PackLayout::kConstant;
  Value* stride = panel                            ? e_.integer(tile_m_)
                  : a_.layout == PackLayout::kRows ? e_.integer(1)
                                                   : e_.amount(*a_.stride(kAxisK));
  Value* fast_stride = Emitter::known(stride) || unroll_ == 1 ? stride : e_.integer(1);
  if (fast_stride != stride) {
    whole = e_.builder().CreateSelect(e_.equal(stride, 1), whole, e_.integer(0));
  }
  carried = e_.loop(e_.integer(0), whole, e_.integer(unroll_), carried,
                    [&](Value*, const Values& values) { return multiply_add(tile, unroll_, fast_stride, values); });
  if (known) {
    carried = multiply_add(tile, static_cast<int32_t>(known_depth % unroll_), stride, carried);
  } else if (unroll_ > 1) {
    carried = e_.loop(whole, depth, e_.integer(1), carried,
                      [&](Value*, const Values& values) { return multiply_add(tile, 1, stride, values); });
  }
  carried.resize(count);
  return carried;
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
    return e_.load_vector(e_.offset(pointer, static_cast<int64_t>(vector) * e_.lanes()));
  }
  if (!tile.masks.empty()) {
    return e_.load_vector(e_.offset(pointer, static_cast<int64_t>(vector) * e_.lanes()),
                          tile.masks[static_cast<size_t>(vector)]);
  }
  Value* result = e_.zero();
  for (int32_t lane = 0; lane < e_.lanes(); ++lane) {
    Value* column = e_.integer(static_cast<int64_t>(vector) * e_.lanes() + lane);
    Value* safe = e_.builder().CreateSelect(e_.less(column, axes_[kAxisN].left), column, e_.integer(0));
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
