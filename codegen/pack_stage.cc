#include "codegen/pack_stage.h"

#include "schedules/nests.h"

namespace temper {

using llvm::Value;

// Rows are made of images alone; gemm_nest refuses them elsewhere.
void PackStage::emit() const {
  if (access.layout == PackLayout::kRows) {
    image_rows();
    return;
  }
  const auto strided = [&] {
    if (access.filter_of) {
      e.when(
          enabled(*access.filter_of), [&] { filter_panels(); }, [&] { plain(); });
    } else {
      plain();
    }
  };
  if (access.image) {
    e.when(
        enabled(*access.image), [&] { image(); }, strided);
  } else {
    strided();
  }
}

Value* PackStage::enabled(const ImageView& view) const { return e.equal(e.amount(view.enabled), view.enabled_value); }

Value* PackStage::left_in_tile(Value* first) const {
  int64_t whole = 0;
  const bool even = Emitter::known(e.amount(nest.axes()[axis].extent), &whole) && whole % access.tile == 0;
  return even ? e.integer(access.tile) : e.minimum(e.integer(access.tile), e.sub(axes[axis].left, first));
}

void PackStage::plain() const {
  Value *tile_stride = e.amount(*access.stride(axis)), *depth_stride = e.amount(*access.stride(kAxisK));
  Value* from = e.offset(source, e.add(e.mul(position(axis), tile_stride), e.mul(position(kAxisK), depth_stride)));
  Value *depth = axes[kAxisK].left, *count = axes[axis].left;
  e.loop(e.integer(0), count, e.integer(access.tile), [&](Value* first) {
    Value *panel = e.offset(from, e.mul(first, tile_stride)), *to = e.offset(place, e.mul(first, depth));
    Value* left = left_in_tile(first);
    if (e.lanes() == 1) {
      by_element(panel, to, left, tile_stride, [&](Value* k) { return e.mul(k, depth_stride); });
      return;
    }
    e.when(
        e.equal(tile_stride, 1), [&] { along_tile(panel, to, left, depth_stride); },
        [&] {
          e.when(
              e.equal(depth_stride, 1), [&] { along_depth(panel, to, left, tile_stride); },
              [&] { by_element(panel, to, left, tile_stride, [&](Value* k) { return e.mul(k, depth_stride); }); });
        });
  });
}

// The tile is contiguous: one short row per depth. A tail is padded with zeros.
void PackStage::along_tile(Value* from, Value* to, Value* left, Value* depth_stride) const {
  const int32_t tile = access.tile, vectors = tile / e.lanes();
  if (tile % e.lanes() != 0) {
    by_element(from, to, left, e.integer(1), [&](Value* k) { return e.mul(k, depth_stride); });
    return;
  }
  const auto rows = [&](bool edge) {
    Values masks;
    for (int32_t v = 0; v < vectors; ++v) {
      masks.push_back(edge ? e.lane_mask(left, v) : nullptr);
    }
    e.loop(e.integer(0), axes[kAxisK].left, e.integer(1), [&](Value* k) {
      Value *source_row = e.offset(from, e.mul(k, depth_stride)), *row = e.offset(to, e.mul(k, e.integer(tile)));
      for (int32_t v = 0; v < vectors; ++v) {
        const int64_t at = static_cast<int64_t>(v) * e.lanes();
        e.store_vector(e.load_vector(e.offset(source_row, at), masks[static_cast<size_t>(v)]), e.offset(row, at));
      }
    });
  };
  // Where sizes are arguments one body serves both: masked loads cost little, code much.
  if (e.masks() && !exact && !Emitter::known(left)) {
    rows(true);
    return;
  }
  e.when(
      e.less(left, e.integer(tile)),
      [&] {
        if (e.masks()) {
          rows(true);
        } else {
          by_element(from, to, left, e.integer(1), [&](Value* k) { return e.mul(k, depth_stride); });
        }
      },
      [&] { rows(false); });
}

// Depth is contiguous: four rows at a time are transposed. The last rows of a tile may be written twice, a tail repeats
// its last row.
void PackStage::along_depth(Value* from, Value* to, Value* left, Value* tile_stride) const {
  const int32_t tile = access.tile;
  if (tile < 4) {
    by_element(from, to, left, tile_stride, [](Value* k) { return k; });
    return;
  }
  Value* last = e.sub(left, e.integer(1));
  e.loop(e.integer(0), e.integer(tile), e.integer(4), [&](Value* group) {
    Value* first = tile % 4 == 0 ? group : e.minimum(group, e.integer(tile - 4));
    Values rows;
    for (int64_t i = 0; i < 4; ++i) {
      rows.push_back(e.offset(from, e.mul(e.minimum(e.add(first, e.integer(i)), last), tile_stride)));
    }
    transpose_rows(rows, e.offset(to, first), axes[kAxisK].left);
  });
}

// Four rows by vectors, any other number by element.
void PackStage::transpose_rows(const Values& rows, Value* to, Value* depth) const {
  llvm::IRBuilder<>& b = e.builder();
  llvm::Type* four = llvm::FixedVectorType::get(e.float_type(), 4);
  Value* whole = rows.size() == 4 ? e.sub(depth, e.mod(depth, e.integer(4))) : e.integer(0);
  const auto column = [&](Value* k) { return e.offset(to, e.mul(k, e.integer(access.tile))); };
  e.loop(e.integer(0), whole, e.integer(4), [&](Value* k) {
    Value* in[4];
    for (size_t i = 0; i < 4; ++i) {
      in[i] = b.CreateAlignedLoad(four, e.offset(rows[i], k), llvm::Align(4));
    }
    Value* low01 = b.CreateShuffleVector(in[0], in[1], {0, 4, 1, 5});
    Value* high01 = b.CreateShuffleVector(in[0], in[1], {2, 6, 3, 7});
    Value* low23 = b.CreateShuffleVector(in[2], in[3], {0, 4, 1, 5});
    Value* high23 = b.CreateShuffleVector(in[2], in[3], {2, 6, 3, 7});
    Value* out[4] = {
        b.CreateShuffleVector(low01, low23, {0, 1, 4, 5}), b.CreateShuffleVector(low01, low23, {2, 3, 6, 7}),
        b.CreateShuffleVector(high01, high23, {0, 1, 4, 5}), b.CreateShuffleVector(high01, high23, {2, 3, 6, 7})};
    for (int64_t j = 0; j < 4; ++j) {
      b.CreateAlignedStore(out[j], e.offset(column(k), j * access.tile), llvm::Align(4));
    }
  });
  e.loop(whole, depth, e.integer(1), [&](Value* k) {
    for (size_t i = 0; i < rows.size(); ++i) {
      e.store(e.load(e.offset(rows[i], k)), e.offset(column(k), static_cast<int64_t>(i)));
    }
  });
}

void PackStage::by_element(Value* from, Value* to, Value* left, Value* tile_stride,
                           const std::function<Value*(Value*)>& depth_offset) const {
  Value* last = e.sub(left, e.integer(1));
  e.loop(e.integer(0), axes[kAxisK].left, e.integer(1), [&](Value* k) {
    Value *column = e.offset(from, depth_offset(k)), *row = e.offset(to, e.mul(k, e.integer(access.tile)));
    e.loop(e.integer(0), e.integer(access.tile), e.integer(1), [&](Value* i) {
      e.store(e.load(e.offset(column, e.mul(e.minimum(i, last), tile_stride))), e.offset(row, i));
    });
  });
}

}  // namespace temper
