// A worker process that plants the faults of planted_faults.h instead of compiling. Started by jit_runner_test.
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "codegen/worker.h"
#include "runtime/check.h"
#include "schedules/reference.h"
#include "tests/codegen/planted_faults.h"

namespace temper {
namespace {

constexpr int32_t kOutElements = kFaultTile * kFaultTile;
volatile int never_set = 0;
volatile uintptr_t unmapped_address = 8;  // volatile, so that no compiler sees what is about to happen

void right_output(float* out, Fault fault) {
  const Workload workload = workload_with(fault);
  const auto elements = tensor_elements(workload);
  std::vector<float> a(elements[TEMPER_IN_A]), b(elements[TEMPER_IN_B]);
  fill_small_integers(TEMPER_IN_A, {a.data(), a.size()});
  fill_small_integers(TEMPER_IN_B, {b.data(), b.size()});
  compute_reference(workload, {nullptr, a.data(), b.data(), nullptr, nullptr},
                    {out, static_cast<size_t>(kOutElements)});
}

void misbehave(Fault fault, float* out, const float* in) {
  switch (fault) {
    case Fault::kKernelCrashes:
      *reinterpret_cast<volatile float*>(unmapped_address) = 1.0f;
      break;
    case Fault::kKernelHangs:
      while (never_set == 0) {
      }
      break;
    case Fault::kWrongResult:
      out[3] += 1.0f;
      break;
    case Fault::kWritesBehindOutput:
      out[kOutElements] = 0.0f;
      break;
    case Fault::kWritesBeforeOutput:
      out[-1] = 0.0f;
      break;
    case Fault::kWritesFarBehindOutput:
      out[kOutElements + 300'000] = 0.0f;
      break;
    case Fault::kWritesInput:
      const_cast<float*>(in)[0] += 1.0f;
      break;
    case Fault::kKernelExits:
      _exit(0);
    case Fault::kSlowKernel:
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      break;
    default:
      break;
  }
}

template <int kFault>
void kernel(float* out, const float* a, const float*, const float*, const float*, void*, const int32_t*, int32_t,
            int32_t) {
  right_output(out, static_cast<Fault>(kFault));
  misbehave(static_cast<Fault>(kFault), out, a);
}

template <int... kFaults>
temper_kernel kernel_of(int fault, std::integer_sequence<int, kFaults...>) {
  const std::array<temper_kernel, sizeof...(kFaults)> kernels = {kernel<kFaults>...};
  return kernels[static_cast<size_t>(fault)];
}

Result<ObjectFile> compile(const KernelRequest& request) {
  const int32_t depth = request.dims[kGemmK];
  switch (static_cast<Fault>(depth)) {
    case Fault::kBuilderAborts:
      std::abort();
    case Fault::kBuilderHangs:
      while (never_set == 0) {
      }
      break;
    case Fault::kBuilderRefuses:
      return Error{TEMPER_UNSUPPORTED, "planted refusal"};
    case Fault::kBuilderExits:
      _exit(0);
    default:
      break;
  }
  ObjectFile object;
  object.bytes = {static_cast<uint8_t>(depth)};
  return object;
}

WorkerBackend faulty_backend() {
  WorkerBackend backend;
  backend.compile = compile;
  backend.digest = [](const std::string& text) -> Result<uint32_t> {
    const Result<Workload> workload = parse_workload(text);
    if (!workload) {
      return workload.error();
    }
    return reference_digest(*workload);
  };
  backend.load = [](const std::vector<uint8_t>& object, const std::string&, uint32_t* handle) -> Result<temper_kernel> {
    *handle = object[0];
    if (static_cast<Fault>(object[0]) == Fault::kLoadFails) {
      return Error{TEMPER_BAD_DATA, "planted link error"};
    }
    return kernel_of(object[0], std::make_integer_sequence<int, static_cast<int>(Fault::kFaultEnd)>());
  };
  backend.unload = [](uint32_t) {};
  return backend;
}

}  // namespace
}  // namespace temper

int main(int argc, char** argv) {
  if (argc != 4 || std::strcmp(argv[1], "worker") != 0 || std::strcmp(argv[2], "--fd") != 0) {
    return 2;
  }
  return temper::run_worker(std::atoi(argv[3]), temper::faulty_backend());
}
