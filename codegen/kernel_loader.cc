#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/Support/MemoryBuffer.h>

#include <map>

#include "codegen/kernel_compiler.h"

namespace temper {

struct KernelLoader::State {
  explicit State(std::unique_ptr<llvm::orc::ExecutorProcessControl> control)
      : session(std::move(control)), linker(session, session.getExecutorProcessControl().getMemMgr()) {}

  llvm::orc::ExecutionSession session;
  llvm::orc::ObjectLinkingLayer linker;
  std::map<uint32_t, llvm::orc::JITDylib*> libraries;
  uint32_t next = 1;
};

Result<KernelLoader> KernelLoader::create() {
  auto control = llvm::orc::SelfExecutorProcessControl::Create();
  if (!control) {
    return Error{TEMPER_UNSUPPORTED, "cannot link code into this process: " + llvm::toString(control.takeError())};
  }
  auto* state = new State(std::move(*control));
  // What goes wrong is told by load; LLVM need not print it too.
  state->session.setErrorReporter([](llvm::Error error) { llvm::consumeError(std::move(error)); });
  return KernelLoader(state);
}

KernelLoader::KernelLoader(State* state) : state_(state) {}

KernelLoader::KernelLoader(KernelLoader&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}

KernelLoader& KernelLoader::operator=(KernelLoader&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

KernelLoader::~KernelLoader() {
  if (state_ != nullptr) {
    llvm::consumeError(state_->session.endSession());
    delete state_;
  }
}

Result<temper_kernel> KernelLoader::load(const std::vector<uint8_t>& object, const std::string& symbol,
                                         uint32_t* handle) {
  const uint32_t number = state_->next++;
  llvm::orc::JITDylib& library = state_->session.createBareJITDylib("kernels" + std::to_string(number));
  const llvm::StringRef bytes(reinterpret_cast<const char*>(object.data()), object.size());
  llvm::Error added = state_->linker.add(library, llvm::MemoryBuffer::getMemBufferCopy(bytes, library.getName()));
  state_->libraries[number] = &library;
  if (added) {
    unload(number);
    return Error{TEMPER_BAD_DATA, "object of " + symbol + ": " + llvm::toString(std::move(added))};
  }
  auto found = state_->session.lookup({&library}, state_->session.intern(symbol));
  if (!found) {
    unload(number);
    return Error{TEMPER_BAD_DATA, "linking " + symbol + ": " + llvm::toString(found.takeError())};
  }
  *handle = number;
  return found->getAddress().toPtr<temper_kernel>();
}

void KernelLoader::unload(uint32_t handle) {
  const auto found = state_->libraries.find(handle);
  if (found != state_->libraries.end()) {
    llvm::consumeError(state_->session.removeJITDylib(*found->second));
    state_->libraries.erase(found);
  }
}

}  // namespace temper
