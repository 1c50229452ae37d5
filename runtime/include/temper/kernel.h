// The calling convention of every compiled kernel, from the JIT or from a kernel pack, and how a pack is handed over.
// Called by the executor and by runners; kernels never allocate and never touch memory outside their tensors.
#ifndef TEMPER_KERNEL_H
#define TEMPER_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TEMPER_MAX_KNOBS 32
#define TEMPER_MAX_DIMS 48

/// The tensors of a kernel, in the order of its parameters. An absent one is NULL.
typedef enum temper_tensor {
  TEMPER_OUT = 0,
  TEMPER_IN_A,  ///< left operand of a matmul; image of a convolution
  TEMPER_IN_B,  ///< right operand of a matmul; filter of a convolution
  TEMPER_BIAS,
  TEMPER_ADDEND,  ///< residual of the epilogue; same shape and layout as the output
  TEMPER_TENSOR_COUNT
} temper_tensor;

/// Computes the work items [begin, end) of the grid. The union over the grid writes every element of `out` once.
/// `a` or `b` is the packed buffer where the plan packs that operand. `workspace` belongs to this call alone, is
/// aligned to 64 bytes and uninitialised. `args` holds the workload's dims, then one value per knob; kernels built with
/// everything constant ignore it.
typedef void (*temper_kernel)(float* out, const float* a, const float* b, const float* bias, const float* addend,
                              void* workspace, const int32_t* args, int32_t begin, int32_t end);

/// A kernel pack: verified data (runtime/format/pack.fbs) and the entry points its variants name by index.
/// Both are read in place and must outlive every object made from them.
typedef struct temper_pack {
  const void* data;  ///< aligned to 8 bytes
  size_t data_bytes;
  const temper_kernel* kernels;  ///< NULL where the runner builds kernels itself (JIT, replay)
  uint32_t kernel_count;
} temper_pack;

/// What is known of the machine; expressions read them by index. Persisted by index: append only.
typedef enum temper_fact {
  TEMPER_FACT_VECTOR_LANES = 0,  ///< f32 lanes of the widest vector register used; 1 on a scalar core
  TEMPER_FACT_VECTOR_REGISTERS,
  TEMPER_FACT_L1D_BYTES,  ///< 0: no data cache
  TEMPER_FACT_L2_BYTES,   ///< share of one core; 0: none
  TEMPER_FACT_L3_BYTES,   ///< share of one core; 0: none
  TEMPER_FACT_CORES,
  TEMPER_FACT_THREADS,        ///< threads a plan may use
  TEMPER_FACT_CLOCK_KHZ,      ///< nominal or measured
  TEMPER_FACT_COPY_MB_S,      ///< large copies, bytes read plus written, one thread
  TEMPER_FACT_FMA_LATENCY,    ///< cycles
  TEMPER_FACT_FMA_PER_CYCLE,  ///< vector fused multiply-adds started per cycle
  TEMPER_FACT_MEMORIES,       ///< memories a plan may place its packed constant and workspace in; 0 and 1: one
  TEMPER_FACT_COUNT
} temper_fact;

typedef struct temper_facts {
  int32_t value[TEMPER_FACT_COUNT];
} temper_facts;

/// Name of one field of a fingerprint by bit number: "target", "core type", ...
const char* temper_fingerprint_field(uint32_t bit);

#ifdef __cplusplus
}
#endif
#endif
