#include "schedules/nests.h"

namespace temper {
namespace {

struct GemmKnobs {
  int32_t tile_m, vectors, lanes, unroll_k;
  GemmOperand a, b;
};

Amount batch_outer(const NestInput& input) {
  const std::optional<int32_t> batch = input.known(kGemmBatch), inner = input.known(kGemmBatchInner);
  return batch && inner ? Amount::constant(*batch / *inner) : Amount::quotient(kGemmBatch, kGemmBatchInner);
}

ImageView image_view(const NestInput& input, GemmView view) {
  ImageView image;
  image.enabled = input.dim(kGemmView);
  image.enabled_value = view;
  image.channels_last = view == kViewImageIsA;
  image.height = input.dim(kGemmImageH);
  image.width = input.dim(kGemmImageW);
  image.out_width = input.dim(kGemmOutW);
  image.kernel_h = input.dim(kGemmKernelH);
  image.kernel_w = input.dim(kGemmKernelW);
  image.stride_h = input.dim(kGemmStrideH);
  image.stride_w = input.dim(kGemmStrideW);
  image.pad_top = input.dim(kGemmPadTop);
  image.pad_left = input.dim(kGemmPadLeft);
  image.dilation_h = input.dim(kGemmDilationH);
  image.dilation_w = input.dim(kGemmDilationW);
  image.channels = input.dim(kGemmImageC);
  image.channel_stride = input.dim(kGemmImageChannelStride);
  image.row_stride = input.dim(kGemmImageRowStride);
  image.pixel_stride = input.dim(kGemmImagePixelStride);
  return image;
}

void add_operands(LoopNest& nest, const NestInput& input, const GemmKnobs& knobs) {
  Access a;
  a.tensor = TEMPER_IN_A;
  a.terms = {{kAxisOuter, input.dim(kGemmAOuter)},
             {kAxisInner, input.dim(kGemmAInner)},
             {kAxisM, input.dim(kGemmAM)},
             {kAxisK, input.dim(kGemmAK)}};
  if (knobs.a == kPanel || knobs.a == kRows || input.is(kGemmView, kViewImageIsA)) {
    a.image = image_view(input, kViewImageIsA);
  }
  Access b;
  b.tensor = TEMPER_IN_B;
  // In place, B is contiguous along n unless it is read element by element: a constraint of the space where strides are
  // arguments.
  const bool contiguous = input.dims == nullptr && knobs.b == kDirect && knobs.lanes > 1;
  const Amount b_stride = contiguous ? Amount::constant(1) : input.dim(kGemmBN);
  b.strided_vectors = knobs.lanes == 1;
  b.terms = {{kAxisOuter, input.dim(kGemmBOuter)},
             {kAxisInner, input.dim(kGemmBInner)},
             {kAxisK, input.dim(kGemmBK)},
             {kAxisN, b_stride}};
  if (knobs.b == kPanel || input.is(kGemmView, kViewImageIsB)) {
    b.image = image_view(input, kViewImageIsB);
    b.filter_of = image_view(input, kViewImageIsA);
  }
  Access out;
  out.tensor = TEMPER_OUT;
  // Templates place n along the contiguous dimension of the output, always.
  const Amount out_stride = input.dims == nullptr ? Amount::constant(1) : input.dim(kGemmCN);
  out.terms = {{kAxisOuter, input.dim(kGemmCOuter)},
               {kAxisInner, input.dim(kGemmCInner)},
               {kAxisM, input.dim(kGemmCM)},
               {kAxisN, out_stride}};
  nest.add_access(a);
  nest.add_access(b);
  nest.add_access(out);
  nest.set_epilogue({input.dim(kGemmBias), input.dim(kGemmBiasInner), input.dim(kGemmAddend),
                     input.dim(kGemmActivation), input.dim(kGemmClipLow), input.dim(kGemmClipHigh), 0});
}

std::optional<Error> check_operands(const NestInput& input, const GemmKnobs& knobs) {
  const auto refuse = [](const char* reason) { return Error{TEMPER_UNSUPPORTED, reason}; };
  if (knobs.a == kConstant && knobs.b == kConstant) {
    return refuse("kGemm: at most one operand is packed as a constant");
  }
  if (knobs.b == kRows || knobs.a > kConstant || knobs.b > kConstant || knobs.a < kDirect || knobs.b < kDirect) {
    return refuse("kGemm: operand knob: A is direct, panel, rows or constant; B is direct, panel or constant");
  }
  if ((knobs.a == kConstant && input.is(kGemmAConstant, 0)) || (knobs.b == kConstant && input.is(kGemmBConstant, 0))) {
    return refuse("kGemm: an operand packed as a constant is not known before execution");
  }
  if (input.is_not(kGemmView, kViewImageIsA) && knobs.a == kRows) {
    return refuse("kGemm: A is packed in rows only where it is an image");
  }
  if (input.is(kGemmView, kViewImageIsA) && knobs.a != kPanel && knobs.a != kRows) {
    return refuse("kGemm: A is an image and must be packed in panels or rows");
  }
  if (input.is(kGemmView, kViewImageIsA) && knobs.b == kDirect) {
    return refuse("kGemm: B is the filter of an image and cannot be read in place");
  }
  if (input.is(kGemmView, kViewImageIsB) && knobs.b != kPanel) {
    return refuse("kGemm: B is an image and must be packed in panels");
  }
  return std::nullopt;
}

PackLayout layout_of(GemmOperand operand) {
  constexpr PackLayout kLayouts[] = {PackLayout::kInPlace, PackLayout::kPanel, PackLayout::kRows,
                                     PackLayout::kConstant};
  return kLayouts[operand];
}

}  // namespace

Result<LoopNest> gemm_nest(const NestInput& input) {
  const std::vector<int32_t>& values = input.knobs;
  const GemmKnobs knobs = {values[kKnobTileM],
                           values[kKnobTileVectors],
                           values[kKnobLanes],
                           values[kKnobUnrollK],
                           static_cast<GemmOperand>(values[kKnobA]),
                           static_cast<GemmOperand>(values[kKnobB])};
  if (std::optional<Error> error = check_operands(input, knobs)) {
    return *error;
  }
  LoopNest nest;
  nest.add_axis("outer", AxisKind::kSpatial, batch_outer(input));
  nest.add_axis("inner", AxisKind::kSpatial, input.dim(kGemmBatchInner));
  nest.add_axis("m", AxisKind::kSpatial, input.dim(kGemmM));
  nest.add_axis("n", AxisKind::kSpatial, input.dim(kGemmN));
  nest.add_axis("k", AxisKind::kReduction, input.dim(kGemmK));
  add_operands(nest, input, knobs);

  const auto run = [&](GemmKnob knob) { return input.run_knob(knob, kGemmDimCount); };
  const auto fixed = [](int32_t value) { return Chunk{Amount::constant(value), 1}; };
  const int32_t tile_n = knobs.vectors * knobs.lanes;
  PrimitiveChain chain;
  const LoopId outer = nest.loop_of(kAxisOuter), inner = nest.loop_of(kAxisInner);
  const SplitLoops m = chain.take(nest.split(nest.loop_of(kAxisM), {run(kKnobBlockM), knobs.tile_m}));
  const SplitLoops m_tile = chain.take(nest.split(m.inner, fixed(knobs.tile_m)));
  const SplitLoops n = chain.take(nest.split(nest.loop_of(kAxisN), {run(kKnobBlockN), tile_n}));
  const SplitLoops n_tile = chain.take(nest.split(n.inner, fixed(tile_n)));
  const SplitLoops n_vector = chain.take(nest.split(n_tile.inner, fixed(knobs.lanes)));
  const SplitLoops k = chain.take(nest.split(nest.loop_of(kAxisK), {run(kKnobBlockK), 1}));
  const SplitLoops k_unroll = chain.take(nest.split(k.inner, fixed(knobs.unroll_k)));
  chain.take(nest.accumulate_in_output(k.outer));
  chain.take(nest.reorder({outer, inner, m.outer, n.outer, k.outer, n_tile.outer, m_tile.outer, k_unroll.outer,
                           k_unroll.inner, m_tile.inner, n_vector.outer, n_vector.inner}));
  chain.take(nest.exchange_by(n_tile.outer, m_tile.outer, run(kKnobInnerLoop)));
  if (knobs.a != kDirect) {
    chain.take(nest.pack(TEMPER_IN_A, layout_of(knobs.a), kAxisM, knobs.a == kRows ? 1 : knobs.tile_m, k.outer));
  }
  if (knobs.b != kDirect) {
    chain.take(nest.pack(TEMPER_IN_B, layout_of(knobs.b), kAxisN, tile_n, k.outer));
  }
  chain.take(nest.vectorize(n_vector.inner));
  chain.take(nest.unroll(n_vector.outer));
  chain.take(nest.unroll(m_tile.inner));
  chain.take(nest.unroll(k_unroll.inner));
  chain.take(nest.compute_at(m_tile.outer));
  const LoopId batch = chain.take(nest.fuse(outer, inner));
  const LoopId rows = chain.take(nest.fuse(batch, m.outer));
  chain.take(nest.parallel(chain.take(nest.fuse(rows, n.outer))));
  if (chain.error) {
    return *chain.error;
  }
  return nest;
}

}  // namespace temper
