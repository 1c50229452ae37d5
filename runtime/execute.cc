// Packing of constants and execution of plans: the two functions of the C API that an application needs after planning.
// They touch the plan alone, so that a firmware that only executes links nothing else.
#include "temper/temper.h"

namespace {

struct Work {
  const temper_plan* plan;
  void* const* tensors;
  unsigned char* workspace;
};

// Chunk `index` of the grid: the first grid % threads chunks are one item longer.
void run_chunk(void* context, uint32_t index) {
  const Work& work = *static_cast<const Work*>(context);
  const temper_plan& plan = *work.plan;
  const uint32_t whole = static_cast<uint32_t>(plan.grid) / plan.threads;
  const uint32_t longer = static_cast<uint32_t>(plan.grid) % plan.threads;
  const uint32_t begin = index * whole + (index < longer ? index : longer);
  const uint32_t end = begin + whole + (index < longer ? 1u : 0u);
  unsigned char* own = work.workspace == nullptr ? nullptr : work.workspace + size_t{index} * plan.workspace_bytes;
  void* const* tensors = work.tensors;
  plan.kernel(static_cast<float*>(tensors[TEMPER_OUT]), static_cast<const float*>(tensors[TEMPER_IN_A]),
              static_cast<const float*>(tensors[TEMPER_IN_B]), static_cast<const float*>(tensors[TEMPER_BIAS]),
              static_cast<const float*>(tensors[TEMPER_ADDEND]), own, plan.args, static_cast<int32_t>(begin),
              static_cast<int32_t>(end));
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 64 == 0; }

// A packed row's place in the constant: groups, blocks of n, k0, k1, k2.
constexpr uint32_t kLoops = 5;
struct Loop {
  uint32_t count, at;
  size_t stride;
};

// To the next row, the last loop first; false behind the last row. Sums may pass the end of size_t on the way.
bool next_row(Loop* loops, size_t* from) {
  for (uint32_t i = kLoops; i-- > 0;) {
    Loop& loop = loops[i];
    *from += loop.stride;
    if (++loop.at < loop.count) {
      return true;
    }
    *from -= loop.count * loop.stride;
    loop.at = 0;
  }
  return false;
}

}  // namespace

// dst[g][n / block][k0][k1][k2][n % block]
temper_status temper_pack_constant(const temper_plan* plan, const float* constant, void* packed, size_t packed_bytes) {
  if (plan == nullptr) {
    return TEMPER_INVALID_ARGUMENT;
  }
  if (plan->packed_bytes == 0) {
    return TEMPER_OK;
  }
  if (constant == nullptr || packed == nullptr || !aligned(packed)) {
    return TEMPER_INVALID_ARGUMENT;
  }
  if (packed_bytes < plan->packed_bytes) {
    return TEMPER_NO_MEMORY;
  }
  const int32_t* layout = plan->pack_layout;
  const uint32_t n = static_cast<uint32_t>(layout[2]);
  const uint32_t n_block = static_cast<uint32_t>(layout[4]);
  const size_t n_stride = static_cast<size_t>(layout[3]);
  const uint32_t n_blocks = (n - 1) / n_block + 1;
  Loop loops[kLoops];
  for (uint32_t i = 0; i < kLoops; ++i) {
    const int32_t* numbers = layout + (i == 0 ? 0 : 2 * i + 1);
    loops[i] = {static_cast<uint32_t>(numbers[0]), 0, static_cast<size_t>(numbers[1])};
  }
  loops[1] = {n_blocks, 0, n_block * n_stride};
  float* to = static_cast<float*>(packed);
  size_t from = 0;
  do {
    const uint32_t left = n - loops[1].at * n_block;
    for (uint32_t i = 0; i < n_block; ++i) {
      *to++ = i < left ? constant[from + i * n_stride] : 0.0f;  // zeros past the last
    }
  } while (next_row(loops, &from));
  return TEMPER_OK;
}

temper_status temper_execute(const temper_plan* plan, const temper_port* port, void* const tensors[TEMPER_TENSOR_COUNT],
                             void* workspace, size_t workspace_bytes) {
  if (plan == nullptr || plan->kernel == nullptr || plan->threads == 0 || tensors == nullptr ||
      tensors[TEMPER_OUT] == nullptr || (plan->packed_bytes != 0 && tensors[plan->packed_tensor] == nullptr) ||
      !aligned(workspace)) {
    return TEMPER_INVALID_ARGUMENT;
  }
  const uint64_t needed = static_cast<uint64_t>(plan->threads) * plan->workspace_bytes;
  if (needed != 0 && (workspace == nullptr || workspace_bytes < needed)) {
    return workspace == nullptr ? TEMPER_INVALID_ARGUMENT : TEMPER_NO_MEMORY;
  }
  Work work{plan, tensors, needed == 0 ? nullptr : static_cast<unsigned char*>(workspace)};
  if (plan->threads > 1 && port != nullptr && port->parallel_for != nullptr) {
    port->parallel_for(port->self, plan->threads, run_chunk, &work);
    return TEMPER_OK;
  }
  for (uint32_t i = 0; i < plan->threads; ++i) {
    run_chunk(&work, i);
  }
  return TEMPER_OK;
}
