// Lowers the nest of a window reduction without reuse over channels (depthwise convolution): register tiles over the
// interior, where every tap is inside the image, and clipped windows along its edges. Private to codegen; expects the
// axes of kDepthwise.
#pragma once

#include "codegen/activation.h"
#include "codegen/nest_walker.h"
#include "schedules/nests.h"

namespace temper {

class WindowLowering : public NestWalker {
 public:
  WindowLowering(Emitter& emitter, const LoopNest& nest, bool channels_last, const NestInput& input);

 private:
  /// A range of rows or columns; interior: every tap is inside the image.
  struct Range {
    llvm::Value *begin, *end;
  };
  /// Channels of a block: whole vectors, masked vectors, or one channel by scalars. Where channel is null, all blocks
  /// of the work item in turn, at each register tile.
  struct Block {
    llvm::Value* channel;
    int32_t vectors;
    Values masks;
    bool scalar = false;
    bool packed_filter;
    bool inside = false;  ///< one vector, which may be any of its block
  };
  /// Output elements of one register tile: tile_h x tile_w pixels (channels last) or vectors of columns.
  struct Tile {
    llvm::Value *row, *column;
    int32_t height, width;
    Range kernel_rows, kernel_columns;
    bool interior = false;  ///< the kernel ranges are the whole kernel
    /// Set by tile(): of the first output and of channel 0, first tap and output; and the first tap's place in a filter
    /// of one channel.
    llvm::Value *image = nullptr, *out = nullptr, *tap = nullptr;
    llvm::Value* columns_end =
        nullptr;  ///< vectors of columns: lanes from here on, and taps outside the image, are masked
  };

  /// A row of the kernel: any, or three adjacent taps of outputs one or two pixels apart.
  enum class Taps : uint8_t { kAny, kThree, kThreeStride2 };

  void grid(size_t place) override;
  void stages(const Loop&) override {}
  void register_tile() override;

  void rows(const Block& block);
  void columns(const Block& block, llvm::Value* row, int32_t height, const Range& kernel_rows, bool interior);
  void edge_pixels(const Block& block, llvm::Value* row, int32_t height, const Range& kernel_rows,
                   const Range& columns);
  void edge_vectors(const Block& block, llvm::Value* row, int32_t height, const Range& kernel_rows,
                    const Range& columns);
  void tile(const Block& block, Tile tile);
  void block_of_tile(const Block& block, const Tile& tile);
  void blocks_of_tile(const Block& block, const Tile& tile);
  void each_edge(const Range& whole, const Range& inside, const std::function<void(llvm::Value*)>& body);
  Range at_least(const Range& inside, const Range& whole, int64_t size, llvm::Value* condition);
  Values sums_of_arguments(const Block& block, const Tile& tile);
  Values sums_by_loops(const Block& block, const Tile& tile, Taps taps);
  void row_of_three(const Block& block, const Tile& tile, llvm::Value* image, llvm::Value* filter, int32_t stride,
                    Values& sums);
  void one_tap(const Block& block, const Tile& tile, llvm::Value* image, llvm::Value* filter, llvm::Value* column,
               Values& sums);
  Values sums_unrolled(const Block& block, const Tile& tile);
  void finish(const Block& block, const Tile& tile, Values sums);
  int64_t block_size() const { return int64_t{vectors_} * e_.lanes(); }
  int64_t weight_step(const Block& block) const;
  llvm::Value* filter_at(const Block& block, llvm::Value* tap);
  /// pointer: at the tap, of the block's first channel.
  llvm::Value* weight(const Block& block, llvm::Value* pointer, int32_t vector);
  /// Of pixel (or vector of columns) `across`, whose first input column is `column`.
  llvm::Value* input(const Block& block, const Tile& tile, llvm::Value* pointer, llvm::Value* column, int32_t across,
                     int32_t vector);
  llvm::Value* output_mask(const Block& block, const Tile& tile, int32_t across, int32_t vector);
  llvm::Value* strided(llvm::Value* pointer, llvm::Value* stride, llvm::Value* mask);
  llvm::Value* load_output(const Block& block, llvm::Value* pointer, llvm::Value* mask);
  /// Elements between channels.
  llvm::Value* channel_step(DepthwiseDim which) { return channels_last_ ? e_.integer(1) : dim(which); }
  llvm::Value* product(int32_t a, int32_t b);
  Range interior(AxisId axis, const Range& whole);
  Range taps(llvm::Value* output, bool vertical);
  /// What the unrolled sums are written for is known.
  bool window_known() const;
  bool unrollable(const Tile& tile) const;
  llvm::Value* dim(int32_t index) { return e_.amount(dims_.dim(index)); }

  bool exact_;  ///< everything is known
  bool channels_last_;
  bool inner_blocks_;  ///< channel blocks inside the loops over pixels
  llvm::Value *first_block_ = nullptr, *end_block_ = nullptr;
  NestInput dims_;
  int32_t tile_h_, tile_w_, vectors_;
  ActivationBounds activation_;
};

}  // namespace temper
