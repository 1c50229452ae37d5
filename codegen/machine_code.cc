#include "codegen/machine_code.h"

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>

namespace temper {
namespace {

// Kernels keep one pointer per operand already; loop strength reduction takes a third of the compile time and makes
// them no faster.
void disable_loop_strength_reduction() {
  auto& options = llvm::cl::getRegisteredOptions();
  const auto found = options.find("disable-lsr");
  if (found != options.end()) {
    static_cast<llvm::cl::opt<bool>*>(found->second)->setValue(true);
  }
}

// The order of the IR is a good one: loads a little before their use, few registers. LLVM's scheduler before register
// allocation hoists the loads of several unrolled steps on AArch64 and spills accumulators for them.
void keep_order(bool keep) {
  auto& options = llvm::cl::getRegisteredOptions();
  const auto found = options.find("enable-misched");
  if (found != options.end()) {
    found->second->addOccurrence(0, "enable-misched", keep ? "false" : "true");
  }
}

void register_targets() {
  static const bool once = [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
    disable_loop_strength_reduction();
    return true;
  }();
  static_cast<void>(once);
}

uint32_t code_bytes(const std::vector<uint8_t>& bytes) {
  const llvm::MemoryBufferRef buffer(llvm::StringRef(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                                     "kernels");
  llvm::Expected<std::unique_ptr<llvm::object::ObjectFile>> file = llvm::object::ObjectFile::createObjectFile(buffer);
  if (!file) {
    llvm::consumeError(file.takeError());
    return 0;
  }
  uint64_t total = 0;
  for (const llvm::object::SectionRef& section : (*file)->sections()) {
    if (section.isText() || section.isData()) {
      total += section.getSize();
    }
  }
  return static_cast<uint32_t>(total);
}

}  // namespace

Result<std::unique_ptr<llvm::TargetMachine>> target_machine(const Target& target) {
  register_targets();
  std::string message;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(target.triple, message);
  if (found == nullptr) {
    return Error{TEMPER_UNSUPPORTED,
                 "target " + target.name + ": this LLVM does not know " + target.triple + ": " + message};
  }
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast;
  options.FunctionSections = true;
  const bool bare = target.triple.find("-none-") != std::string::npos;
  if (target.triple.find("hf") != std::string::npos) {
    options.FloatABIType = llvm::FloatABI::Hard;
  }
  return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(
      target.triple, target.cpu, target.features, options, bare ? llvm::Reloc::Static : llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Less));
}

Result<ObjectFile> emit_object(llvm::Module& module, llvm::TargetMachine& machine) {
  keep_order(machine.getTargetTriple().isAArch64());
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile, true)) {
    return Error{TEMPER_UNSUPPORTED, "this LLVM cannot emit objects for " + machine.getTargetTriple().str()};
  }
  passes.run(module);
  ObjectFile object;
  object.bytes.assign(bytes.begin(), bytes.end());
  object.code_bytes = code_bytes(object.bytes);
  return object;
}

}  // namespace temper
