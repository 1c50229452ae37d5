// The space of kDepthwise: knobs, constraints, default, shape, features and prior.
#include "schedules/template_data.h"

namespace temper {
namespace {

struct DepthwiseTerms {
  explicit DepthwiseTerms(ProgramBuilder& builder);
  FactTerms facts;
  Expr batch, c, out_h, out_w, taps, last;  ///< last: channels are the last dimension (NHWC)
  Expr tile_w, tile_h, vectors, lanes, order, rows_knob;
  Expr extent;  ///< along which vectors run
  Expr block, c_blocks, rows, row_blocks, grid;
  Expr stride_h, stride_w, fits_l2;  ///< fits_l2: image and output together
  Expr pixels_w;                     ///< output pixels along a row in a register tile
};

DepthwiseTerms::DepthwiseTerms(ProgramBuilder& builder)
    : facts(builder),
      batch(builder.dim(kDwBatch)),
      c(builder.dim(kDwC)),
      out_h(builder.dim(kDwOutH)),
      out_w(builder.dim(kDwOutW)),
      taps(builder.dim(kDwKernelH) * builder.dim(kDwKernelW)),
      last(builder.dim(kDwChannelsLast)),
      tile_w(builder.knob(kDwKnobTileW)),
      tile_h(builder.knob(kDwKnobTileH)),
      vectors(builder.knob(kDwKnobVectors)),
      lanes(builder.knob(kDwKnobLanes)),
      order(builder.knob(kDwKnobOrder)),
      rows_knob(builder.knob(kDwKnobRows)),
      extent(select(last, c, out_w)),
      block(select(last, vectors * lanes, 1)),
      c_blocks(ceil_div(c, block)),
      rows(min(rows_knob, out_h)),
      row_blocks(ceil_div(out_h, rows)),
      grid(batch * (c_blocks * row_blocks)),
      stride_h(builder.dim(kDwStrideH)),
      stride_w(builder.dim(kDwStrideW)),
      fits_l2(batch * out_h * out_w * c * 4 * (stride_h * stride_w + 1) / 3 <= facts.l2 / 4),
      pixels_w(select(last, tile_w, tile_w * lanes)) {}

Result<ProgramData> constraint(ConstantPool* pool) {
  ProgramBuilder builder(pool);
  const DepthwiseTerms t(builder);
  const Expr accumulators = t.tile_w * t.tile_h * t.vectors;
  const Expr across = select(t.last, t.vectors, t.tile_w);  // vectors side by side along the extent
  return builder.finish({
      select(t.last, t.tile_w <= t.out_w, t.vectors == 1),
      (across - 1) * t.lanes < t.extent,
      t.tile_h <= t.out_h,
      lanes_legal(t.facts, t.lanes, t.extent),
      accumulators + t.vectors + 1 <= t.facts.registers,
      t.order == 0 || (t.last != 0 && t.c_blocks > 1 && t.row_blocks > 1),
      t.rows_knob == kWhole || (t.rows_knob < t.out_h && t.rows_knob >= t.tile_h),
  });
}

/// Channels last: three pixels of two rows by as many channels as registers hold, evenly; where the tensors are beyond
/// the second cache, four rows of all channels at a time, so that whole pixels pass through the caches. Channels first:
/// four rows a tile, which share the image rows they read, and lanes that waste the fewer columns. Else rows are cut
/// only as far as the threads need.
Result<ProgramData> defaults(ConstantPool* pool) {
  ProgramBuilder builder(pool);
  const DepthwiseTerms t(builder);
  const Expr widest = default_lanes(t.facts, t.extent);
  const Expr half_wastes_less = round_up(t.out_w, widest / 2) < round_up(t.out_w, widest);
  const Expr lanes = select(!t.last && widest >= 8 && half_wastes_less, widest / 2, widest);
  const Expr across = ceil_div(t.extent, lanes);
  const Expr few = t.facts.registers < 8;
  const Expr most_across = select(t.facts.registers >= 29, 4, select(t.facts.registers >= 15, 2, builder.constant(1)));
  const Expr vectors = select(t.last, ceil_div(across, ceil_div(across, most_across)), 1);
  const Expr small = t.facts.l2 == 0;  // a microcontroller: rows that share little are not worth their code
  const Expr tile_h = min(t.out_h, select(few || (small && t.last), 1, select(t.last, 2, builder.constant(4))));
  const Expr most_pixels = select(few, 1, builder.constant(3));
  const Expr most_vectors = select(t.stride_w > 1, 1, min(max((t.facts.registers - 2) / tile_h, 1), 4));
  const Expr along = select(t.last, t.out_w, across);
  const Expr tile_w = ceil_div(along, ceil_div(along, select(t.last, most_pixels, most_vectors)));
  const Expr c_blocks = select(t.last, ceil_div(t.c, vectors * lanes), t.c);
  const Expr pieces = select(t.facts.threads > 1, ceil_div(t.facts.threads * 4, t.batch * c_blocks), 1);
  const Expr rows_outside = t.last && c_blocks > 1 && t.out_h > 4 && !t.fits_l2 && !small;
  const Expr cut = max(ceil_div(t.out_h, pieces), tile_h);
  const Expr rows = select(rows_outside, min(cut, 4), cut);
  return builder.finish({tile_w, tile_h, vectors, lanes, rows_outside, select(rows >= t.out_h, kWhole, rows)});
}

Result<ProgramData> shape(ConstantPool* pool) {
  ProgramBuilder builder(pool);
  const DepthwiseTerms t(builder);
  const Expr packs = t.last != 0 && builder.dim(kDwFilterConstant) != 0 && t.lanes > 1;
  const auto pick = [&](Expr value) { return select(packs, value, 0); };
  const Expr kernel_h = builder.dim(kDwKernelH), kernel_w = builder.dim(kDwKernelW);
  const Expr none = builder.constant(0);
  return builder.finish({t.grid, none, select(packs, TEMPER_IN_B, TEMPER_TENSOR_COUNT), select(packs, 1, 0), none,
                         pick(t.c), pick(t.taps), pick(t.block), select(packs, 1, 0), none, pick(kernel_h),
                         pick(kernel_w), pick(kernel_w), select(packs, 1, 0)});
}

/// 2^-16 cycles per useful multiply-add: multiply-adds, latency, loads of a tile's tap, tile entry and exit, half the
/// waste in tails.
Expr tile_time(const DepthwiseTerms& t) {
  const Expr accumulators = t.tile_w * t.tile_h * t.vectors;
  const Expr multiply_adds = ceil_div(accumulators * 256, t.facts.per_cycle);
  // Rows of a tile share image rows. Along columns, vectors straddle cache lines, and strided ones are gathered.
  const Expr kernel_h = t.taps.builder->dim(kDwKernelH);
  const Expr image_rows = (t.tile_h - 1) * t.stride_h + kernel_h;
  const Expr apiece = select(t.last, 1, t.stride_w * 2);
  const Expr loads = t.tile_w * t.vectors * image_rows * apiece / kernel_h + t.vectors;
  const Expr busy = select(t.facts.wide, max(multiply_adds, loads * 128), multiply_adds + loads * 256);
  const Expr waits = t.facts.latency * t.facts.latency * t.facts.per_cycle * 64 / accumulators;
  const Expr step = max(busy, t.facts.latency * 256) + waits + (accumulators * 2 + 20) * 256 / t.taps;
  const auto waste = [](Expr extent, Expr tile) { return (extent + round_up(extent, tile)) * 32 / extent; };
  const Expr across = select(t.last, waste(t.c, t.lanes), waste(t.out_w, t.lanes));
  return step * 256 / (accumulators * t.lanes) * (waste(t.out_w, t.pixels_w) * waste(t.c, t.block) / 64) / 64 *
         (waste(t.rows, t.tile_h) * across / 64) / 64;
}

/// Image and output pass through the caches once; a channel block after the other wastes parts of their lines, unless
/// they are taken together, as microcontrollers do.
Expr traffic(ProgramBuilder& builder, const DepthwiseTerms& t) {
  const Expr inputs = t.stride_h * t.stride_w;
  const Expr rate = select(t.facts.l1 == 0, 0, select(t.fits_l2, 1024, builder.constant(4096)));
  const Expr strided = t.last && t.c_blocks > 1 && t.order == 0 && t.facts.l2 > 0;
  return rate * (inputs + 1) * select(strided, 6, 4) / t.taps;
}

Expr imbalance(const DepthwiseTerms& t) {
  const Expr rounds = ceil_div(t.grid, t.facts.threads);
  return min(rounds, 1 << 16) * t.facts.threads * 256 / max(min(t.grid, t.facts.threads * (1 << 16)), 1);
}

Expr item_time(ProgramBuilder& builder, const DepthwiseTerms& t) {
  const Expr outputs = t.rows * t.out_w * t.block;
  return builder.constant(200 << 16) / max(outputs, 1) / t.taps;
}

Result<ProgramData> prior(ConstantPool* pool) {
  ProgramBuilder builder(pool);
  const DepthwiseTerms t(builder);
  return builder.finish({log2(tile_time(t) + traffic(builder, t) + item_time(builder, t)) + log2(imbalance(t))});
}

Result<ProgramData> features(ConstantPool* pool) {
  ProgramBuilder builder(pool);
  const DepthwiseTerms t(builder);
  const auto log_of = [](Expr value) { return feature_log(value, 0); };
  const Expr accumulators = t.tile_w * t.tile_h * t.vectors;
  return builder.finish({log_of(t.batch),
                         log_of(t.c),
                         log_of(t.out_h),
                         log_of(t.out_w),
                         log_of(t.taps),
                         log_of(builder.dim(kDwStrideW)),
                         t.last * 64,
                         log_of(t.tile_w),
                         log_of(t.tile_h),
                         log_of(t.vectors),
                         log_of(t.lanes),
                         t.order * 64,
                         log_of(t.rows),
                         log_of(t.grid),
                         log_of(accumulators),
                         log_of(t.pixels_w),
                         feature_log(tile_time(t), 64),
                         feature_log(traffic(builder, t), 0),
                         feature_log(imbalance(t), 64),
                         log_of(t.facts.vector_lanes),
                         log_of(t.facts.registers),
                         log_of(t.facts.threads)});
}

}  // namespace

Result<TemplateData> depthwise_template() {
  TemplateData data{TemplateId::kDepthwise, 1, "depthwise", kDwDimCount, {}, {}, {}, {}, {}, {}, {}};
  data.knobs = {
      {KnobKind::kCompile, "tile_w", {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14}},
      {KnobKind::kCompile, "tile_h", {1, 2, 3, 4}},
      {KnobKind::kCompile, "vectors", {1, 2, 3, 4}},
      {KnobKind::kCompile, "lanes", {1, 4, 8, 16}},
      {KnobKind::kRun, "order", {0, 1}},
      {KnobKind::kRun, "rows", {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128, kWhole}},
  };
  return with_programs(std::move(data), constraint, defaults, shape, features, prior);
}

}  // namespace temper
