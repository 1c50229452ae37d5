// The end of a contraction's register tile: earlier passes, bias, addend, activation, and the stores.
#include "codegen/lower_contraction.h"
#include "schedules/nests.h"

namespace temper {

using llvm::Value;

Values ContractionLowering::with_bias(const Tile& tile, Values sums) {
  const size_t vectors = static_cast<size_t>(tile.vectors);
  Value* kind = e_.amount(nest_.epilogue().bias);
  const auto along_m = [&] {
    Values result = sums;
    Value* base = e_.offset(entry_bias_, position(kAxisM));
    for (size_t i = 0; i < tile.rows.size(); ++i) {
      Value* value = e_.splat(e_.load(e_.offset(base, tile.rows[i])));
      for (size_t v = 0; v < vectors; ++v) {
        result[i * vectors + v] = e_.builder().CreateFAdd(result[i * vectors + v], value);
      }
    }
    return result;
  };
  const auto along_n = [&] {
    Values result = sums;
    Value* base = e_.offset(entry_bias_, position(kAxisN));
    for (size_t v = 0; v < vectors; ++v) {
      Value* mask = tile.masks.empty() ? nullptr : tile.masks[v];
      Value* value = e_.load_vector(e_.offset(base, static_cast<int64_t>(v) * e_.lanes()), mask);
      for (size_t i = 0; i < tile.rows.size(); ++i) {
        result[i * vectors + v] = e_.builder().CreateFAdd(result[i * vectors + v], value);
      }
    }
    return result;
  };
  return e_.choose(
      e_.equal(kind, kBiasNone), [&] { return sums; },
      [&] { return e_.choose(e_.equal(kind, kBiasAlongM), along_m, along_n); });
}

Values ContractionLowering::with_addend(const Tile& tile, Values sums) {
  return e_.choose(
      e_.equal(e_.amount(nest_.epilogue().addend), 0), [&] { return sums; },
      [&] {
        const size_t vectors = static_cast<size_t>(tile.vectors);
        Value* base = e_.offset(e_.tensor(TEMPER_ADDEND), e_.add(entry_out_, affine(out_, {kAxisM, kAxisN})));
        Value* stride = e_.amount(*out_.stride(kAxisM));
        for (size_t i = 0; i < tile.rows.size(); ++i) {
          Value* row = e_.offset(base, e_.mul(tile.rows[i], stride));
          for (size_t v = 0; v < vectors; ++v) {
            Value* mask = tile.masks.empty() ? nullptr : tile.masks[v];
            Value* value = e_.load_vector(e_.offset(row, static_cast<int64_t>(v) * e_.lanes()), mask);
            sums[i * vectors + v] = e_.builder().CreateFAdd(sums[i * vectors + v], value);
          }
        }
        return sums;
      });
}

void ContractionLowering::finish(const Tile& tile, Values sums) {
  const size_t vectors = static_cast<size_t>(tile.vectors);
  Value* base = e_.offset(e_.tensor(TEMPER_OUT), e_.add(entry_out_, affine(out_, {kAxisM, kAxisN})));
  Value* stride = e_.amount(*out_.stride(kAxisM));
  Values rows;
  for (Value* row : tile.rows) {
    rows.push_back(e_.offset(base, e_.mul(row, stride)));
  }
  const auto mask = [&](size_t v) { return tile.masks.empty() ? nullptr : tile.masks[v]; };
  const auto place = [&](size_t i, size_t v) { return e_.offset(rows[i], static_cast<int64_t>(v) * e_.lanes()); };
  sums = e_.choose(
      first_pass(), [&] { return sums; },
      [&] {
        Values total = sums;
        for (size_t i = 0; i < total.size(); ++i) {
          Value* earlier = e_.load_vector(place(i / vectors, i % vectors), mask(i % vectors));
          total[i] = e_.builder().CreateFAdd(total[i], earlier);
        }
        return total;
      });
  sums = e_.choose(
      last_pass(),
      [&] {
        Values total = with_addend(tile, with_bias(tile, sums));
        for (Value*& value : total) {
          value = activation_.apply(value);
        }
        return total;
      },
      [&] { return sums; });
  for (size_t i = 0; i < tile.rows.size(); ++i) {
    for (size_t v = 0; v < vectors; ++v) {
      e_.store_vector(sums[i * vectors + v], place(i, v), mask(v));
    }
  }
}

}  // namespace temper
