#include "schedules/loop_nest.h"

#include <doctest/doctest.h>

#include "schedules/nests.h"

namespace temper {
namespace {

Chunk fixed(int32_t value) { return {Amount::constant(value), 1}; }

/// out[m, n] += a[m, k] * b[k, n]; k an argument.
struct MatmulNest {
  MatmulNest() {
    m = nest.add_axis("m", AxisKind::kSpatial, Amount::constant(60));
    n = nest.add_axis("n", AxisKind::kSpatial, Amount::argument(2));
    k = nest.add_axis("k", AxisKind::kReduction, Amount::argument(3));
    nest.add_access({TEMPER_IN_A, {{m, Amount::argument(4)}, {k, Amount::constant(1)}}});
    nest.add_access({TEMPER_IN_B, {{k, Amount::constant(1)}, {n, Amount::argument(5)}}});
    nest.add_access({TEMPER_OUT, {{m, Amount::argument(6)}, {n, Amount::constant(1)}}});
  }
  std::string order() const {
    std::string names;
    for (const Loop& loop : nest.loops()) {
      names += loop.name;
      names += ' ';
    }
    return names;
  }
  LoopNest nest;
  AxisId m, n, k;
};

template <class T>
std::string reason(const Result<T>& result) {
  return result.ok() ? std::string("legal") : result.error().message;
}

bool mentions(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("split makes an outer loop by the factor and an inner loop over it") {
  MatmulNest t;
  const Result<SplitLoops> split = t.nest.split(t.nest.loop_of(t.m), fixed(12));
  REQUIRE(split.ok());
  CHECK(t.order() == "mo mi n k ");
  CHECK(t.nest.loops()[0].parts[0].step == fixed(12));
  CHECK(t.nest.loops()[1].parts[0].span == fixed(12));
  CHECK(t.nest.split(t.nest.loop_of(t.n), {Amount::argument(9), 4}).ok());
}

TEST_CASE("split refuses factors below one and factors that are no multiple of the step") {
  MatmulNest t;
  CHECK(mentions(reason(t.nest.split(t.nest.loop_of(t.m), fixed(0))), "at least 1"));
  CHECK(mentions(reason(t.nest.split(99, fixed(4))), "no such loop"));
  const SplitLoops m = *t.nest.split(t.nest.loop_of(t.m), fixed(4));
  CHECK(mentions(reason(t.nest.split(m.outer, fixed(6))), "not a multiple"));
  CHECK(t.nest.split(m.outer, fixed(8)).ok());
}

TEST_CASE("reorder refuses a reduction away from its accumulator unless its passes meet in the output") {
  MatmulNest t;
  const LoopId m = t.nest.loop_of(t.m), n = t.nest.loop_of(t.n), k = t.nest.loop_of(t.k);
  CHECK(mentions(reason(t.nest.reorder({k, m, n})), "away from its accumulator"));
  CHECK(t.order() == "m n k ");
  REQUIRE(t.nest.accumulate_in_output(k).ok());
  CHECK(t.nest.reorder({k, m, n}).ok());
  CHECK(t.order() == "k m n ");
  CHECK(mentions(reason(t.nest.accumulate_in_output(m)), "not a reduction"));
}

TEST_CASE("reorder lets a reduction stand outside small loops of known size, which become registers") {
  MatmulNest t;
  const SplitLoops m = *t.nest.split(t.nest.loop_of(t.m), fixed(6));
  CHECK(t.nest.reorder({m.outer, t.nest.loop_of(t.n), t.nest.loop_of(t.k), m.inner}).ok());
}

TEST_CASE("reorder refuses a part outside the loop that cuts it and a loop listed twice") {
  MatmulNest t;
  const SplitLoops m = *t.nest.split(t.nest.loop_of(t.m), fixed(6));
  CHECK(mentions(reason(t.nest.reorder({m.inner, m.outer})), "which it is a part of"));
  CHECK(mentions(reason(t.nest.reorder({m.inner, m.inner})), "twice"));
  CHECK(mentions(reason(t.nest.reorder({m.inner, 77})), "no such loop"));
}

TEST_CASE("fuse refuses loops that are not adjacent and axes of different kinds") {
  MatmulNest t;
  const LoopId m = t.nest.loop_of(t.m), n = t.nest.loop_of(t.n), k = t.nest.loop_of(t.k);
  CHECK(mentions(reason(t.nest.fuse(m, k)), "not adjacent"));
  CHECK(mentions(reason(t.nest.fuse(n, k)), "mix"));
  const Result<LoopId> fused = t.nest.fuse(m, n);
  REQUIRE(fused.ok());
  CHECK(t.order() == "mn k ");
  CHECK(mentions(reason(t.nest.split(*fused, fixed(2))), "fused"));
}

TEST_CASE("unroll refuses extents that are arguments and bodies that are too big") {
  MatmulNest t;
  CHECK(mentions(reason(t.nest.unroll(t.nest.loop_of(t.k))), "argument"));
  const SplitLoops n = *t.nest.split(t.nest.loop_of(t.n), fixed(40));
  REQUIRE(t.nest.unroll(n.inner).ok());
  CHECK(mentions(reason(t.nest.unroll(t.nest.loop_of(t.m))), "2400 copies"));
}

TEST_CASE("vectorize refuses loops that are not innermost, reductions, and operands neither contiguous nor packed") {
  MatmulNest t;
  const LoopId m = t.nest.loop_of(t.m), k = t.nest.loop_of(t.k);
  CHECK(mentions(reason(t.nest.vectorize(m)), "innermost"));
  const SplitLoops depth = *t.nest.split(k, fixed(8));
  CHECK(mentions(reason(t.nest.vectorize(depth.inner)), "is a reduction"));
  const SplitLoops n = *t.nest.split(t.nest.loop_of(t.n), fixed(8));
  REQUIRE(t.nest.reorder({m, n.outer, depth.outer, depth.inner, n.inner}).ok());
  CHECK(mentions(reason(t.nest.vectorize(n.inner)), "tensor 2 is neither contiguous along n nor packed"));
  REQUIRE(t.nest.pack(TEMPER_IN_B, PackLayout::kConstant, t.n, 8, 0).ok());
  CHECK(t.nest.vectorize(n.inner).ok());
}

TEST_CASE("parallel refuses inner loops and reductions") {
  MatmulNest t;
  CHECK(mentions(reason(t.nest.parallel(t.nest.loop_of(t.n))), "outermost"));
  LoopNest sum;
  const AxisId k = sum.add_axis("k", AxisKind::kReduction, Amount::constant(8));
  CHECK(mentions(reason(sum.parallel(sum.loop_of(k))), "reduction"));
  CHECK(t.nest.parallel(t.nest.loop_of(t.m)).ok());
}

TEST_CASE("compute_at refuses loops that do not enclose finished sums") {
  MatmulNest t;
  const SplitLoops m = *t.nest.split(t.nest.loop_of(t.m), fixed(6));
  const LoopId k = t.nest.loop_of(t.k);
  REQUIRE(t.nest.reorder({m.outer, t.nest.loop_of(t.n), k, m.inner}).ok());
  CHECK(mentions(reason(t.nest.compute_at(m.inner)), "does not enclose"));
  CHECK(mentions(reason(t.nest.compute_at(k)), "is a reduction"));
  CHECK(t.nest.compute_at(m.outer).ok());
  CHECK(t.nest.epilogue().at == m.outer);
}

TEST_CASE("pack refuses parts of unknown size and what is no operand") {
  MatmulNest t;
  const LoopId m = t.nest.loop_of(t.m);
  CHECK(mentions(reason(t.nest.pack(TEMPER_IN_B, PackLayout::kPanel, t.n, 8, m)), "unknown"));
  CHECK(mentions(reason(t.nest.pack(TEMPER_OUT, PackLayout::kPanel, t.n, 8, m)), "not an operand"));
  CHECK(mentions(reason(t.nest.pack(TEMPER_IN_B, PackLayout::kPanel, t.m, 8, m)), "tile of an axis"));
  CHECK(t.nest.pack(TEMPER_IN_B, PackLayout::kPanel, t.n, 8, t.nest.loop_of(t.k)).ok());
}

TEST_CASE("exchange refuses reductions and loops apart; fuse keeps exchanged loops together") {
  MatmulNest t;
  const LoopId m = t.nest.loop_of(t.m), n = t.nest.loop_of(t.n), k = t.nest.loop_of(t.k);
  CHECK(mentions(reason(t.nest.exchange_by(m, k, Amount::argument(9))), "not adjacent"));
  CHECK(mentions(reason(t.nest.exchange_by(n, k, Amount::argument(9))), "spatial"));
  REQUIRE(t.nest.exchange_by(m, n, Amount::argument(9)).ok());
  const Result<LoopId> fused = t.nest.fuse(m, n);
  REQUIRE(fused.ok());
  CHECK(t.nest.loops()[0].exchanged_by == Amount::argument(9));
}

TEST_CASE("a loop that is unrolled, vectorized, parallel or exchanged takes no second form") {
  MatmulNest t;
  const LoopId m = t.nest.loop_of(t.m), k = t.nest.loop_of(t.k);
  const SplitLoops n = *t.nest.split(t.nest.loop_of(t.n), fixed(8));
  REQUIRE(t.nest.reorder({m, n.outer, k, n.inner}).ok());
  REQUIRE(t.nest.pack(TEMPER_IN_B, PackLayout::kConstant, t.n, 8, 0).ok());
  REQUIRE(t.nest.vectorize(n.inner).ok());
  CHECK(mentions(reason(t.nest.unroll(n.inner)), "is vectorized already"));
  CHECK(mentions(reason(t.nest.vectorize(n.inner)), "is vectorized already"));
  REQUIRE(t.nest.exchange_by(m, n.outer, Amount::argument(9)).ok());
  CHECK(mentions(reason(t.nest.exchange_by(m, n.outer, Amount::argument(8))), "exchanged already"));
  CHECK(mentions(reason(t.nest.split(m, fixed(4))), "exchanged already"));
  CHECK(mentions(reason(t.nest.split(n.outer, fixed(16))), "exchanged already"));
  CHECK(mentions(reason(t.nest.reorder({n.outer, k})), "exchanged already"));
  CHECK(mentions(reason(t.nest.unroll(m)), "exchanged"));
  CHECK(mentions(reason(t.nest.parallel(m)), "fuse them first"));
  const LoopId grid = *t.nest.fuse(m, n.outer);
  REQUIRE(t.nest.parallel(grid).ok());
  CHECK(mentions(reason(t.nest.parallel(grid)), "is parallel already"));
  CHECK(mentions(reason(t.nest.unroll(grid)), "is parallel already"));
  CHECK(mentions(reason(t.nest.reorder({k, grid})), "parallel"));
}

TEST_CASE("loops where an operand is packed or the epilogue runs stay, in an order in which that is right") {
  MatmulNest t;
  const SplitLoops m = *t.nest.split(t.nest.loop_of(t.m), fixed(6));
  const SplitLoops k = *t.nest.split(t.nest.loop_of(t.k), fixed(16));
  const LoopId n = t.nest.loop_of(t.n);
  REQUIRE(t.nest.accumulate_in_output(k.outer).ok());
  REQUIRE(t.nest.reorder({m.outer, n, k.outer, m.inner, k.inner}).ok());
  REQUIRE(t.nest.pack(TEMPER_IN_B, PackLayout::kPanel, t.n, 8, k.outer).ok());
  REQUIRE(t.nest.compute_at(m.inner).ok());
  CHECK(mentions(reason(t.nest.split(k.outer, fixed(32))), "split it first"));
  CHECK(mentions(reason(t.nest.split(m.inner, fixed(3))), "epilogue runs"));
  CHECK(mentions(reason(t.nest.fuse(k.inner, m.inner)), "not adjacent"));
  CHECK(mentions(reason(t.nest.reorder({k.inner, m.inner})), "does not enclose"));
  CHECK(mentions(reason(t.nest.reorder({k.outer, n})), "the extent of n inside ko is unknown"));
  CHECK(t.order() == "mo n ko mi ki ");
  REQUIRE(t.nest.compute_at(m.outer).ok());
  CHECK(mentions(reason(t.nest.fuse(m.outer, n)), "epilogue runs at mo"));
  CHECK(t.nest.reorder({k.inner, m.inner}).ok());
}

TEST_CASE("pack refuses what would part the lanes of a vectorized loop") {
  MatmulNest t;
  const LoopId m = t.nest.loop_of(t.m), k = t.nest.loop_of(t.k);
  const SplitLoops n = *t.nest.split(t.nest.loop_of(t.n), fixed(8));
  REQUIRE(t.nest.reorder({m, n.outer, k, n.inner}).ok());
  REQUIRE(t.nest.pack(TEMPER_IN_B, PackLayout::kConstant, t.n, 8, 0).ok());
  REQUIRE(t.nest.vectorize(n.inner).ok());
  CHECK(mentions(reason(t.nest.pack(TEMPER_IN_B, PackLayout::kRows, t.n, 1, k)), "nor packed in panels"));
  CHECK(mentions(reason(t.nest.pack(TEMPER_IN_B, PackLayout::kConstant, t.k, 8, 0)), "nor packed in panels"));
  CHECK(t.nest.pack(TEMPER_IN_B, PackLayout::kPanel, t.n, 16, k).ok());
}

TEST_CASE("the nest of a matmul keeps its register tile innermost and its grid outermost") {
  Workload workload;
  workload.op = Operator::kMatmul;
  workload.matmul = {1, 60, 64, 32, false, false, false, false, false, true};
  const std::vector<int32_t> dims = dims_of(workload);
  const Result<LoopNest> nest = gemm_nest({&dims, {6, 2, 8, 4, kDirect, kConstant, 24, 32, 16, 0}});
  REQUIRE(nest.ok());
  CHECK((*nest).loops().front().kind == LoopKind::kParallel);
  CHECK((*nest).loops().front().parts.size() == 4);
  CHECK((*nest).loops().back().kind == LoopKind::kVectorized);
  CHECK((*nest).copies(kAxisM, LoopKind::kUnrolled) == 6);
  CHECK((*nest).copies(kAxisN, LoopKind::kUnrolled) == 2);
  CHECK((*nest).copies(kAxisK, LoopKind::kUnrolled) == 4);
}

}  // namespace temper
