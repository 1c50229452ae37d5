// LLVM module -> relocatable object for a target. Private to codegen.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>

#include "codegen/kernel_compiler.h"

namespace temper {

/// The target machine of a target; registers LLVM's targets on first use.
Result<std::unique_ptr<llvm::TargetMachine>> target_machine(const Target& target);
Result<ObjectFile> emit_object(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace temper
