// Emits the packing of one operand's block into the workspace: panels or rows, from a strided matrix or through an
// image view. Private to codegen; called by the contraction lowering at the loop where the nest packs.
#pragma once

#include "codegen/nest_walker.h"

namespace temper {

struct PackStage {
  Emitter& e;
  const LoopNest& nest;
  const Access& access;
  AxisId axis;                         ///< m of A, n of B
  const std::vector<AxisState>& axes;  ///< at the start of the block
  llvm::Value* source;                 ///< of this batch entry
  llvm::Value* place;
  bool exact;  ///< everything is known, and a tile reads the rows that it has

  void emit() const;

 private:
  /// Elements left to a tile from `first` of the block on; the tile where the axis is known to be whole ones.
  llvm::Value* left_in_tile(llvm::Value* first) const;
  llvm::Value* position(AxisId of) const { return e.add(axes[of].origin, axes[of].inside); }
  void plain() const;
  void along_tile(llvm::Value* from, llvm::Value* to, llvm::Value* left, llvm::Value* depth_stride) const;
  void along_depth(llvm::Value* from, llvm::Value* to, llvm::Value* left, llvm::Value* tile_stride) const;
  void by_element(llvm::Value* from, llvm::Value* to, llvm::Value* left, llvm::Value* tile_stride,
                  const std::function<llvm::Value*(llvm::Value*)>& depth_offset) const;
  void transpose_rows(const Values& rows, llvm::Value* to, llvm::Value* depth) const;
  llvm::Value* enabled(const ImageView& view) const;
  void filter_panels() const;
  void image() const;
  void image_rows() const;
  void pad_rows() const;
  /// Pieces of memory that a window consists of: how long, how many to a window row, which of them the block has.
  struct Runs {
    llvm::Value *pixels, *length, *per_row, *first, *end;
  };
  void image_row(llvm::Value* oh, llvm::Value* ow, const Runs& runs, llvm::Value* to) const;
  void image_panels_of_rows() const;
  void image_row_group(const Values& pixels, llvm::Value* to) const;
  void image_panels_of_columns() const;
  void image_segment(llvm::Value* row, llvm::Value* column, llvm::Value* length, llvm::Value* to) const;
  void copy_clipped(llvm::Value* to, llvm::Value* from, llvm::Value* low, llvm::Value* high, llvm::Value* length) const;
  void copy_masked(llvm::Value* to, llvm::Value* from, llvm::Value* low, llvm::Value* high, llvm::Value* length) const;
  void copy_window(llvm::Value* to, llvm::Value* from, llvm::Value* low, llvm::Value* high, llvm::Value* length) const;
  llvm::Value* clamp(llvm::Value* value, llvm::Value* low, llvm::Value* high) const;
};

}  // namespace temper
