#include "schedules/nests.h"

namespace temper {
namespace {

void add_operands(LoopNest& nest, const NestInput& input) {
  Access image;
  image.tensor = TEMPER_IN_A;
  image.strided_vectors = true;  // columns of a strided convolution
  image.terms = {
      {kAxisImage, input.dim(kDwInN)}, {kAxisChannel, input.dim(kDwInC)}, {kAxisColumn, input.dim(kDwInPixel)}};
  ImageView view;
  view.enabled = Amount::constant(1);
  view.enabled_value = 1;
  view.height = input.dim(kDwInH);
  view.width = input.dim(kDwInW);
  view.out_width = input.dim(kDwOutW);
  view.kernel_h = input.dim(kDwKernelH);
  view.kernel_w = input.dim(kDwKernelW);
  view.stride_h = input.dim(kDwStrideH);
  view.stride_w = input.dim(kDwStrideW);
  view.pad_top = input.dim(kDwPadTop);
  view.pad_left = input.dim(kDwPadLeft);
  view.dilation_h = input.dim(kDwDilationH);
  view.dilation_w = input.dim(kDwDilationW);
  view.row_stride = input.dim(kDwInRow);
  view.pixel_stride = input.dim(kDwInPixel);
  image.image = view;
  Access filter;
  filter.tensor = TEMPER_IN_B;
  filter.strided_vectors = true;  // where it is not packed
  filter.terms = {{kAxisChannel, Amount::constant(0)}};
  Access out;
  out.tensor = TEMPER_OUT;
  nest.add_access(image);
  nest.add_access(filter);
  nest.set_epilogue({input.dim(kDwBias), Amount::constant(0), input.dim(kDwAddend), input.dim(kDwActivation),
                     input.dim(kDwClipLow), input.dim(kDwClipHigh), 0});
  nest.add_access(out);
}

}  // namespace

Result<LoopNest> depthwise_nest(const NestInput& input, bool channels_last) {
  const std::vector<int32_t>& knobs = input.knobs;
  LoopNest nest;
  nest.add_axis("image", AxisKind::kSpatial, input.dim(kDwBatch));
  nest.add_axis("channel", AxisKind::kSpatial, input.dim(kDwC));
  nest.add_axis("row", AxisKind::kSpatial, input.dim(kDwOutH));
  nest.add_axis("column", AxisKind::kSpatial, input.dim(kDwOutW));
  nest.add_axis("kernel_row", AxisKind::kReduction, input.dim(kDwKernelH));
  nest.add_axis("kernel_column", AxisKind::kReduction, input.dim(kDwKernelW));
  add_operands(nest, input);

  const auto fixed = [](int32_t value) { return Chunk{Amount::constant(value), 1}; };
  const int32_t lanes = knobs[kDwKnobLanes];
  PrimitiveChain chain;
  const LoopId kernel_row = nest.loop_of(kAxisKernelRow), kernel_column = nest.loop_of(kAxisKernelColumn);
  const SplitLoops row = chain.take(nest.split(nest.loop_of(kAxisRow), {input.run_knob(kDwKnobRows, kDwDimCount), 1}));
  const SplitLoops row_tile = chain.take(nest.split(row.inner, fixed(knobs[kDwKnobTileH])));
  const int32_t tile_w = knobs[kDwKnobTileW] * (channels_last ? 1 : lanes);
  const SplitLoops column = chain.take(nest.split(nest.loop_of(kAxisColumn), fixed(tile_w)));
  const int32_t block = channels_last ? knobs[kDwKnobVectors] * lanes : 1;
  const SplitLoops channel = chain.take(nest.split(nest.loop_of(kAxisChannel), fixed(block)));
  const SplitLoops vector = chain.take(nest.split(channels_last ? channel.inner : column.inner, fixed(lanes)));
  std::vector<LoopId> order = {nest.loop_of(kAxisImage),
                               channel.outer,
                               row.outer,
                               row_tile.outer,
                               column.outer,
                               kernel_row,
                               kernel_column,
                               row_tile.inner};
  order.push_back(channels_last ? column.inner : channel.inner);
  order.push_back(vector.outer);
  order.push_back(vector.inner);
  chain.take(nest.reorder(order));
  if (channels_last && lanes > 1 && !input.is(kDwFilterConstant, 0)) {
    chain.take(nest.pack(TEMPER_IN_B, PackLayout::kConstant, kAxisChannel, block, 0));
  }
  chain.take(nest.vectorize(vector.inner));
  for (size_t i = 7; i < 10; ++i) {
    chain.take(nest.unroll(order[i]));
  }
  chain.take(nest.compute_at(column.outer));
  chain.take(nest.exchange_by(channel.outer, row.outer, input.run_knob(kDwKnobOrder, kDwDimCount)));
  const LoopId blocks = chain.take(nest.fuse(channel.outer, row.outer));
  chain.take(nest.parallel(chain.take(nest.fuse(nest.loop_of(kAxisImage), blocks))));
  if (chain.error) {
    return *chain.error;
  }
  return nest;
}

}  // namespace temper
