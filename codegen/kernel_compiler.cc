#include "codegen/kernel_compiler.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>

#include "codegen/lower_contraction.h"
#include "codegen/lower_window.h"
#include "codegen/machine_code.h"
#include "schedules/nests.h"

namespace temper {
namespace {

Result<bool> check_request(const KernelRequest& request, const Target& target) {
  const bool gemm = request.template_id == TemplateId::kGemm;
  if (!gemm && request.template_id != TemplateId::kDepthwise) {
    return Error{TEMPER_UNSUPPORTED, request.symbol + ": unknown template"};
  }
  const size_t knobs = gemm ? size_t{kGemmKnobCount} : size_t{kDepthwiseKnobCount};
  const size_t dims = gemm ? size_t{kGemmDimCount} : size_t{kDwDimCount};
  const bool sized = request.mode == KernelMode::kBaked ? request.dims.size() == dims : request.fixed.size() <= dims;
  if (request.knobs.size() != knobs || !sized) {
    return Error{TEMPER_UNSUPPORTED,
                 request.symbol + ": wants " + std::to_string(knobs) + " knobs and " + std::to_string(dims) + " dims"};
  }
  const int32_t lanes = request.knobs[gemm ? size_t{kKnobLanes} : size_t{kDwKnobLanes}];
  if (lanes < 1 || lanes > target.lanes || (lanes & (lanes - 1)) != 0) {
    return Error{TEMPER_UNSUPPORTED, request.symbol + ": " + std::to_string(lanes) + " lanes; " + target.name +
                                         " has up to " + std::to_string(target.lanes) + ", a power of two"};
  }
  return true;
}

Result<bool> lower_gemm(llvm::Module& module, const Target& target, const KernelRequest& request,
                        const NestInput& input) {
  Result<LoopNest> nest = gemm_nest(input);
  if (!nest) {
    return Error{nest.error().code, request.symbol + ": " + nest.error().message};
  }
  if (nest->epilogue().at != nest->loops()[nest->register_begin() - 1].id) {
    return Error{TEMPER_UNSUPPORTED, request.symbol + ": the epilogue is not computed at the register tile"};
  }
  Emitter emitter(module, target, request.knobs[kKnobLanes]);
  emitter.begin_kernel(request.symbol);
  ContractionLowering(emitter, *nest, input).walk();
  emitter.finish_kernel();
  return true;
}

// The layout decides the nest; where it is an argument, the kernel holds both and chooses when it runs. Several vectors
// across channels are legal in NHWC alone.
Result<bool> lower_depthwise(llvm::Module& module, const Target& target, const KernelRequest& request,
                             const NestInput& input) {
  Emitter emitter(module, target, request.knobs[kDwKnobLanes]);
  emitter.begin_kernel(request.symbol);
  std::optional<Error> error;
  const auto emit = [&](bool channels_last) {
    Result<LoopNest> nest = depthwise_nest(input, channels_last);
    if (nest) {
      WindowLowering(emitter, *nest, channels_last, input).walk();
    } else {
      error = Error{nest.error().code, request.symbol + ": " + nest.error().message};
    }
  };
  if (request.knobs[kDwKnobVectors] > 1) {
    emit(true);
  } else {
    emitter.when(
        emitter.equal(emitter.amount(input.dim(kDwChannelsLast)), 0), [&] { emit(false); }, [&] { emit(true); });
  }
  emitter.finish_kernel();
  if (error) {
    return *error;
  }
  return true;
}

/// Emits one kernel into the module.
Result<bool> lower_kernel(llvm::Module& module, const Target& target, const KernelRequest& request) {
  if (Result<bool> checked = check_request(request, target); !checked) {
    return checked;
  }
  const NestInput input{request.mode == KernelMode::kBaked ? &request.dims : nullptr, request.knobs, &request.fixed};
  return request.template_id == TemplateId::kGemm ? lower_gemm(module, target, request, input)
                                                  : lower_depthwise(module, target, request, input);
}

/// A module for the target with a function per request.
Result<std::unique_ptr<llvm::Module>> lower_module(llvm::LLVMContext& context, const Target& target,
                                                   const llvm::TargetMachine& machine,
                                                   const std::vector<KernelRequest>& requests) {
  auto module = std::make_unique<llvm::Module>("temper_kernels", context);
  module->setDataLayout(machine.createDataLayout());
  module->setTargetTriple(target.triple);
  for (const KernelRequest& request : requests) {
    if (Result<bool> lowered = lower_kernel(*module, target, request); !lowered) {
      return lowered.error();
    }
  }
#ifndef NDEBUG
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (llvm::verifyModule(*module, &stream)) {
    return Error{TEMPER_BAD_DATA, "the lowering made invalid IR: " + message};
  }
#endif
  return module;
}

/// NAME_pack and what it points to, as in temper/kernel.h.
void add_pack(llvm::Module& module, const std::string& name, const std::vector<uint8_t>& data,
              const std::vector<KernelRequest>& kernels) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* pointer = llvm::PointerType::get(context, 0);
  const auto constant = [&](llvm::Constant* value, const std::string& suffix) {
    auto* global = new llvm::GlobalVariable(module, value->getType(), true, llvm::GlobalValue::InternalLinkage, value,
                                            name + suffix);
    global->setAlignment(llvm::Align(8));
    return global;
  };
  std::vector<llvm::Constant*> entries;
  for (const KernelRequest& request : kernels) {
    llvm::Function* function = module.getFunction(request.symbol);
    function->setLinkage(llvm::GlobalValue::InternalLinkage);
    entries.push_back(function);
  }
  llvm::Constant* bytes = llvm::ConstantDataArray::get(context, llvm::ArrayRef<uint8_t>(data));
  llvm::Constant* table = llvm::ConstantArray::get(llvm::ArrayType::get(pointer, entries.size()), entries);
  llvm::Type* word = llvm::Type::getInt32Ty(context);
  llvm::Type* size = module.getDataLayout().getIntPtrType(context);
  llvm::Constant* pack =
      llvm::ConstantStruct::getAnon({constant(bytes, "_data"), llvm::ConstantInt::get(size, data.size()),
                                     constant(table, "_kernels"), llvm::ConstantInt::get(word, entries.size())});
  constant(pack, "_pack")->setLinkage(llvm::GlobalValue::ExternalLinkage);
}

bool is_identifier(const std::string& name) {
  const auto legal = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !name.empty() && (name[0] < '0' || name[0] > '9') && std::all_of(name.begin(), name.end(), legal);
}

}  // namespace

Result<ObjectFile> compile_kernels(const Target& target, const std::vector<KernelRequest>& requests) {
  Result<std::unique_ptr<llvm::TargetMachine>> machine = target_machine(target);
  if (!machine) {
    return machine.error();
  }
  llvm::LLVMContext context;
  Result<std::unique_ptr<llvm::Module>> module = lower_module(context, target, **machine, requests);
  return module ? emit_object(**module, **machine) : Result<ObjectFile>(module.error());
}

Result<ObjectFile> compile_pack(const Target& target, const std::string& name, const std::vector<uint8_t>& pack_data,
                                const std::vector<KernelRequest>& kernels) {
  if (!is_identifier(name)) {
    return Error{TEMPER_INVALID_ARGUMENT, "pack name '" + name + "' is not a C identifier"};
  }
  Result<std::unique_ptr<llvm::TargetMachine>> machine = target_machine(target);
  if (!machine) {
    return machine.error();
  }
  llvm::LLVMContext context;
  Result<std::unique_ptr<llvm::Module>> module = lower_module(context, target, **machine, kernels);
  if (!module) {
    return module.error();
  }
  add_pack(**module, name, pack_data, kernels);
  return emit_object(**module, **machine);
}

}  // namespace temper
