#include "runtime/plan.h"

#include "runtime/pack_layout.h"

namespace temper {
namespace {

constexpr int32_t kWorkspaceUnit = 64;

Status bind_packing(const Shape& shape, const WorkloadView& workload, temper_plan* out) {
  out->packed_tensor = shape.packed_tensor;
  if (shape.packed_tensor == TEMPER_TENSOR_COUNT) {
    return TEMPER_OK;
  }
  const bool constant = (workload.constants >> shape.packed_tensor & 1u) != 0;
  if (shape.packed_tensor == TEMPER_OUT || !constant) {
    return TEMPER_BAD_DATA;
  }
  out->packed_bytes = packed_bytes_of(shape.pack_layout, workload.elements[shape.packed_tensor]);
  for (uint32_t i = 0; i < 11; ++i) {
    out->pack_layout[i] = shape.pack_layout[i];
  }
  return out->packed_bytes == 0 ? TEMPER_BAD_DATA : TEMPER_OK;
}

// Observed: waking a second thread costs a few microseconds, far more on a busy machine, and a kernel of 1 us that was
// cut in two took 15. So each thread gets at least 20,000 cycles of multiply-adds at the core's full rate. Kernels far
// from that rate (small windows, single rows) could use a thread earlier than this lets them.
constexpr uint32_t kCyclesPerThread = 20000;

uint32_t threads_for(const Space& space, int32_t grid) {
  const int32_t* facts = space.facts().value;
  const int32_t most = facts[TEMPER_FACT_THREADS] < grid ? facts[TEMPER_FACT_THREADS] : grid;
  const uint64_t flops_per_cycle =
      2u * static_cast<uint64_t>(facts[TEMPER_FACT_VECTOR_LANES] > 0 ? facts[TEMPER_FACT_VECTOR_LANES] : 1) *
      static_cast<uint32_t>(facts[TEMPER_FACT_FMA_PER_CYCLE] > 0 ? facts[TEMPER_FACT_FMA_PER_CYCLE] : 1);
  uint32_t threads = most < 1 ? 1u : static_cast<uint32_t>(most);
  while (threads > 1 && space.workload().flops < threads * kCyclesPerThread * flops_per_cycle) {
    --threads;
  }
  return threads;
}

}  // namespace

Status make_plan(const Space& space, const Config& config, temper_kernel kernel, temper_plan* out) {
  Shape shape;
  space.shape(config, &shape);
  if (shape.grid <= 0 || shape.workspace_bytes < 0 || shape.workspace_bytes % kWorkspaceUnit != 0) {
    return TEMPER_BAD_DATA;
  }
  *out = temper_plan{};  // in place: a second plan would be half a kilobyte of stack
  const Status packing = bind_packing(shape, space.workload(), out);
  if (!packing.ok()) {
    return packing;
  }
  out->kernel = kernel;
  out->grid = shape.grid;
  out->workspace_bytes = static_cast<uint32_t>(shape.workspace_bytes);
  out->memory = static_cast<uint32_t>(shape.memory);
  out->threads = threads_for(space, shape.grid);
  for (const int32_t dim : space.workload().dims) {
    out->args[out->arg_count++] = dim;
  }
  space.values_of(config, out->args + out->arg_count);
  out->arg_count += space.knob_count();
  return TEMPER_OK;
}

}  // namespace temper
