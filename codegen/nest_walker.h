// Walks a loop nest from the outside and emits its grid, serial and exchanged loops, keeping where each axis stands; a
// lowering says what happens at the start of an iteration and in the register region. Private to codegen.
#pragma once

#include <vector>

#include "codegen/emitter.h"
#include "schedules/loop_nest.h"

namespace temper {

/// Position = origin + inside; `left`: elements from there to the end of the enclosing piece.
struct AxisState {
  llvm::Value *origin, *inside, *left;
};

class NestWalker {
 public:
  /// Loops from `register_begin` on are left to register_tile.
  NestWalker(Emitter& emitter, const LoopNest& nest, size_t register_begin);
  virtual ~NestWalker() = default;
  /// Emits the whole body of the kernel.
  void walk();

 protected:
  /// At the start of each iteration of a loop outside the register region.
  virtual void stages(const Loop& loop) = 0;
  /// The register region, once per iteration of the innermost loop around it.
  virtual void register_tile() = 0;

  /// The work items: the fused loop that is parallel.
  virtual void grid(size_t place);
  llvm::Value* position(AxisId axis) { return e_.add(axes_[axis].origin, axes_[axis].inside); }
  llvm::Value* extent(AxisId axis) { return e_.amount(nest_.axes()[axis].extent); }
  /// min(step, left); the step itself where the axis is known to be whole pieces of it.
  llvm::Value* piece(llvm::Value* left, llvm::Value* step, llvm::Value* whole);

  Emitter& e_;
  const LoopNest& nest_;
  std::vector<AxisState> axes_;

 private:
  void loops_from(size_t place);
  void serial(size_t place);
  void exchanged(size_t place);
  void enter(const LoopPart& part, llvm::Value* from, llvm::Value* at);

  size_t register_begin_;
};

}  // namespace temper
