// A firmware's first boot: tunes the kernels it ships with, resets, finds its record in data flash and measures nothing
// again. Uses temper's C API and the board's port alone. Ends the emulator with 0 when everything is as it should be.
#include <stdbool.h>
#include <string.h>

#include "temper/temper.h"
#include "toolchains/cortex-m4/board.h"

extern const temper_pack board_pack;

// The pack with kernels that note they were called: a step that calls none is one of search.
enum { kKernels = 3 };
static bool kernel_called;
static temper_pack watched_pack;

enum { kArenaBytes = 13 * 1024, kTuningBytes = 12 * 1024 };
enum { kNsPerInstruction = 32 };  // as the emulator counts them, see boot_board.cmake
static uint64_t arena[kArenaBytes / sizeof(uint64_t)];
static uint64_t memory[kTuningBytes / sizeof(uint64_t)];

// Not inlined into main: their frames would lie under all of the tuner's.
#define OWN_FRAME __attribute__((noinline))

#define WATCHED_KERNEL(index)                                                                                    \
  static void kernel_##index(float* out, const float* a, const float* b, const float* bias, const float* addend, \
                             void* workspace, const int32_t* args, int32_t begin, int32_t end) {                 \
    kernel_called = true;                                                                                        \
    board_pack.kernels[index](out, a, b, bias, addend, workspace, args, begin, end);                             \
  }
WATCHED_KERNEL(0)
WATCHED_KERNEL(1)
WATCHED_KERNEL(2)
static const temper_kernel watched_kernels[kKernels] = {kernel_0, kernel_1, kernel_2};

static void say(const char* text, uint64_t number, const char* unit) {
  board_print(text);
  board_print_number(number);
  board_print(unit);
}

static bool expect(bool holds, const char* what) {
  if (!holds) {
    board_print("FAILED: ");
    board_print(what);
    board_print("\n");
  }
  return holds;
}

OWN_FRAME static void print_needs(const temper_config* config) {
  temper_need parts[8];
  size_t count = 0, total = 0;
  if (temper_requirements(config, parts, 8, &count, &total) == TEMPER_OK) {
    for (size_t i = 0; i < count && i < 8; ++i) {
      say("  arena ", parts[i].bytes, " bytes for ");
      board_print(parts[i].part);
      board_print("\n");
    }
    say("arena: ", total, " bytes in all\n");
  }
}

OWN_FRAME static temper_source print_answer(const temper_context* t, uint32_t workload) {
  temper_answer answer;
  const temper_status status = temper_lookup(t, workload, &answer);
  board_print(temper_workload_name(t, workload));
  if (status != TEMPER_OK) {
    board_print(": no answer\n");
    return TEMPER_SOURCE_COUNT;
  }
  board_print(": from ");
  board_print(temper_source_name(answer.source));
  board_print(", history: ");
  board_print(temper_miss_name(answer.missed[TEMPER_SOURCE_HISTORY]));
  say(", default ", answer.default_ns, " ns");
  say(", tuned ", answer.tuned_ns, " ns\n");
  return answer.source;
}

OWN_FRAME static uint32_t tune(temper_context* t) {
  const temper_budget budget = {.time_ns = 20000000000u, .trials = 64};
  temper_progress progress = {0};
  const temper_port* port = board_port();
  uint64_t longest_ns = 0;
  temper_status status = temper_tune_start(t, &budget, memory, sizeof memory);
  status = status == TEMPER_OK ? TEMPER_MORE : status;
  while (status == TEMPER_MORE) {
    kernel_called = false;
    const uint64_t start_ns = port->now_ns(port->self);
    status = temper_tune_step(t, &progress);
    const uint64_t took_ns = port->now_ns(port->self) - start_ns;
    longest_ns = !kernel_called && took_ns > longest_ns ? took_ns : longest_ns;
  }
  board_print("tuning ended: ");
  board_print(temper_status_name(status));
  say(", ", progress.trials, " trials");
  say(", ", progress.elapsed_ns / 1000000, " ms\n");
  say("longest step of search: ", longest_ns / kNsPerInstruction, " instructions\n");
  return progress.trials;
}

