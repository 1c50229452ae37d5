// Lowers the nest of a contraction: pack stages, register tile held in loop-carried vectors, epilogue on the finished
// sums. Private to codegen; expects the axes of kGemm (schedules/nests.h).
#pragma once

#include "codegen/activation.h"
#include "codegen/nest_walker.h"
#include "schedules/nests.h"

namespace temper {

class ContractionLowering : public NestWalker {
 public:
  ContractionLowering(Emitter& emitter, const LoopNest& nest, const NestInput& input);

 private:
  /// One emitted tile: the rows it computes (their index in the tile) and its columns.
  struct Tile {
    Values rows;
    int32_t vectors;
    Values masks;                         ///< per vector; empty: whole vectors
    bool edge = false;                    ///< columns end inside the tile
    llvm::Value* first_column = nullptr;  ///< inside the register tile; null: 0
    /// What the sums begin with, rows start_step apart; null: zeros.
    llvm::Value *start = nullptr, *start_step = nullptr;
  };

  void stages(const Loop& loop) override;
  void register_tile() override;

  void begin_batch_entry();
  llvm::Value* batch_entry(const Access& access, AxisId axis, llvm::Value* source);
  void pack_operand(const Access& access, AxisId axis, llvm::Value* source, llvm::Value* place);
  void exact_tile();
  void with_columns(const Values& rows);
  void emit_tile(const Tile& tile);
  Values sum(const Tile& tile, int32_t unroll);
  Values multiply_add(const Tile& tile, int32_t steps, llvm::Value* a_stride, const Values& carried);
  llvm::Value* b_column_stride();
  llvm::Value* row_stride();
  size_t rows_per_pointer(const Tile& tile);
  llvm::Value* load_b(const Tile& tile, llvm::Value* pointer, int32_t vector);
  llvm::Value* operand_base(const Access& access, AxisId axis, llvm::Value* source, llvm::Value* place);
  llvm::Value* affine(const Access& access, std::initializer_list<AxisId> axes);
  void finish(const Tile& tile, Values sums);
  Values with_bias(const Tile& tile, Values sums);
  Values with_addend(const Tile& tile, Values sums);

  // Where sizes are arguments.
  void tile_of_arguments();
  void sum_by_vectors(const Values& rows, llvm::Value* buffer);
  void start_usual(Tile& tile, llvm::Value* usual);
  void finish_usual(const Tile& tile, Values sums);
  void finish_from(llvm::Value* buffer);
  void finish_row(llvm::Value* row, llvm::Value* buffer);
  void spill(const Values& sums, int32_t vectors, llvm::Value* to);
  void settle(AxisId axis, int64_t tile);
  llvm::Value* zeros();
  llvm::Value* tile_buffer();
  llvm::Value* pick(llvm::Value* condition, llvm::Value* pointer);
  llvm::Value* bias_of(int64_t kind);
  int32_t width() const { return vectors_ * e_.lanes(); }

  llvm::Value* first_pass();
  llvm::Value* last_pass();

  bool exact_;  ///< everything is known: a body for each tail
  const Access &a_, &b_, &out_;
  llvm::Value *source_a_, *source_b_, *place_a_, *place_b_;
  /// Of the batch entry that the work item belongs to; the output's as an offset, which the addend shares.
  llvm::Value *entry_a_ = nullptr, *entry_b_ = nullptr, *entry_out_ = nullptr, *entry_bias_ = nullptr;
  int32_t tile_m_, vectors_, unroll_;
  llvm::Value* skipped_rows_;  ///< first rows of the tile that belong to the one before
  ActivationBounds activation_;
  llvm::Value* zeros_ = nullptr;   ///< as many as a row of the register tile, on the stack
  llvm::Value* buffer_ = nullptr;  ///< a register tile on the stack
};

}  // namespace temper
