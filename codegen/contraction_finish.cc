// The end of a contraction's register tile: earlier passes, bias, addend, activation, and the stores.
#include "codegen/lower_contraction.h"
#include "schedules/nests.h"

namespace temper {

using llvm::Value;

Values ContractionLowering::with_bias(const Tile& tile, Values sums) {
  const EpilogueStage& epilogue = nest_.epilogue();
  const size_t vectors = static_cast<size_t>(tile.vectors);
  Value* kind = e_.amount(epilogue.bias);
  const auto along_m = [&] {
    Values result = sums;
    Value* at = e_.add(e_.mul(position(kAxisInner), e_.amount(epilogue.bias_inner)), position(kAxisM));
    Value* base = e_.offset(e_.tensor(TEMPER_BIAS), at);
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
    Value* at = e_.add(e_.mul(position(kAxisInner), e_.amount(epilogue.bias_inner)), position(kAxisN));
    Value* base = e_.offset(e_.tensor(TEMPER_BIAS), at);
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
        Value* base = e_.offset(e_.tensor(TEMPER_ADDEND), affine(out_, {kAxisOuter, kAxisInner, kAxisM, kAxisN}));
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
  Value* base = e_.offset(e_.tensor(TEMPER_OUT), affine(out_, {kAxisOuter, kAxisInner, kAxisM, kAxisN}));
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

// The sums, row by row, on the stack.
Value* ContractionLowering::spill(const Values& sums) {
  Value* buffer = e_.stack(static_cast<int64_t>(sums.size()) * e_.lanes());
  for (size_t i = 0; i < sums.size(); ++i) {
    e_.store_vector(sums[i], e_.offset(buffer, static_cast<int64_t>(i) * e_.lanes()));
  }
  return buffer;
}

// One pass, no addend, whole rows. Both biases are added, one of them or both zero, so that nothing branches.
void ContractionLowering::finish_usual(const Tile& tile, const Values& sums) {
  const EpilogueStage& epilogue = nest_.epilogue();
  llvm::IRBuilder<>& b = e_.builder();
  const size_t vectors = static_cast<size_t>(tile.vectors);
  Value *kind = e_.amount(epilogue.bias), *along_m = e_.equal(kind, kBiasAlongM),
        *along_n = e_.equal(kind, kBiasAlongN);
  Value* bias = e_.offset(e_.tensor(TEMPER_BIAS), e_.mul(position(kAxisInner), e_.amount(epilogue.bias_inner)));
  Value* zeros = e_.stack(1);
  e_.store(llvm::ConstantFP::get(e_.float_type(), 0.0), zeros);
  Value* row_bias = b.CreateSelect(along_m, e_.offset(bias, position(kAxisM)), zeros);
  Value* row_step = b.CreateSelect(along_m, e_.integer(1), e_.integer(0));
  const auto loaded = [&] {
    Values columns;
    for (size_t v = 0; v < vectors; ++v) {
      Value* place = e_.offset(e_.offset(bias, position(kAxisN)), static_cast<int64_t>(v) * e_.lanes());
      columns.push_back(e_.load_vector(place, tile.masks.empty() ? nullptr : tile.masks[v]));
    }
    return columns;
  };
  const Values columns = e_.choose(along_n, loaded, [&] { return Values(vectors, e_.zero()); });
  Value* out = e_.offset(e_.tensor(TEMPER_OUT), affine(out_, {kAxisOuter, kAxisInner, kAxisM, kAxisN}));
  for (size_t i = 0; i < tile.rows.size(); ++i) {
    Value* added = e_.splat(e_.load(row_bias));
    for (size_t v = 0; v < vectors; ++v) {
      Value* value = activation_.apply(b.CreateFAdd(b.CreateFAdd(sums[i * vectors + v], columns[v]), added));
      e_.store_vector(value, e_.offset(out, static_cast<int64_t>(v) * e_.lanes()),
                      tile.masks.empty() ? nullptr : tile.masks[v]);
    }
    row_bias = e_.offset(row_bias, row_step);
    out = e_.offset(out, e_.amount(*out_.stride(kAxisM)));
  }
}

void ContractionLowering::finish_by_rows(const Tile& tile, Value* buffer) {
  const int64_t width = static_cast<int64_t>(tile.vectors) * e_.lanes();
  e_.loop(e_.integer(0), axes_[kAxisM].left, e_.integer(1), [&](Value* i) {
    Values row;
    Value* from = e_.offset(buffer, e_.mul(e_.add(i, skipped_rows_), e_.integer(width)));
    for (int32_t v = 0; v < tile.vectors; ++v) {
      row.push_back(e_.load_vector(e_.offset(from, int64_t{v} * e_.lanes())));
    }
    finish({{i}, tile.vectors, tile.masks, tile.edge}, row);
  });
}

// Edge columns of targets without masks: a scalar loop finishes what is inside the output.
void ContractionLowering::finish_by_element(const Tile& tile, Value* buffer) {
  const int64_t width = static_cast<int64_t>(tile.vectors) * e_.lanes();
  const EpilogueStage& epilogue = nest_.epilogue();
  llvm::IRBuilder<>& b = e_.builder();
  Value* from = affine(out_, {kAxisOuter, kAxisInner, kAxisM, kAxisN});
  Value* bias = e_.offset(e_.tensor(TEMPER_BIAS), e_.mul(position(kAxisInner), e_.amount(epilogue.bias_inner)));
  Value* kind = e_.amount(epilogue.bias);
  const auto added = [&](Value* when, Value* value, Value* pointer) {
    return e_
        .choose(
            when, [&] { return Values{b.CreateFAdd(value, e_.load(pointer))}; }, [&] { return Values{value}; })
        .front();
  };
  e_.loop(e_.integer(0), axes_[kAxisM].left, e_.integer(1), [&](Value* i) {
    e_.loop(e_.integer(0), axes_[kAxisN].left, e_.integer(1), [&](Value* j) {
      Value* at = e_.add(from, e_.add(e_.mul(i, e_.amount(*out_.stride(kAxisM))), j));
      Value* value = e_.load(e_.offset(buffer, e_.add(e_.mul(e_.add(i, skipped_rows_), e_.integer(width)), j)));
      value = added(b.CreateNot(first_pass()), value, e_.offset(e_.tensor(TEMPER_OUT), at));
      value = e_.choose(
                    last_pass(),
                    [&] {
                      Value* index = b.CreateSelect(e_.equal(kind, kBiasAlongM), e_.add(position(kAxisM), i),
                                                    e_.add(position(kAxisN), j));
                      Value* biased = added(b.CreateNot(e_.equal(kind, kBiasNone)), value, e_.offset(bias, index));
                      Value* adds = b.CreateNot(e_.equal(e_.amount(epilogue.addend), 0));
                      return Values{activation_.apply(added(adds, biased, e_.offset(e_.tensor(TEMPER_ADDEND), at)))};
                    },
                    [&] { return Values{value}; })
                  .front();
      e_.store(value, e_.offset(e_.tensor(TEMPER_OUT), at));
    });
  });
}

}  // namespace temper
