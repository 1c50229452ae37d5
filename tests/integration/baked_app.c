// An application that ships winners only: opens them, plans and executes every workload and checks each result by its
// digest. Compiled and linked by bake_command_test against what `temper bake` wrote.
// baked_app [other]: with `other` it takes itself for another core than the one that tuned.
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#include TEMPER_WINNERS_HEADER

static alignas(64) unsigned char pool[4 << 20];
static size_t used;

static void* take(size_t bytes) {
  void* const at = pool + used;
  used += (bytes + 63) / 64 * 64;
  return used <= sizeof pool ? at : NULL;
}

/// The operand that the plan packs: baked in, or packed here.
static const char* place_constant(const temper_winners_view* view, uint32_t index, uint32_t occurrence,
                                  const temper_plan* plan, void* tensors[TEMPER_TENSOR_COUNT]) {
  if (plan->packed_bytes == 0) {
    return "unpacked";
  }
  const void* const baked = temper_winners_constant(view, index, occurrence);
  if (baked != NULL) {
    tensors[plan->packed_tensor] = (void*)(uintptr_t)baked;
    return "prepacked";
  }
  void* const packed = take(plan->packed_bytes);
  if (temper_pack_constant(plan, tensors[plan->packed_tensor], packed, plan->packed_bytes) != TEMPER_OK) {
    return "not packed";
  }
  tensors[plan->packed_tensor] = packed;
  return "packed here";
}

static int execute(const temper_winners_view* view, uint32_t index, uint32_t occurrence) {
  const temper_winner* const winner = temper_winners_get(view, index);
  temper_plan plan;
  used = 0;
  if (temper_winners_plan(view, index, 1, &plan) != TEMPER_OK) {
    return 1;
  }
  void* tensors[TEMPER_TENSOR_COUNT];
  for (int which = TEMPER_OUT; which < TEMPER_TENSOR_COUNT; ++which) {
    tensors[which] = winner->elements[which] == 0 ? NULL : take(winner->elements[which] * sizeof(float));
    temper_check_fill((temper_tensor)which, tensors[which], winner->elements[which]);
  }
  void* const out = tensors[TEMPER_OUT];
  memset(out, 0xA5, winner->elements[TEMPER_OUT] * sizeof(float));
  const char* const constant = place_constant(view, index, occurrence, &plan, tensors);
  const size_t workspace_bytes = (size_t)plan.threads * plan.workspace_bytes;
  if (temper_execute(&plan, NULL, tensors, take(workspace_bytes), workspace_bytes) != TEMPER_OK) {
    return 1;
  }
  const int right = temper_check_digest(out, winner->elements[TEMPER_OUT]) == winner->digest;
  printf("%s %u %s: %s\n", temper_winners_name(view, index), occurrence, constant, right ? "right" : "WRONG");
  return !right;
}

int main(int argc, char** argv) {
  temper_winners_view view;
  const char* reason = "";
  temper_device other = {.core_type = 0x0BADC0DEu};
  const int is_other = argc > 1 && strcmp(argv[1], "other") == 0;
  if (temper_winners_open(&view, &TEMPER_WINNERS, is_other ? &other : NULL, &reason) != TEMPER_OK) {
    fprintf(stderr, "not opened: %s\n", reason);
    return 1;
  }
  printf("%s, differing %x\n", view.source == TEMPER_SOURCE_DEFAULT ? "defaults" : "winners", view.fingerprint_fields);
  int failures = 0;
  for (uint32_t i = 0; i < view.count; ++i) {
    for (uint32_t occurrence = 0; occurrence < temper_winners_get(&view, i)->count; ++occurrence) {
      failures += execute(&view, i, occurrence);
    }
  }
  return failures;
}
