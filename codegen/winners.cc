#include "codegen/winners.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Object/Archive.h>
#include <llvm/Object/ArchiveWriter.h>
#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>

#include "codegen/machine_code.h"

namespace temper {
namespace {

constexpr uint64_t kConstantAlignment = 64;  // temper/winners.h
constexpr uint64_t kTableAlignment = 8;

bool is_identifier(const std::string& name) {
  const auto legal = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !name.empty() && (name[0] < '0' || name[0] > '9') && std::all_of(name.begin(), name.end(), legal);
}

/// Read-only objects of a module, private to it unless said otherwise.
class ConstantWriter {
 public:
  explicit ConstantWriter(llvm::Module& module)
      : module_(module), pointer_(llvm::PointerType::get(module.getContext(), 0)) {}

  llvm::Constant* bytes(const std::vector<uint8_t>& data, const std::string& name, uint64_t alignment) {
    return add(llvm::ConstantDataArray::get(module_.getContext(), llvm::ArrayRef<uint8_t>(data)), name, alignment,
               llvm::GlobalValue::InternalLinkage);
  }

  /// A null pointer when there are none.
  llvm::Constant* pointers(const std::vector<llvm::Constant*>& to, const std::string& name) {
    if (to.empty()) {
      return llvm::ConstantPointerNull::get(pointer_);
    }
    return add(llvm::ConstantArray::get(llvm::ArrayType::get(pointer_, to.size()), to), name,
               module_.getDataLayout().getPointerABIAlignment(0).value(), llvm::GlobalValue::InternalLinkage);
  }

  llvm::Constant* kernel(const std::string& symbol) {
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(module_.getContext()), false);
    return llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, symbol, module_);
  }

  llvm::Constant* count(size_t value) {
    return llvm::ConstantInt::get(llvm::Type::getInt32Ty(module_.getContext()), value);
  }

  llvm::Constant* size(size_t value) {
    return llvm::ConstantInt::get(module_.getDataLayout().getIntPtrType(module_.getContext()), value);
  }

  llvm::Constant* add(llvm::Constant* value, const std::string& name, uint64_t alignment,
                      llvm::GlobalValue::LinkageTypes linkage) {
    auto* global = new llvm::GlobalVariable(module_, value->getType(), true, linkage, value, name);
    global->setAlignment(llvm::Align(alignment));
    return global;
  }

 private:
  llvm::Module& module_;
  llvm::PointerType* pointer_;
};

/// NAME_winners and what it points to, but for the kernels.
Result<ObjectFile> compile_data(const Target& target, llvm::TargetMachine& machine, const WinnersContents& contents) {
  llvm::LLVMContext context;
  llvm::Module module("temper_winners", context);
  module.setDataLayout(machine.createDataLayout());
  module.setTargetTriple(target.triple);
  ConstantWriter writer(module);
  std::vector<llvm::Constant*> kernels, constants;
  for (const KernelRequest& request : contents.kernels) {
    kernels.push_back(writer.kernel(request.symbol));
  }
  for (const PrepackedConstant& constant : contents.constants) {
    constants.push_back(writer.bytes(constant.bytes, constant.symbol, kConstantAlignment));
  }
  // Field by field a temper_winners.
  llvm::Constant* table = llvm::ConstantStruct::getAnon(
      {writer.bytes(contents.table, contents.name + "_table", kTableAlignment), writer.size(contents.table.size())});
  llvm::Constant* winners = llvm::ConstantStruct::getAnon(
      {table, writer.pointers(kernels, contents.name + "_kernels"), writer.count(kernels.size()),
       writer.pointers(constants, contents.name + "_constants"), writer.count(constants.size())});
  writer.add(winners, contents.name + "_winners", kTableAlignment, llvm::GlobalValue::ExternalLinkage);
  return emit_object(module, machine);
}

llvm::NewArchiveMember member(const std::vector<uint8_t>& object, const std::string& name) {
  const llvm::StringRef bytes(reinterpret_cast<const char*>(object.data()), object.size());
  return llvm::NewArchiveMember(llvm::MemoryBufferRef(bytes, name));
}

Result<std::vector<uint8_t>> write_archive(const std::vector<llvm::NewArchiveMember>& members) {
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> archive =
      llvm::writeArchiveToBuffer(members, llvm::SymtabWritingMode::NormalSymtab, llvm::object::Archive::K_GNU,
                                 /*Deterministic=*/true, /*Thin=*/false);
  if (!archive) {
    return Error{TEMPER_UNSUPPORTED, "the archive cannot be written: " + llvm::toString(archive.takeError())};
  }
  return std::vector<uint8_t>((*archive)->getBufferStart(), (*archive)->getBufferEnd());
}

}  // namespace

Result<WinnersArchive> compile_winners(const Target& target, const WinnersContents& contents) {
  if (!is_identifier(contents.name)) {
    return Error{TEMPER_INVALID_ARGUMENT, "winners' name '" + contents.name + "' is not a C identifier"};
  }
  Result<std::unique_ptr<llvm::TargetMachine>> machine = target_machine(target);
  if (!machine) {
    return machine.error();
  }
  const Result<ObjectFile> kernels = compile_kernels(target, contents.kernels);
  if (!kernels) {
    return kernels.error();
  }
  const Result<ObjectFile> data = compile_data(target, **machine, contents);
  if (!data) {
    return data.error();
  }
  const std::string data_name = contents.name + "_winners.o", kernels_name = contents.name + "_kernels.o";
  std::vector<llvm::NewArchiveMember> members;
  members.push_back(member(data->bytes, data_name));
  members.push_back(member(kernels->bytes, kernels_name));
  Result<std::vector<uint8_t>> bytes = write_archive(members);
  if (!bytes) {
    return bytes.error();
  }
  WinnersArchive archive{std::move(*bytes), kernels->code_bytes, 0};
  for (const PrepackedConstant& constant : contents.constants) {
    archive.constant_bytes += static_cast<uint32_t>(constant.bytes.size());
  }
  return archive;
}

}  // namespace temper
