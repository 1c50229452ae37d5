#include "codegen/worker.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <optional>

#include "codegen/worker_bench.h"
#include "codegen/worker_setup.h"
#include "runtime/runner.h"
#include "schedules/reference.h"

namespace temper {
namespace {

constexpr int kExitOk = 0;
constexpr int kExitBroken = 4;
constexpr char kKernelSymbol[] = "kernel";

uint64_t steady_ns() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

bool answer(int fd, const Message& message, const std::string& text = {}) {
  return write_message(fd, message, text.data(), text.size()).ok();
}

bool serve_build(int fd, const WorkerBackend& backend, const WorkerSetup& setup, Message request) {
  const uint64_t started = steady_ns();
  request.type = MessageType::kBuilt;
  const Result<KernelRequest> kernel = setup.kernel_request(request.workload, request.config, kKernelSymbol);
  if (!kernel) {
    request.outcome = TEMPER_OUTCOME_INVALID;
    return answer(fd, request, kernel.error().message);
  }
  const Result<ObjectFile> object = backend.compile(*kernel);
  request.number = static_cast<uint32_t>((steady_ns() - started) / 1000);
  if (!object) {
    request.outcome = TEMPER_OUTCOME_BUILD_ERROR;
    return answer(fd, request, object.error().message);
  }
  request.outcome = TEMPER_OUTCOME_OK;
  return write_message(fd, request, object->bytes.data(), object->bytes.size()).ok();
}

bool serve_digest(int fd, const WorkerBackend& backend, Message request, const std::vector<uint8_t>& payload) {
  const Result<uint32_t> digest = backend.digest(std::string(payload.begin(), payload.end()));
  request.type = MessageType::kDigested;
  request.outcome = digest ? TEMPER_OUTCOME_OK : TEMPER_OUTCOME_BUILD_ERROR;
  request.number = digest ? *digest : 0;
  return answer(fd, request, digest ? std::string() : digest.error().message);
}

bool serve_run(int fd, WorkerBench* bench, Message request) {
  const uint32_t number = request.number;
  request.number = 0;
  request.type = MessageType::kRan;
  const temper_outcome ready = bench->prepare(request.slot);
  if (ready != TEMPER_OUTCOME_OK) {
    request.outcome = static_cast<uint8_t>(ready);
    return answer(fd, request);
  }
  Message started = request;
  started.type = MessageType::kStarted;
  if (request.announce != 0 && !answer(fd, started)) {
    return false;
  }
  if (static_cast<RunKind>(request.kind) == RunKind::kCheck) {
    const CheckVerdict verdict = bench->check(request.slot, number, &request.elapsed_ns);
    request.outcome = verdict == CheckVerdict::kRight ? TEMPER_OUTCOME_OK : TEMPER_OUTCOME_WRONG_RESULT;
    request.number = verdict == CheckVerdict::kOverran ? 1 : 0;
  } else {
    request.elapsed_ns = bench->time(request.slot, number);
    request.outcome = TEMPER_OUTCOME_OK;
  }
  return answer(fd, request);
}

/// One request. False: the parent is gone or asked for what this worker cannot do.
bool serve(int fd, const WorkerBackend& backend, const WorkerSetup& setup, WorkerBench* bench, const Message& request,
           const std::vector<uint8_t>& payload) {
  switch (request.type) {
    case MessageType::kBuild:
      return serve_build(fd, backend, setup, request);
    case MessageType::kDigest:
      return serve_digest(fd, backend, request, payload);
    case MessageType::kLoad:
      return bench != nullptr && bench->load(request.slot, request.workload, request.config, payload);
    case MessageType::kUnload:
      return bench != nullptr && bench->unload(request.slot);
    case MessageType::kRun:
      return bench != nullptr && serve_run(fd, bench, request);
    default:
      return false;
  }
}

}  // namespace

WorkerBackend jit_backend() {
  const auto target = std::make_shared<std::optional<Target>>();
  const auto loader = std::make_shared<std::optional<KernelLoader>>();
  WorkerBackend backend;
  backend.compile = [target](const KernelRequest& request) -> Result<ObjectFile> {
    if (!*target) {
      *target = native_target();
    }
    return compile_kernels(**target, {request});
  };
  backend.digest = [](const std::string& text) -> Result<uint32_t> {
    const Result<Workload> workload = parse_workload(text);
    if (!workload) {
      return workload.error();
    }
    return reference_digest(*workload);
  };
  backend.load = [loader](const std::vector<uint8_t>& object, const std::string& symbol,
                          uint32_t* handle) -> Result<temper_kernel> {
    if (!*loader) {
      Result<KernelLoader> made = KernelLoader::create();
      if (!made) {
        return made.error();
      }
      loader->emplace(std::move(*made));
    }
    return (*loader)->load(object, symbol, handle);
  };
  backend.unload = [loader](uint32_t handle) { (*loader)->unload(handle); };
  return backend;
}

int run_worker(int fd, const WorkerBackend& backend) {
  // A parent that dies without closing the socket (SIGKILL while a kernel hangs here) must not leave this process
  // behind.
  static_cast<void>(::prctl(PR_SET_PDEATHSIG, SIGKILL));
  Message message;
  std::vector<uint8_t> payload;
  Status status = read_message(fd, &message, &payload);
  if (status == TEMPER_NOT_FOUND) {
    return kExitOk;
  }
  if (!status.ok() || message.type != MessageType::kSetup) {
    return kExitBroken;
  }
  Result<std::unique_ptr<WorkerSetup>> setup = WorkerSetup::create(payload);
  if (!setup) {
    return kExitBroken;
  }
  std::unique_ptr<WorkerBench> bench;
  if (static_cast<WorkerRole>(message.kind) == WorkerRole::kTimer) {
    bench = std::make_unique<WorkerBench>(setup->get(), backend, kKernelSymbol);
  }
  Message ready;
  ready.type = MessageType::kReady;
  if (!answer(fd, ready)) {
    return kExitBroken;
  }
  for (;;) {
    status = read_message(fd, &message, &payload);
    if (!status.ok()) {
      return status == TEMPER_NOT_FOUND ? kExitOk : kExitBroken;
    }
    if (!serve(fd, backend, **setup, bench.get(), message, payload)) {
      return kExitBroken;
    }
  }
}

}  // namespace temper
