// The activation of an epilogue as two bounds, infinite where there is none, so that a kernel of a pack needs no branch
// for it. Private to codegen; used by the lowerings.
#pragma once

#include "codegen/emitter.h"

namespace temper {

class ActivationBounds {
 public:
  ActivationBounds(Emitter& emitter, const EpilogueStage& epilogue);
  /// A scalar or a vector, bounded. NaN stays NaN.
  llvm::Value* apply(llvm::Value* value) const;
  /// The same of several; on a microcontroller, where a comparison of floats takes four instructions, a bound that is
  /// none is passed over by one branch for three or more.
  Values apply(Values values) const;
  /// These bounds where the condition holds, none elsewhere.
  ActivationBounds only_if(llvm::Value* condition) const;

 private:
  llvm::Value* bounded(llvm::Value* value, int which) const;

  Emitter& e_;
  llvm::Value *bounds_[2], *bounds_any_[2];  ///< low, high; whether it is a bound at all
};

}  // namespace temper
