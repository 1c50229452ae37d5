// The default of kGemm: classical analytic blocking (K. Goto, R. van de Geijn, "Anatomy of high-performance matrix
// multiplication", 2008; T. Low et al., "Analytical modeling is enough for high-performance BLIS", 2016) from the facts
// and dims alone.
#include "schedules/gemm_terms.h"

namespace temper {
namespace {

struct Tile {
  Expr m, vectors, lanes;
  Expr m_tiles, n_tiles;
};

/// Cycles * 16 that one k step of a register tile costs: multiply-adds, their latency, and loads (two a cycle where
/// wide; beside the multiply-adds where not).
Expr step_cost(const FactTerms& facts, Expr tile_m, int32_t vectors) {
  const Expr multiply_adds = ceil_div(tile_m * (16 * vectors), facts.per_cycle);
  const Expr loads = tile_m + vectors;
  const Expr steady = select(facts.wide, max(multiply_adds, loads * 8), multiply_adds + loads * 16);
  return max(steady, facts.latency * 16);
}

/// The register tile with the least arithmetic time, waste in the tails counted. Of equals two vectors win: fewer loads
/// than one, more rows that share a vector than three or four. Tails of extents beyond 1024 vectors or rows do not
/// matter.
Tile choose_tile(ProgramBuilder& builder, const FactTerms& facts, const GemmDims& dims) {
  const Expr lanes = default_lanes(facts, dims.n);
  const Expr n_vectors = ceil_div(dims.n, lanes);
  const Expr rows = min(dims.m, 1024), columns = min(n_vectors, 1024);
  Expr best_m, best_vectors, best_cost;
  for (int32_t vectors : {1, 2, 3, 4}) {
    const Expr most = min((facts.registers - (1 + vectors)) / builder.constant(vectors), 14);
    const Expr tiles = ceil_div(rows, most);
    const Expr tile_m = ceil_div(rows, tiles);
    const Expr padded =
        columns + round_up(columns, builder.constant(vectors));  // half of the waste, see effective_extent
    const Expr cost = step_cost(facts, tile_m, vectors) * tiles * (padded * (12 / vectors));
    if (vectors == 1) {
      best_m = tile_m;
      best_vectors = builder.constant(1);
      best_cost = cost;
      continue;
    }
    const Expr fits = n_vectors >= vectors && most > 0;
    const Expr better = fits && (vectors == 2 ? cost <= best_cost : cost < best_cost);
    best_cost = select(better, cost, best_cost);
    best_m = select(better, tile_m, best_m);
    best_vectors = select(better, vectors, best_vectors);
  }
  return {best_m, best_vectors, lanes, ceil_div(dims.m, best_m), ceil_div(n_vectors, best_vectors)};
}

struct Operands {
  Expr a, b, a_packed, b_packed;
};

/// Constants are packed once. Others are read in place where strides allow and packing would not pay: a packed element
/// should be used by several tiles. In place, the rows of B that a tile reads must be few, and not so far apart that
/// they share cache sets.
Operands choose_operands(const GemmDims& dims, const Tile& tile) {
  const Expr apart = dims.b_k_stride % dims.b_k_stride.builder->constant(256);
  const Expr b_direct = dims.plain && dims.b_n_stride == 1 && (tile.m_tiles < 4 || (dims.k <= 256 && apart != 0));
  const Expr b = select(dims.b_constant, kConstant, select(b_direct, kDirect, kPanel));
  const Expr a_constant = dims.a_constant && b != kConstant;
  const Expr a_panel = dims.a_k_stride != 1 && tile.n_tiles >= 4;
  const Expr a = select(a_constant, kConstant, select(dims.image_is_a, kRows, select(a_panel, kPanel, kDirect)));
  return {a, b, a == kPanel || a == kRows, b == kPanel};
}

/// kWhole, or a depth below K: a panel of B stays in half of the first cache, or, between once and twice that, all of
/// K.
Expr choose_block_k(const FactTerms& facts, const GemmDims& dims, const Tile& tile, const Operands& operands) {
  const Expr tile_n = tile.vectors * tile.lanes;
  const Expr by_cache = select(facts.l1 == 0 || tile.m_tiles == 1, kWhole, max(facts.l1 / (tile_n * 8), 64));
  const Expr by_workspace =
      select(operands.a_packed || operands.b_packed, gemm_workspace_limit(facts) / (max(tile.m, tile_n) * 10), kWhole);
  const Expr depth = min(by_cache, by_workspace);
  const Expr passes = ceil_div(dims.k, depth);
  // An eighth more, since the wish falls to the listed depth below it.
  const Expr even = min(ceil_div(dims.k, passes) * 9 / 8, depth);
  return select(dims.k <= min(by_cache * 2, by_workspace), kWhole, even);
}

/// A block of so many tiles (at least one), or kWhole when that is all of them.
Expr block_of_tiles(Expr tiles, Expr tile, Expr all_tiles) {
  const Expr some = max(tiles, 1);
  return select(some >= all_tiles, kWhole, some * tile);
}

}  // namespace

Result<ProgramData> gemm_defaults(ConstantPool* pool) {
  ProgramBuilder builder(pool);
  const FactTerms facts(builder);
  const GemmDims dims(builder);
  const Tile tile = choose_tile(builder, facts, dims);
  const Operands operands = choose_operands(dims, tile);
  const Expr block_k = choose_block_k(facts, dims, tile, operands);
  const Expr tile_n = tile.vectors * tile.lanes;
  // Half of the last private cache, or of the workspace, holds a block; half of the first where a packed row is used
  // but once or twice.
  const Expr first = select(facts.l1 > 0, facts.l1, 32 << 10);
  const Expr cache = select((operands.a_packed && tile.n_tiles <= 2) || facts.l2 == 0, first, facts.l2);
  const Expr block_rows = cache / (min(block_k, dims.k) * 10);
  const Expr all_m = select(operands.b_packed && !operands.a_packed, tile.m_tiles, block_rows / tile.m);
  const Expr all_n = select(operands.b_packed, block_rows / tile_n, tile.n_tiles);
  // Work items: about four for each thread, cut where cutting repeats no packing.
  const Expr pieces = select(facts.threads > 1, ceil_div(facts.threads * 4, dims.batch), 1);
  const Expr cut_n = operands.b_packed || tile.m_tiles < facts.threads * 2;
  const Expr m_tiles = min(all_m, select(cut_n, tile.m_tiles, ceil_div(tile.m_tiles, pieces)));
  const Expr n_tiles = min(all_n, select(cut_n, ceil_div(tile.n_tiles, pieces), tile.n_tiles));
  return builder.finish({
      tile.m,
      tile.vectors,
      tile.lanes,
      min(dims.k, 4),
      operands.a,
      operands.b,
      block_of_tiles(m_tiles, tile.m, tile.m_tiles),
      block_of_tiles(n_tiles, tile_n, tile.n_tiles),
      block_k,
      builder.constant(0),
  });
}

}  // namespace temper
