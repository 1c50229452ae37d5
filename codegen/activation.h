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
  /// These bounds where the condition holds, none elsewhere.
  ActivationBounds only_if(llvm::Value* condition) const;

 private:
  Emitter& e_;
  llvm::Value* bounds_[2];
};

}  // namespace temper