// Plans the workload, packs its constant, executes it on buffers of ours and compares every element with the
// definition.
OWN_FRAME static bool execute(const temper_context* t, uint32_t workload, uint32_t m, uint32_t n, uint32_t k) {
  temper_plan plan;
  if (temper_make_plan(t, workload, &plan) != TEMPER_OK) {
    return expect(false, "a plan is made");
  }
  float* const a = (float*)memory;
  float* const b = a + m * k;
  float* const bias = b + k * n;
  float* const out = bias + n;
  uint8_t* packed = (uint8_t*)(((uintptr_t)(out + m * n) + 63) & ~(uintptr_t)63);
  uint8_t* workspace = packed + ((plan.packed_bytes + 63) & ~63u);
  if (!expect(workspace + plan.workspace_bytes <= (uint8_t*)memory + sizeof memory, "the buffers fit")) {
    return false;
  }
  for (uint32_t i = 0; i < m * k; ++i) {
    a[i] = (float)(int32_t)(i * 7 % 11) - 5.0f;
  }
  for (uint32_t i = 0; i < k * n; ++i) {
    b[i] = (float)(int32_t)(i * 5 % 13) - 6.0f;
  }
  for (uint32_t i = 0; i < n; ++i) {
    bias[i] = (float)i;
  }
  void* tensors[TEMPER_TENSOR_COUNT] = {out, a, b, bias, NULL};
  if (plan.packed_bytes > 0) {
    if (temper_pack_constant(&plan, tensors[plan.packed_tensor], packed, plan.packed_bytes) != TEMPER_OK) {
      return expect(false, "the constant is packed");
    }
    tensors[plan.packed_tensor] = packed;
  }
  if (temper_execute(&plan, board_port(), tensors, workspace, plan.workspace_bytes) != TEMPER_OK) {
    return expect(false, "the plan is executed");
  }
  for (uint32_t row = 0; row < m; ++row) {
    for (uint32_t column = 0; column < n; ++column) {
      float sum = bias[column];
      for (uint32_t i = 0; i < k; ++i) {
        sum += a[row * k + i] * b[i * n + column];
      }
      if (out[row * n + column] != sum) {
        return expect(false, "the result is that of the definition");
      }
    }
  }
  board_print("result: right\n");
  return true;
}

static void print_memory(void) {
  const board_memory used = board_measure_memory();
  say("flash ", used.flash_used, " bytes, ");
  say("RAM ", used.ram_used, " bytes, ");
  say("stack ", used.stack_used, " of ");
  say("", used.stack_size, " bytes\n");
}

int main(void) {
  const bool first = board_boot_count() == 1;
  say("boot ", board_boot_count(), "\n");
  watched_pack = board_pack;
  watched_pack.kernels = watched_kernels;
  const temper_config config = {.pack = &watched_pack,
                                .port = board_port(),
                                .facts = {{[TEMPER_FACT_VECTOR_LANES] = 1,
                                           [TEMPER_FACT_VECTOR_REGISTERS] = 32,
                                           [TEMPER_FACT_CORES] = 1,
                                           [TEMPER_FACT_THREADS] = 1,
                                           [TEMPER_FACT_CLOCK_KHZ] = 25000,
                                           [TEMPER_FACT_COPY_MB_S] = 50,
                                           [TEMPER_FACT_FMA_LATENCY] = 3,
                                           [TEMPER_FACT_FMA_PER_CYCLE] = 1}},
                                .max_trials = 128,
                                .target_hash = 0x4D34u,
                                .seed = 1};
  print_needs(&config);
  temper_context* t = NULL;
  const temper_status status = temper_init(&t, &config, arena, sizeof arena);
  if (status != TEMPER_OK) {
    board_print(temper_status_name(status));
    return !expect(false, "temper starts");
  }
  say("tuning memory: ", temper_tuning_bytes(t), " bytes\n");
  uint32_t workload = 0;
  bool good = expect(board_pack.kernel_count == kKernels, "every kernel is watched");
  good &= expect(temper_find_workload(t, "dense", &workload) == TEMPER_OK, "the pack knows the workload");
  const temper_source before = print_answer(t, workload);
  good &= expect(before == (first ? TEMPER_SOURCE_DEFAULT : TEMPER_SOURCE_HISTORY),
                 "the record is there after the reset, and not before");
  const uint32_t trials = tune(t);
  good &= expect(first ? trials > 1 : trials == 0, "the first boot measures, the second does not");
  good &= expect(print_answer(t, workload) == TEMPER_SOURCE_HISTORY, "the result is in the history");
  good &= execute(t, workload, 16, 24, 32);
  print_memory();
  if (first && good) {
    board_print("reset\n");
    board_reset();
  }
  board_print(good ? "done\n" : "failed\n");
  return good ? 0 : 1;
}
