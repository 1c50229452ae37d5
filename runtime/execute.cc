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

// One row of the packed form: n_block elements n_stride apart, zeros past the last.
void pack_row(const float* from, size_t n_stride, int32_t whole, int32_t n_block, float** to) {
  for (int32_t i = 0; i < n_block; ++i) {
    *(*to)++ = i < whole ? from[static_cast<size_t>(i) * n_stride] : 0.0f;
  }
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
  const auto stride = [layout](int32_t which) { return static_cast<size_t>(layout[which]); };
  const int32_t n = layout[2];
  const int32_t n_block = layout[4];
  float* to = static_cast<float*>(packed);
  for (int32_t g = 0; g < layout[0]; ++g) {
    const float* group = constant + static_cast<size_t>(g) * stride(1);
    // Counted by what is left: n0 + n_block could pass the end of int32.
    for (int32_t left = n; left > 0; left = left > n_block ? left - n_block : 0) {
      const float* block = group + static_cast<size_t>(n - left) * stride(3);
      const int32_t whole = left < n_block ? left : n_block;
      for (int32_t k0 = 0; k0 < layout[5]; ++k0) {
        for (int32_t k1 = 0; k1 < layout[7]; ++k1) {
          for (int32_t k2 = 0; k2 < layout[9]; ++k2) {
            pack_row(block + static_cast<size_t>(k0) * stride(6) + static_cast<size_t>(k1) * stride(8) +
                         static_cast<size_t>(k2) * stride(10),
                     stride(3), whole, n_block, &to);
          }
        }
      }
    }
  }
  return TEMPER_OK;
}

temper_status temper_execute(const temper_plan* plan, const temper_port* port, void* const tensors[TEMPER_TENSOR_COUNT],
                             void* workspace, size_t workspace_bytes) {
  if (plan == nullptr || plan->kernel == nullptr || plan->threads == 0 || tensors == nullptr ||
      tensors[TEMPER_OUT] == nullptr || !aligned(workspace)) {
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
