// Lowers the nest of a contraction: pack stages, register tile held in loop-carried vectors, epilogue on the finished
// sums. Private to codegen; expects the axes of kGemm (schedules/nests.h).
#pragma once

#include "codegen/activation.h"
#include "codegen/nest_walker.h"
#include "schedules/templates.h"

namespace temper {

class ContractionLowering : public NestWalker {
 public:
  /// a_source: the temper_tensor that holds A, as an amount.
  ContractionLowering(Emitter& emitter, const LoopNest& nest, Amount a_source);

 private:
  /// One emitted tile: the rows it computes (their index in the tile) and its columns.
  struct Tile {
    Values rows;
    int32_t vectors;
    Values masks;       ///< per vector; empty: whole vectors
    bool edge = false;  ///< columns end inside the tile
  };

  void stages(const Loop& loop) override;
  void register_tile() override;

  void pack_operand(const Access& access, AxisId axis, llvm::Value* source, llvm::Value* place);
  void with_columns(const Values& rows);
  void emit_tile(const Tile& tile, bool fork);
  Values sum(const Tile& tile);
  Values multiply_add(const Tile& tile, int32_t steps, llvm::Value* a_stride, const Values& carried);
  llvm::Value* row_stride();
  size_t rows_per_pointer(const Tile& tile);
  llvm::Value* load_b(const Tile& tile, llvm::Value* pointer, int32_t vector);
  llvm::Value* operand_base(const Access& access, AxisId axis, llvm::Value* source, llvm::Value* place);
  llvm::Value* affine(const Access& access, std::initializer_list<AxisId> axes);
  void finish(const Tile& tile, Values sums);
  Tile masked(const Tile& tile);
  llvm::Value* spill(const Values& sums);
  void finish_usual(const Tile& tile, const Values& sums);
  void finish_from(const Tile& tile, llvm::Value* buffer);
  void finish_by_rows(const Tile& tile, llvm::Value* buffer);
  void finish_by_element(const Tile& tile, llvm::Value* buffer);
  Values with_bias(const Tile& tile, Values sums);
  Values with_addend(const Tile& tile, Values sums);
  llvm::Value* first_pass();
  llvm::Value* last_pass();

  const Access &a_, &b_, &out_;
  llvm::Value *source_a_, *source_b_, *place_a_, *place_b_;
  int32_t tile_m_, vectors_, unroll_;
  llvm::Value* skipped_rows_;  ///< first rows of the tile that belong to the one before
  ActivationBounds activation_;
};

}  // namespace temper
