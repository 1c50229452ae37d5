// A device that ships winners only, as `temper bake` makes them: opens them, plans and executes every workload on small
// integers, checks each result by its digest, and says how long it took. No tuner inside, no storage needed. Uses
// temper/winners.h and the board alone. Ends with 0 when every result was right.
#include <stdalign.h>
#include <stdbool.h>

#include "temper/winners.h"
#include "toolchains/boards/board.h"
#include "toolchains/firmware/console.h"

extern const temper_winners TEMPER_WINNERS;

enum { kAlignment = 64, kRuns = 3 };  // an interrupt of the clock falls into some runs
static alignas(kAlignment) unsigned char pool[TEMPER_POOL_BYTES];
static size_t pool_used;

/// NULL when the pool is too small.
static void* take(size_t bytes) {
  const size_t whole = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (whole < bytes || whole > sizeof pool - pool_used) {
    return NULL;
  }
  void* const at = pool + pool_used;
  pool_used += whole;
  return at;
}

/// One workload's tensors, filled; the packed constant in place of its operand.
static bool prepare(const temper_winner* winner, const temper_plan* plan, void* tensors[TEMPER_TENSOR_COUNT]) {
  for (int which = TEMPER_OUT; which < TEMPER_TENSOR_COUNT; ++which) {
    const size_t elements = winner->elements[which];
    tensors[which] = elements == 0 ? NULL : take(elements * sizeof(float));
    if (elements != 0 && tensors[which] == NULL) {
      return false;
    }
    temper_check_fill((temper_tensor)which, tensors[which], elements);
  }
  if (plan->packed_bytes == 0) {
    return true;
  }
  // Constants that were baked in hold the network's numbers, of which no digest is known: integers are packed instead.
  void* const packed = take(plan->packed_bytes);
  if (packed == NULL ||
      temper_pack_constant(plan, tensors[plan->packed_tensor], packed, plan->packed_bytes) != TEMPER_OK) {
    return false;
  }
  tensors[plan->packed_tensor] = packed;
  return true;
}

OWN_FRAME static bool execute(const temper_winners_view* winners, uint32_t index, const temper_port* port,
                              uint64_t* total_ns) {
  static temper_plan plan;
  const temper_winner* const winner = temper_winners_get(winners, index);
  const char* const name = temper_winners_name(winners, index);
  void* tensors[TEMPER_TENSOR_COUNT];
  pool_used = 0;
  if (temper_winners_plan(winners, index, 1, &plan) != TEMPER_OK) {
    return say_failure(name, "no plan");
  }
  const size_t workspace_bytes = plan.threads * plan.workspace_bytes;
  void* const workspace = take(workspace_bytes);
  if (workspace == NULL || !prepare(winner, &plan, tensors)) {
    return say_failure(name, "the pool is too small; configure with a larger TEMPER_POOL_BYTES");
  }
  temper_status status = TEMPER_OK;
  uint64_t took_ns = UINT64_MAX;
  for (int run = 0; run < kRuns && status == TEMPER_OK; ++run) {
    const uint64_t start_ns = port->now_ns(port->self);
    status = temper_execute(&plan, port, tensors, workspace, workspace_bytes);
    const uint64_t run_ns = port->now_ns(port->self) - start_ns;
    took_ns = run_ns < took_ns ? run_ns : took_ns;
  }
  if (status != TEMPER_OK) {
    return say_failure(name, temper_status_name(status));
  }
  *total_ns += took_ns * winner->count;
  board_print(name);
  say(": ", took_ns, " ns");
  say(", ", winner->count, " times, ");
  board_print(winners->source == TEMPER_SOURCE_DEFAULT || winner->tuned_ns == 0 ? "default" : "winner");
  board_print(temper_winners_constant(winners, index, 0) != NULL ? ", prepacked\n" : "\n");
  return winner->digest == 0 ||
         temper_check_digest(tensors[TEMPER_OUT], winner->elements[TEMPER_OUT]) == winner->digest ||
         say_failure(name, "the result differs from the reference");
}

static void say_device(const temper_winners_view* winners) {
  if (winners->fingerprint_fields == 0) {
    board_print("winners: tuned on this device\n");
    return;
  }
  board_print("winners: tuned where these differ:");
  for (uint32_t bit = 0; bit < 32; ++bit) {
    if ((winners->fingerprint_fields >> bit & 1u) != 0) {
      board_print(" ");
      board_print(temper_fingerprint_field(bit));
    }
  }
  board_print(winners->source == TEMPER_SOURCE_DEFAULT ? "; defaults are used\n" : "; used all the same\n");
}

int main(void) {
  const temper_port* const port = board_port();
  if (port == NULL) {
    return 1;
  }
  static temper_device device;
  board_facts(&device.facts);
  device.core_type = board_core_type();
  temper_winners_view winners;
  const char* reason = "";
  if (temper_winners_open(&winners, &TEMPER_WINNERS, &device, &reason) != TEMPER_OK) {
    say_failure("winners", reason);
    return 1;
  }
  say_device(&winners);
  bool good = true;
  uint64_t total_ns = 0;
  for (uint32_t i = 0; i < winners.count; ++i) {
    good = execute(&winners, i, port, &total_ns) && good;
  }
  say("total: ", total_ns, " ns, every occurrence counted\n");
  const board_memory memory = board_measure_memory();
  say("flash ", memory.flash_used, " bytes, ");
  say("RAM ", memory.ram_used, " bytes, ");
  say("stack ", memory.stack_used, " bytes\n");
  board_print(good ? "done\n" : "failed\n");
  return good ? 0 : 1;
}
