// A device's first boot: says what it needs, tunes the kernels it ships with inside its budget, prints its history and
// resets; the next boot finds everything and measures nothing. Uses temper's C API and the board's port alone.
// Ends with 0 when all went as it should, 1 when not, 2 when the options are not understood.
#include <stdalign.h>
#include <stdbool.h>

#include "temper/temper.h"
#include "toolchains/boards/board.h"
#include "toolchains/firmware/console.h"
#include "toolchains/firmware/history_dump.h"
#include "toolchains/firmware/options.h"
#include "toolchains/firmware/report.h"

extern const temper_pack TEMPER_PACK;

// All memory that temper works in: its arena first, behind it what tuning lends for tensors.
static alignas(64) unsigned char pool[TEMPER_POOL_BYTES];

static bool say_failure(const char* what, temper_status status) {
  board_print("FAILED: ");
  board_print(what);
  board_print(": ");
  board_print(temper_status_name(status));
  board_print("\n");
  return false;
}

OWN_FRAME static bool run_trials(temper_context* t, const first_boot_options* options, size_t arena_bytes) {
  const temper_budget budget = {.time_ns = options->budget_ms * (uint64_t)1000000,
                                .trials = options->trials,
                                .trials_per_workload = options->trials_per_workload};
  temper_progress progress = {0};
  uint32_t outcomes[TEMPER_OUTCOME_COUNT] = {0};
  say("budget: ", options->budget_ms, " ms, ");
  say("", options->trials, " trials\n");
  temper_status status = temper_tune_start(t, &budget, pool + arena_bytes, sizeof pool - arena_bytes);
  if (status != TEMPER_OK) {
    return say_failure("tuning does not start", status);
  }
  do {
    const uint32_t before = progress.trials;
    status = temper_tune_step(t, &progress);
    if (progress.trials != before) {
      ++outcomes[progress.last_outcome];
    }
  } while (status == TEMPER_MORE);
  report_progress(status, &progress, outcomes);
  return status == TEMPER_OK || status == TEMPER_BUDGET_SPENT || say_failure("tuning", status);
}

// What the network's kernels run with is known before and after; in between trials are measured, unless nothing is left
// to find out.
OWN_FRAME static bool tune(temper_context* t, const first_boot_options* options, size_t arena_bytes) {
  board_print("before\n");
  report_answers(t);
  const bool good = run_trials(t, options, arena_bytes);
  board_print("after\n");
  const network_times times = report_answers(t);
  return good &&
         (times.from_history == temper_workload_count(t) || say_failure("a workload has no result", TEMPER_NOT_FOUND));
}

OWN_FRAME static bool run(const first_boot_options* options, const temper_port* port) {
  temper_config config = {.pack = &TEMPER_PACK,
                          .port = port,
                          .max_trials = options->max_trials,
                          .target_hash = 1,
                          .core_type = board_core_type(),
                          .seed = options->seed};
  board_facts(&config.facts);
  size_t arena_bytes = 0;
  temper_status status = report_needs(&config, sizeof pool, &arena_bytes);
  if (status != TEMPER_OK) {
    return say_failure("needs", status);
  }
  arena_bytes = (arena_bytes + 63) / 64 * 64;
  if (arena_bytes >= sizeof pool) {
    return say_failure("the pool is too small; configure with a larger TEMPER_POOL_BYTES", TEMPER_NO_MEMORY);
  }
  temper_context* t = NULL;
  status = temper_init(&t, &config, pool, arena_bytes);
  if (status != TEMPER_OK) {
    return say_failure("temper does not start", status);
  }
  report_tensors(t, sizeof pool - arena_bytes);
  return tune(t, options, arena_bytes);
}

int main(void) {
  first_boot_options options;
  const temper_port* const port = board_port();
  if (port == NULL) {
    return 1;
  }
  if (!read_options(&options)) {
    return 2;
  }
  report_boot(mode_name(options.mode));
  const bool good = run(&options, port);
  report_memory();
  if (options.dump != 0 && port->storage != NULL) {
    const temper_status status = dump_history(port->storage);
    if (status != TEMPER_OK) {
      say_failure("the history cannot be read", status);
      return 1;
    }
  }
  if (good && board_boot_count() < options.boots) {
    board_reset();
  }
  board_print(good ? "done\n" : "failed\n");
  return good ? 0 : 1;
}
