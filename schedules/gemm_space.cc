#include "schedules/gemm_terms.h"

namespace temper {

GemmDims::GemmDims(ProgramBuilder& builder)
    : batch(builder.dim(kGemmBatch)),
      m(builder.dim(kGemmM)),
      n(builder.dim(kGemmN)),
      k(builder.dim(kGemmK)),
      image_is_a(builder.dim(kGemmView) == kViewImageIsA),
      image_is_b(builder.dim(kGemmView) == kViewImageIsB),
      plain(builder.dim(kGemmView) == kViewPlain),
      a_constant(builder.dim(kGemmAConstant)),
      b_constant(builder.dim(kGemmBConstant)),
      a_k_stride(builder.dim(kGemmAK)),
      b_k_stride(builder.dim(kGemmBK)),
      b_n_stride(builder.dim(kGemmBN)) {}

GemmKnobs::GemmKnobs(ProgramBuilder& builder)
    : tile_m(builder.knob(kKnobTileM)),
      vectors(builder.knob(kKnobTileVectors)),
      lanes(builder.knob(kKnobLanes)),
      unroll_k(builder.knob(kKnobUnrollK)),
      a(builder.knob(kKnobA)),
      b(builder.knob(kKnobB)),
      block_m(builder.knob(kKnobBlockM)),
      block_n(builder.knob(kKnobBlockN)),
      block_k(builder.knob(kKnobBlockK)),
      inner(builder.knob(kKnobInnerLoop)) {}

namespace {
Expr padded_bytes(Expr floats) { return round_up(floats * 4, floats.builder->constant(64)); }
}  // namespace

GemmBlocks::GemmBlocks(const GemmDims& dims, const GemmKnobs& knobs)
    : tile_n(knobs.vectors * knobs.lanes),
      padded_m(round_up(dims.m, knobs.tile_m)),
      padded_n(round_up(dims.n, tile_n)),
      block_m(min(round_up(knobs.block_m, knobs.tile_m), padded_m)),
      block_n(min(round_up(knobs.block_n, tile_n), padded_n)),
      block_k(min(knobs.block_k, dims.k)),
      m_blocks(ceil_div(dims.m, block_m)),
      n_blocks(ceil_div(dims.n, block_n)),
      k_blocks(ceil_div(dims.k, block_k)),
      a_packed(knobs.a == kPanel || knobs.a == kRows),
      b_packed(knobs.b == kPanel),
      grid(dims.batch * (m_blocks * n_blocks)),
      workspace_bytes(select(a_packed, padded_bytes(block_m * block_k), 0) +
                      select(b_packed, padded_bytes(block_n * block_k), 0)) {}

Expr gemm_workspace_limit(const FactTerms& facts) { return min(max(max(facts.l2, facts.l1) * 2, 32 << 10), 16 << 20); }

Result<ProgramData> gemm_constraint(ConstantPool* pool) {
  ProgramBuilder builder(pool);
  const FactTerms facts(builder);
  const GemmDims dims(builder);
  const GemmKnobs knobs(builder);
  const GemmBlocks blocks(dims, knobs);
  // A vector of B per column, one broadcast of A, and the accumulators.
  const Expr registers = knobs.tile_m * knobs.vectors + knobs.vectors + 1;
  const Expr a_unpacked =
      (knobs.a == kDirect && !dims.image_is_a) || (knobs.a == kConstant && dims.a_constant && knobs.b != kConstant);
  const Expr a_packs = knobs.a == kPanel || (knobs.a == kRows && dims.image_is_a);
  const Expr b_reads = (knobs.b == kDirect && dims.plain && (dims.b_n_stride == 1 || knobs.lanes == 1)) ||
                       (knobs.b == kConstant && dims.b_constant) || knobs.b == kPanel;
  // Block lists are powers of two: of the values that round to one tile, the one in (tile / 2, tile] stands for all.
  const Expr m_distinct =
      knobs.block_m == kWhole || (knobs.block_m * 2 > knobs.tile_m && blocks.block_m < blocks.padded_m);
  const Expr n_distinct =
      knobs.block_n == kWhole || (knobs.block_n * 2 > blocks.tile_n && blocks.block_n < blocks.padded_n);
  const Expr k_distinct = knobs.block_k == kWhole || knobs.block_k < dims.k;
  const Expr inner_matters = blocks.block_m > knobs.tile_m && blocks.block_n > blocks.tile_n;
  return builder.finish({
      knobs.tile_m <= dims.m,
      (knobs.vectors - 1) * knobs.lanes < dims.n,
      lanes_legal(facts, knobs.lanes, dims.n),
      registers <= facts.registers,
      knobs.unroll_k <= dims.k,
      a_unpacked || a_packs,
      b_reads,
      m_distinct,
      n_distinct,
      k_distinct,
      knobs.inner == 0 || inner_matters,
      blocks.workspace_bytes <= gemm_workspace_limit(facts),
  });
}

Result<ProgramData> gemm_shape(ConstantPool* pool) {
  ProgramBuilder builder(pool);
  const GemmDims dims(builder);
  const GemmKnobs knobs(builder);
  const GemmBlocks blocks(dims, knobs);
  const auto dim = [&](GemmDim which) { return builder.dim(which); };
  const Expr packs_a = knobs.a == kConstant;
  const Expr packs = packs_a || knobs.b == kConstant;
  const Expr source_a = dim(kGemmASource);
  const Expr source_b = builder.constant(TEMPER_IN_A + TEMPER_IN_B) - source_a;
  const auto pick = [&](Expr of_a, Expr of_b) { return select(packs, select(packs_a, of_a, of_b), 0); };
  // The filter of an NHWC convolution is OIHW, but its k runs over kernel rows, kernel columns, channels.
  const Expr by_taps = dims.image_is_a && knobs.b == kConstant;
  const Expr k_stride = pick(dim(kGemmAK), dim(kGemmBK));
  return builder.finish({
      blocks.grid,
      blocks.workspace_bytes,
      select(packs, pick(source_a, source_b), TEMPER_TENSOR_COUNT),
      select(packs, dim(kGemmBatchInner), 0),
      pick(dim(kGemmAInner), dim(kGemmBInner)),
      pick(dims.m, dims.n),
      pick(dim(kGemmAM), dim(kGemmBN)),
      pick(knobs.tile_m, blocks.tile_n),
      select(by_taps, dim(kGemmKernelH), select(packs, 1, 0)),
      select(by_taps, dim(kGemmKernelW), 0),
      select(by_taps, dim(kGemmKernelW), select(packs, 1, 0)),
      select(by_taps, 1, 0),
      select(by_taps, dim(kGemmImageC), select(packs, dims.k, 0)),
      k_stride,
  });
}

Result<TemplateData> gemm_template() {
  TemplateData data{TemplateId::kGemm, 1, "gemm", kGemmDimCount, {}, {}, {}, {}, {}, {}, {}};
  const std::vector<uint16_t> powers = {1,   2,    4,    8,    16,   32,    64,    128,   256,
                                        512, 1024, 2048, 4096, 8192, 16384, 32768, kWhole};
  data.knobs = {
      {KnobKind::kCompile, "tile_m", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}},
      {KnobKind::kCompile, "vectors", {1, 2, 3, 4}},
      {KnobKind::kCompile, "lanes", {1, 4, 8, 16}},
      {KnobKind::kCompile, "unroll_k", {1, 2, 4, 8}},
      {KnobKind::kCompile, "a", {kDirect, kPanel, kRows, kConstant}},
      {KnobKind::kCompile, "b", {kDirect, kPanel, kConstant}},
      {KnobKind::kRun, "block_m", powers},
      {KnobKind::kRun, "block_n", powers},
      {KnobKind::kRun,
       "block_k",
       {16, 32, 64, 96, 128, 160, 192, 224, 256, 320, 384, 448, 512, 768, 1024, 2048, kWhole}},
      {KnobKind::kRun, "inner", {0, 1}},
  };
  return with_programs(std::move(data), gemm_constraint, gemm_defaults, gemm_shape, gemm_features, gemm_prior);
}

}  // namespace temper
