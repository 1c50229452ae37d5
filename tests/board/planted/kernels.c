// A kernel pack whose data is the true one of ds_cnn and whose kernels misbehave as plan.h says: what a device meets
// when a variant that was good in the lab is not on it. Linked into the first-boot program in place of the pack's own
// table.
#include <stdint.h>

#include "temper/kernel.h"

enum {
  GOOD,
  NEVER_RETURNS,
  BAD_ADDRESS,
  BAD_INSTRUCTION,
  WRITES_BEHIND,
  WRITES_BEFORE,
  WRITES_INPUT,
  WRONG_RESULT,
  RANDOMLY_SLOW
};
#include "plan.h"

extern const temper_pack true_pack;  // of the pack's object, renamed there
extern const uint64_t ds_cnn_data[];

static volatile int never_set;
// On a Cortex-M where no vendor put anything, elsewhere in the page that nothing is mapped to; volatile, so that no
// compiler sees what is about to happen.
#if defined(__arm__) && !defined(__linux__)
static volatile uintptr_t nowhere = 0xF0000000u;
#else
static volatile uintptr_t nowhere = 16;
#endif

typedef struct call {
  float* out;
  const float *a, *b, *bias, *addend;
  void* workspace;
  const int32_t* args;
  int32_t begin, end;
} call;

static void compute(int index, const call* c) {
  true_pack.kernels[index](c->out, c->a, c->b, c->bias, c->addend, c->workspace, c->args, c->begin, c->end);
}

static const struct plan* plan_of(const int32_t* args) {
  for (int w = 0; w < WORKLOAD_COUNT; ++w) {
    uint32_t same = 0;
    while (same < kPlans[w].dim_count && args[same] == kPlans[w].dims[same]) {
      ++same;
    }
    if (same == kPlans[w].dim_count) {
      return &kPlans[w];
    }
  }
  return &kPlans[0];
}

// Every other call, by a generator of G. Marsaglia ("Xorshift RNGs", 2003), takes four times as long.
static void dawdle(int index, const call* c) {
  static uint32_t state = 0x9E3779B9u;
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  for (int i = 0; (state & 0x100u) != 0 && i < 3; ++i) {
    compute(index, c);
  }
}

static void misbehave(int fault, int index, const call* c, uint32_t outputs) {
  switch (fault) {
    case NEVER_RETURNS:
      while (never_set == 0) {
      }
      break;
    case BAD_ADDRESS:
      *(volatile float*)nowhere = 1.0f;
      break;
    case BAD_INSTRUCTION:
      __builtin_trap();
    case WRITES_BEHIND:
      c->out[outputs] = 0.0f;
      break;
    case WRITES_BEFORE:
      c->out[-1] = 0.0f;
      break;
    case WRITES_INPUT:
      ((float*)c->a)[0] += 1.0f;
      break;
    case WRONG_RESULT:
      c->out[outputs / 2] += 1.0f;
      break;
    case RANDOMLY_SLOW:
      dawdle(index, c);
      break;
    default:
      break;
  }
}

// The right result first: only what is planted is wrong.
static void run(int index, const call* c) {
  const struct plan* const plan = plan_of(c->args);
  compute(index, c);
  misbehave(plan->fault[index], index, c, plan->outputs);
}

#define KERNEL(N)                                                                                            \
  static void kernel_##N(float* out, const float* a, const float* b, const float* bias, const float* addend, \
                         void* workspace, const int32_t* args, int32_t begin, int32_t end) {                 \
    const call c = {out, a, b, bias, addend, workspace, args, begin, end};                                   \
    run(N, &c);                                                                                              \
  }
#define FIRST(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#define SECOND(DO) DO(8) DO(9) DO(10) DO(11) DO(12) DO(13) DO(14) DO(15)
#define THIRD(DO) DO(16) DO(17) DO(18) DO(19) DO(20) DO(21) DO(22) DO(23)
#define FOURTH(DO) DO(24) DO(25) DO(26) DO(27) DO(28) DO(29) DO(30) DO(31)
FIRST(KERNEL)
SECOND(KERNEL)
THIRD(KERNEL)
FOURTH(KERNEL)
#define ENTRY(N) kernel_##N,
static const temper_kernel kKernels[] = {FIRST(ENTRY) SECOND(ENTRY) THIRD(ENTRY) FOURTH(ENTRY)};
_Static_assert(KERNEL_COUNT <= sizeof kKernels / sizeof *kKernels, "an entry for each kernel of the pack");

const temper_pack ds_cnn_pack = {
    .data = ds_cnn_data, .data_bytes = PACK_BYTES, .kernels = kKernels, .kernel_count = KERNEL_COUNT};
