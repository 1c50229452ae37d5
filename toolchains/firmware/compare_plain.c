#include "toolchains/firmware/compare_plain.h"

#include "toolchains/boards/board.h"
#include "toolchains/firmware/console.h"
#include "toolchains/firmware/plain_loops.h"

enum { kAlignment = 64, kRuns = 3 };

typedef struct space_left {
  unsigned char* at;
  size_t bytes;
} space_left;

static void* take(space_left* space, size_t bytes) {
  const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (rounded > space->bytes) {
    return NULL;
  }
  void* const taken = space->at;
  space->at += rounded;
  space->bytes -= rounded;
  return taken;
}

typedef struct comparison {
  float *out, *plain_out;
  void* tensors[TEMPER_TENSOR_COUNT];
  void *packed, *workspace;
  size_t workspace_bytes;
  temper_plan plan;
} comparison;

// Small integers, so that sums are exact in whatever order.
static void fill(float* values, size_t count, uint32_t step) {
  for (size_t i = 0; i < count; ++i) {
    values[i] = (float)(int32_t)(i * step % 13) - 6.0f;
  }
}

static bool place(comparison* c, const plain_loop* loop, space_left space) {
  float* const image = take(&space, loop->image_elements * sizeof(float));
  float* const filter = take(&space, loop->filter_elements * sizeof(float));
  float* const bias = take(&space, loop->bias_elements * sizeof(float));
  c->out = take(&space, loop->out_elements * sizeof(float));
  c->plain_out = take(&space, loop->out_elements * sizeof(float));
  c->packed = take(&space, c->plan.packed_bytes);
  c->workspace_bytes = (size_t)c->plan.threads * c->plan.workspace_bytes;
  c->workspace = take(&space, c->workspace_bytes);
  if (image == NULL || filter == NULL || bias == NULL || c->out == NULL || c->plain_out == NULL || c->packed == NULL ||
      c->workspace == NULL) {
    return false;
  }
  fill(image, loop->image_elements, 7);
  fill(filter, loop->filter_elements, 5);
  fill(bias, loop->bias_elements, 3);
  c->tensors[TEMPER_OUT] = c->out;
  c->tensors[TEMPER_IN_A] = image;
  c->tensors[TEMPER_IN_B] = filter;
  c->tensors[TEMPER_BIAS] = bias;
  c->tensors[TEMPER_ADDEND] = NULL;
  return true;
}

static uint64_t time_plain(const comparison* c, const plain_loop* loop, const temper_port* port) {
  uint64_t best_ns = UINT64_MAX;
  for (int run = 0; run < kRuns; ++run) {
    const uint64_t start_ns = port->now_ns(port->self);
    loop->run(c->plain_out, c->tensors[TEMPER_IN_A], c->tensors[TEMPER_IN_B], c->tensors[TEMPER_BIAS]);
    const uint64_t took_ns = port->now_ns(port->self) - start_ns;
    best_ns = took_ns < best_ns ? took_ns : best_ns;
  }
  return best_ns;
}

static temper_status time_tuned(const comparison* c, const temper_port* port, uint64_t* best_ns) {
  void* tensors[TEMPER_TENSOR_COUNT];
  for (int which = 0; which < TEMPER_TENSOR_COUNT; ++which) {
    tensors[which] = c->tensors[which];
  }
  if (c->plan.packed_bytes > 0) {
    const temper_status status =
        temper_pack_constant(&c->plan, tensors[c->plan.packed_tensor], c->packed, c->plan.packed_bytes);
    if (status != TEMPER_OK) {
      return status;
    }
    tensors[c->plan.packed_tensor] = c->packed;
  }
  *best_ns = UINT64_MAX;
  for (int run = 0; run < kRuns; ++run) {
    const uint64_t start_ns = port->now_ns(port->self);
    const temper_status status = temper_execute(&c->plan, port, tensors, c->workspace, c->workspace_bytes);
    const uint64_t took_ns = port->now_ns(port->self) - start_ns;
    if (status != TEMPER_OK) {
      return status;
    }
    *best_ns = took_ns < *best_ns ? took_ns : *best_ns;
  }
  return TEMPER_OK;
}

static bool same(const comparison* c, const plain_loop* loop) {
  for (size_t i = 0; i < loop->out_elements; ++i) {
    if (c->out[i] != c->plain_out[i]) {
      return false;
    }
  }
  return true;
}

static bool is_as_named(const temper_context* t, uint32_t workload, const plain_loop* loop) {
  return temper_tensor_elements(t, workload, TEMPER_OUT) == loop->out_elements &&
         temper_tensor_elements(t, workload, TEMPER_IN_A) == loop->image_elements &&
         temper_tensor_elements(t, workload, TEMPER_IN_B) == loop->filter_elements &&
         temper_tensor_elements(t, workload, TEMPER_BIAS) == loop->bias_elements;
}

// Adds count * time to the sums when both were timed.
OWN_FRAME static bool compare_one(const temper_context* t, const temper_port* port, uint32_t workload,
                                  const plain_loop* loop, space_left space, uint64_t sums_ns[2]) {
  static comparison c;
  board_print("plain ");
  board_print(loop->workload);
  if (temper_make_plan(t, workload, &c.plan) != TEMPER_OK) {
    board_print(": no plan\n");
    return false;
  }
  if (!place(&c, loop, space)) {
    board_print(": does not fit\n");
    return true;
  }
  uint64_t tuned_ns = 0;
  if (time_tuned(&c, port, &tuned_ns) != TEMPER_OK) {
    board_print(": the plan is not executed\n");
    return false;
  }
  const uint64_t plain_ns = time_plain(&c, loop, port);
  const bool right = same(&c, loop);
  say(": plain ", plain_ns, " ns");
  say(", temper ", tuned_ns, " ns, ratio ");
  say_ratio(tuned_ns, plain_ns);
  board_print(right ? ", same result\n" : ", DIFFERENT RESULT\n");
  sums_ns[0] += plain_ns * temper_workload_occurrences(t, workload);
  sums_ns[1] += tuned_ns * temper_workload_occurrences(t, workload);
  return right;
}

bool compare_with_plain_loops(const temper_context* t, const temper_port* port, unsigned char* memory, size_t bytes) {
  const space_left space = {memory, bytes};
  uint64_t sums_ns[2] = {0, 0};
  bool good = true;
  for (uint32_t w = 0; w < temper_workload_count(t); ++w) {
    const plain_loop* const loop = find_plain_loop(temper_workload_name(t, w));
    if (loop != NULL && is_as_named(t, w, loop)) {
      good &= compare_one(t, port, w, loop, space, sums_ns);
    }
  }
  if (sums_ns[0] > 0) {
    say("plain total: plain ", sums_ns[0], " ns");
    say(", temper ", sums_ns[1], " ns, ratio ");
    say_ratio(sums_ns[1], sums_ns[0]);
    board_print("\n");
  }
  return good;
}
