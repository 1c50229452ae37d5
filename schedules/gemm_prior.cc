// The analytic prior and the feature vector of kGemm. The prior adds up time per multiply-add in units of 2^-16 cycles,
// so that integers stay in range for every size, and takes one logarithm at the end: terms that are the same for all
// configs of a workload are left out. Rates of caches are for out-of-order cores of the last ten years, halved where
// prefetching hides part of them; on boards without caches they vanish and arithmetic, packing and loop control decide.
#include "schedules/gemm_terms.h"

namespace temper {
namespace {

struct PriorTerms {
  PriorTerms(ProgramBuilder& builder)
      : facts(builder), dims(builder), knobs(builder), blocks(dims, knobs), tile(knobs.tile_m * blocks.tile_n) {}
  FactTerms facts;
  GemmDims dims;
  GemmKnobs knobs;
  GemmBlocks blocks;
  Expr tile;  ///< outputs of a register tile
};

/// Bytes that a core moves while nothing else runs cost this, in 2^-16 cycles, by where `bytes` of data stay between
/// uses.
Expr byte_cost(const FactTerms& facts, Expr memory, Expr bytes) {
  const Expr beyond = select(bytes <= facts.l3, 4096, memory);
  const Expr second = select(bytes / 3 <= facts.l2 / 4, 512, beyond);
  return select(facts.l1 == 0 || bytes <= facts.l1 / 2, 0, second);
}

/// Bytes from memory: the copy rate, halved for prefetching.
Expr memory_cost(ProgramBuilder& builder) {
  const Expr khz = builder.fact(TEMPER_FACT_CLOCK_KHZ), mb_s = max(builder.fact(TEMPER_FACT_COPY_MB_S), 1);
  return min(max(khz * 32 / mb_s, 4096), 1 << 18);
}

/// An extent with its tail. Baked code computes tails nearly exactly, code with run-time dims as whole tiles: half the
/// waste is charged.
Expr effective_extent(Expr extent, Expr padded) { return (extent + padded) / 2; }

/// Register tiles: steady rate, loop control, entry and exit of each pass, and the tails.
Expr arithmetic(const PriorTerms& t) {
  const Expr tile_vectors = t.knobs.tile_m * t.knobs.vectors;
  const Expr multiply_adds = ceil_div(tile_vectors * 256, t.facts.per_cycle);
  const Expr loads = t.knobs.tile_m + t.knobs.vectors;
  const Expr busy = select(t.facts.wide, max(multiply_adds, loads * 128), multiply_adds + loads * 256);
  // Chains a little longer than the latency still wait now and then; observed on out-of-order cores, fades with their
  // number.
  const Expr in_flight = t.facts.latency * t.facts.per_cycle;
  const Expr steady = max(busy, t.facts.latency * 256) + t.facts.latency * in_flight * 64 / tile_vectors;
  const Expr control = select(t.facts.wide, 64, 768) / t.knobs.unroll_k;
  const Expr pass = (tile_vectors * 2 + 24) * 256;
  const Expr step = steady + control + pass * t.blocks.k_blocks / t.dims.k;
  const Expr rows = effective_extent(t.dims.m, t.blocks.padded_m);
  const Expr columns = effective_extent(round_up(t.dims.n, t.knobs.lanes), t.blocks.padded_n);
  return step * 256 / t.tile * (rows * 64 / t.dims.m * (columns * 64 / t.dims.n) / 64) / 64;
}

/// Packing in the kernel: each element of A once per block of columns, each of B once per block of rows. Cycles * 16
/// per element.
Expr packing(const PriorTerms& t) {
  const Expr rows_a = select(t.dims.image_is_a, 8, 5);
  const Expr a = select(t.knobs.a == kPanel, rows_a + 12, rows_a);
  const Expr b = select(t.dims.image_is_b, 12, select(t.dims.b_n_stride == 1, 4, 24));
  const Expr slow = select(t.facts.wide, 1, 4) * 4096;
  return select(t.blocks.a_packed, a * slow * t.blocks.n_blocks / t.dims.n, 0) +
         select(t.blocks.b_packed, b * slow * t.blocks.m_blocks / t.dims.m, 0);
}

/// Waiting for caches: the panel that stays, the block that moves past it, blocks read again by later work items, and
/// the output that each pass over k reads and writes.
Expr waiting(const PriorTerms& t, Expr memory) {
  const auto cost = [&](Expr bytes) { return byte_cost(t.facts, memory, bytes); };
  const Expr row_panel = t.knobs.tile_m * t.blocks.block_k * 4, column_panel = t.blocks.tile_n * t.blocks.block_k * 4;
  const Expr a_block = t.blocks.block_m * t.blocks.block_k * 4, b_block = t.blocks.block_n * t.blocks.block_k * 4;
  // A block packed beyond the first cache is written to the next and read back once.
  const Expr repacked = select(t.blocks.a_packed, cost(a_block) * 8 * t.blocks.n_blocks / t.dims.n, 0);
  const Expr n_inner = t.knobs.inner != 0;
  // Rows of B a multiple of 1 KiB apart crowd into few cache sets.
  const Expr crowded = t.knobs.b == kDirect && t.dims.b_k_stride % t.dims.b_k_stride.builder->constant(256) == 0;
  const Expr stays = select(n_inner, row_panel, column_panel * select(crowded, 4, 1)),
             moves = select(n_inner, b_block, a_block);
  const Expr stays_width = select(n_inner, t.blocks.tile_n, t.knobs.tile_m);
  const Expr moves_width = select(n_inner, t.knobs.tile_m, t.blocks.tile_n);
  // What is used once has to come from memory anyway.
  const Expr again_stays = select(n_inner, t.blocks.block_n > t.blocks.tile_n, t.blocks.block_m > t.knobs.tile_m);
  const Expr again_moves = select(n_inner, t.blocks.block_m > t.knobs.tile_m, t.blocks.block_n > t.blocks.tile_n);
  const Expr tiles = again_stays * cost(stays) * 4 / stays_width + again_moves * cost(moves) * 4 / moves_width;
  const Expr a_again = cost(t.blocks.block_m * t.dims.k * 4) * 4 * t.blocks.n_blocks / t.dims.n;
  const Expr b_again = cost(t.dims.n * t.dims.k * 4) * 4 * t.blocks.m_blocks / t.dims.m;
  const Expr output = cost(t.blocks.block_m * t.blocks.block_n * 4) * 8 * (t.blocks.k_blocks - 1) / t.dims.k;
  return tiles + repacked + a_again + b_again + output;
}

/// Share of the time that threads wait for the last one, Q8, at least 256.
Expr imbalance(const PriorTerms& t) {
  const Expr rounds = ceil_div(t.blocks.grid, t.facts.threads);
  return min(rounds, 1 << 16) * t.facts.threads * 256 / max(min(t.blocks.grid, t.facts.threads * (1 << 16)), 1);
}

}  // namespace

Result<ProgramData> gemm_prior(ConstantPool* pool) {
  ProgramBuilder builder(pool);
  const PriorTerms t(builder);
  const Expr item = builder.constant(300 << 16) / (t.blocks.block_m * t.blocks.block_n) / t.dims.k;
  const Expr time = arithmetic(t) + packing(t) + waiting(t, memory_cost(builder)) + item;
  return builder.finish({log2(time) + log2(imbalance(t))});
}

Result<ProgramData> gemm_features(ConstantPool* pool) {
  ProgramBuilder builder(pool);
  const PriorTerms t(builder);
  const auto log_of = [](Expr value) { return feature_log(value, 0); };
  const auto ratio = [](Expr part, Expr whole) { return (log2(part) - log2(whole)) / 16 + 128; };
  const Expr row_panel = t.knobs.tile_m * t.blocks.block_k * 4, column_panel = t.blocks.tile_n * t.blocks.block_k * 4;
  const Expr a_block = t.blocks.block_m * t.blocks.block_k * 4, b_block = t.blocks.block_n * t.blocks.block_k * 4;
  return builder.finish({
      log_of(t.dims.batch),
      log_of(t.dims.m),
      log_of(t.dims.n),
      log_of(t.dims.k),
      t.dims.image_is_a * 64 + t.dims.image_is_b * 128,
      log_of(t.knobs.tile_m),
      log_of(t.knobs.vectors),
      log_of(t.knobs.lanes),
      log_of(t.knobs.unroll_k),
      t.knobs.a * 64,
      t.knobs.b * 64,
      t.knobs.inner * 64,
      log_of(t.blocks.block_m),
      log_of(t.blocks.block_n),
      log_of(t.blocks.block_k),
      log_of(t.blocks.k_blocks),
      log_of(t.blocks.grid),
      log_of(t.tile),
      ratio(t.tile, t.knobs.tile_m + t.blocks.tile_n),
      ratio(t.knobs.tile_m * t.knobs.vectors, t.facts.latency * t.facts.per_cycle),
      ratio(t.blocks.padded_m * 16, t.dims.m),
      ratio(t.blocks.padded_n * 16, t.dims.n),
      ratio(row_panel, t.facts.l1),
      ratio(column_panel, t.facts.l1),
      ratio(a_block, t.facts.l2),
      ratio(b_block, t.facts.l2),
      ratio(t.dims.n * t.dims.k, t.facts.l3 / 4),
      ratio(t.dims.m * t.dims.k, t.facts.l3 / 4),
      ratio(imbalance(t), builder.constant(256)),
      feature_log(arithmetic(t), 64),
      feature_log(packing(t), 0),
      log_of(t.facts.vector_lanes),
      log_of(t.facts.registers),
      log_of(t.facts.threads),
  });
}

}  // namespace temper
