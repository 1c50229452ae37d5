#include "toolchains/firmware/report_failures.h"

#include <stdbool.h>

#include "toolchains/boards/board.h"
#include "toolchains/firmware/console.h"

enum { kMostWorkloads = 256 };  // told apart; of those behind, every failure is listed

typedef struct workload_set {
  uint32_t bits[kMostWorkloads / 32];
} workload_set;

typedef struct failures {
  const temper_context* t;
  workload_set tried, works, default_works;
} failures;

static bool holds(const workload_set* set, uint32_t workload) {
  return workload < kMostWorkloads && (set->bits[workload / 32] >> workload % 32 & 1u) != 0;
}

static void insert(workload_set* set, uint32_t workload) {
  if (workload < kMostWorkloads) {
    set->bits[workload / 32] |= 1u << workload % 32;
  }
}

static void tally(void* self, const temper_trial* trial) {
  failures* const all = self;
  insert(&all->tried, trial->workload);
  if (trial->outcome == TEMPER_OUTCOME_OK) {
    insert(&all->works, trial->workload);
    if (trial->is_default) {
      insert(&all->default_works, trial->workload);
    }
  }
}

// A default that crashed once and works was met by a power cut: it is not left out.
static bool is_quarantined(const failures* all, const temper_trial* trial) {
  const bool failed = trial->outcome == TEMPER_OUTCOME_CRASHED || trial->outcome == TEMPER_OUTCOME_TIMEOUT ||
                      trial->outcome == TEMPER_OUTCOME_WRONG_RESULT;
  return failed && !(trial->is_default && holds(&all->default_works, trial->workload));
}

OWN_FRAME static void list(void* self, const temper_trial* trial) {
  failures* const all = self;
  if (!is_quarantined(all, trial)) {
    return;
  }
  board_print("quarantined: ");
  board_print(temper_workload_name(all->t, trial->workload));
  board_print(trial->is_default ? " default" : "");
  for (uint32_t k = 0; k < trial->knob_count; ++k) {
    board_print(" ");
    if (trial->knob_name[k] != NULL && trial->knob_name[k][0] != 0) {
      board_print(trial->knob_name[k]);
    } else {
      say_number(trial->knob_id[k]);
    }
    say("=", (uint64_t)trial->value[k], "");
  }
  board_print(": ");
  board_print(temper_outcome_name(trial->outcome));
  board_print("\n");
}

OWN_FRAME uint32_t report_failures(temper_context* t) {
  static failures all;
  static temper_trial trial;
  all = (failures){.t = t};
  const temper_status status = temper_visit_trials(t, &trial, &all, tally);
  if (status == TEMPER_OK) {
    (void)temper_visit_trials(t, &trial, &all, list);
  } else {
    board_print("quarantined: cannot be told, no history is kept: ");
    board_print(temper_status_name(status));
    board_print("\n");
  }
  uint32_t hopeless = 0;
  for (uint32_t w = 0; w < temper_workload_count(t); ++w) {
    if (holds(&all.tried, w) && !holds(&all.works, w)) {
      ++hopeless;
      board_print("nothing works: ");
      board_print(temper_workload_name(t, w));
      board_print(", every config tried failed; do not run it\n");
    }
  }
  return hopeless;
}
