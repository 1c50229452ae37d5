// The worker process: what runs behind the hidden command `temper worker --fd N`. Compiles candidates, or loads, checks
// and times them, as its parent (jit_runner) asks over the socket, until that closes. May crash or hang with the code
// it runs: that is its purpose. Never touches files and never outlives its parent.
#pragma once

#include <functional>

#include "codegen/kernel_compiler.h"
#include "codegen/worker_protocol.h"

namespace temper {

/// How objects are made and entered. The real one compiles and links; tests plant faults here.
struct WorkerBackend {
  std::function<Result<ObjectFile>(const KernelRequest& request)> compile;
  /// Digest of the reference's output for a workload's canonical text.
  std::function<Result<uint32_t>(const std::string& workload)> digest;
  std::function<Result<temper_kernel>(const std::vector<uint8_t>& object, const std::string& symbol, uint32_t* handle)>
      load;
  std::function<void(uint32_t handle)> unload;
};

/// Compiles for this machine. LLVM starts up on first use.
WorkerBackend jit_backend();

/// Serves until the socket closes. Returns the process's exit code: 0, or 4 when the conversation broke.
int run_worker(int fd, const WorkerBackend& backend);

}  // namespace temper
