// A device's first boot: tries the port, says what is needed, tunes the kernels it ships with inside its budget, prints
// the history and resets; the next boot finds everything and measures nothing. As collect_boot it only measures, to
// make training data. Uses temper's C API and the board alone. Ends with 0 when all went as it should, 1 when not, 2
// when the options are not understood.
#include <stdalign.h>
#include <stdbool.h>

#include "temper/port_check.h"
#include "temper/temper.h"
#include "toolchains/boards/board.h"
#include "toolchains/firmware/compare_plain.h"
#include "toolchains/firmware/console.h"
#include "toolchains/firmware/history_dump.h"
#include "toolchains/firmware/options.h"
#include "toolchains/firmware/profile.h"
#include "toolchains/firmware/report.h"
#include "toolchains/firmware/report_failures.h"
#include "toolchains/firmware/trial_run.h"

extern const temper_pack TEMPER_PACK;

// All memory that temper works in: its arena first, behind it what tuning lends for tensors.
static alignas(64) unsigned char pool[TEMPER_POOL_BYTES];
static size_t arena_bytes;

OWN_FRAME static bool check_port(const temper_port* port) {
  temper_port_report report;
  const temper_status status = temper_check_port(port, TEMPER_PORT_FREE_BLOCK, pool, &report);
  say("port: clock resolution ", report.clock_resolution_ns, " ns, ");
  if (port->storage != NULL) {
    say("storage ", port->storage->size_bytes, " bytes");
    say(" programmed by ", port->storage->program_bytes, "");
    say(" and erased by ", port->storage->erase_bytes, ": ");
  } else {
    board_print("no storage: ");
  }
  board_print(report.reason);
  board_print("\n");
  return status == TEMPER_OK;
}

// In turn: waits for what ends the boot, and in the next boot says what did.
OWN_FRAME static bool try_guard(const first_boot_options* options, const temper_port* port) {
  const board_cause expected = options->mode == MODE_ALARM ? BOARD_ALARM : BOARD_WATCHDOG;
  if (board_boot_count() > 1) {
    return board_last_cause() == expected ||
           say_failure(mode_name(options->mode), "something else ended the boot before");
  }
  if (options->mode == MODE_ALARM && port->set_alarm != NULL) {
    port->set_alarm(port->self, 50000000);
  }
  const uint64_t start_ns = port->now_ns(port->self);
  while (port->now_ns(port->self) - start_ns < 20000000000u) {
  }
  return say_failure(mode_name(options->mode), "it did not end the boot within 20 s");
}

// What the network's kernels run with is known before and after; in between trials are measured, unless nothing is left
// to find out.
OWN_FRAME static bool tune(temper_context* t, const first_boot_options* options, const temper_port* port) {
  board_print("before\n");
  report_answers(t);
  const bool ended = run_trials(t, options, pool + arena_bytes, sizeof pool - arena_bytes);
  board_print("after\n");
  const uint32_t known = report_answers(t);
  report_history(t);
  const uint32_t hopeless = report_failures(t);
  if (!ended) {
    return say_failure("trials", "the run ended for the reason above");
  }
  if (first_boot_commits && known + hopeless < temper_workload_count(t)) {
    say("unfinished: ", known, " workloads have a result; what was measured is kept and the next boot goes on\n");
    return board_boot_count() < options->boots;
  }
  if (hopeless != 0) {
    return board_boot_count() < options->boots ||
           say_failure("network", "nothing works for a workload of it, see above");
  }
  return options->plain == 0 || compare_with_plain_loops(t, port, pool + arena_bytes, sizeof pool - arena_bytes) ||
         say_failure("tuned kernels", "a result differs from the plain loop nest's");
}

OWN_FRAME static bool start(const temper_config* config, temper_context** t) {
  size_t bytes = 0;
  temper_status status = report_needs(config, sizeof pool, &bytes);
  if (status != TEMPER_OK) {
    return say_failure("pack, facts or max-trials are not usable", temper_status_name(status));
  }
  arena_bytes = (bytes + 63) / 64 * 64;
  if (arena_bytes >= sizeof pool) {
    return say_failure("the pool", "too small for the arena; configure with a larger TEMPER_POOL_BYTES");
  }
  status = temper_init(t, config, pool, arena_bytes);
  return status == TEMPER_OK || say_failure("temper does not start", temper_status_name(status));
}

static void change_board(const first_boot_options* options, temper_config* config) {
  if (board_boot_count() == 1) {
    return;
  }
  config->driver = options->next_driver;
  if (options->next_clock_percent != 0) {
    int32_t* const clock = &config->facts.value[TEMPER_FACT_CLOCK_KHZ];
    *clock = (int32_t)(*clock * (int64_t)options->next_clock_percent / 100);
  }
}

OWN_FRAME static bool run(const first_boot_options* options, const temper_port* port) {
  if (!check_port(port)) {
    return say_failure("port", "mend the board's port; nothing is tuned on it");
  }
  if (options->mode == MODE_ALARM || options->mode == MODE_WATCHDOG) {
    return try_guard(options, port);
  }
  static temper_config config;
  config = (temper_config){.pack = &TEMPER_PACK,
                           .port = watch_port(port),
                           .learning = profile_learning,
                           .defaults = board_defaults,
                           .nearest = profile_nearest,
                           .max_trials = options->max_trials,
                           .core_type = board_core_type(),
                           .seed = options->seed};
  board_facts(&config.facts);
  config.memories = board_memories(&config.memory_count);
  change_board(options, &config);
  temper_context* t = NULL;
  if (!start(&config, &t)) {
    return false;
  }
  report_tensors(t, sizeof pool - arena_bytes);
  return tune(t, options, port);
}

int main(void) {
  static first_boot_options options;
  const temper_port* const port = board_port();
  if (port == NULL) {
    return 1;
  }
  if (!read_options(&options)) {
    return 2;
  }
  if (options.mode == MODE_CHECK || options.mode == MODE_EXHAUST) {
    say_failure(mode_name(options.mode), "this mode is one of every_config");
    return 2;
  }
  report_boot(options.mode != MODE_TUNE || first_boot_commits ? mode_name(options.mode) : "collect");
  const bool good = run(&options, port);
  report_memory();
  if (options.dump != 0 && dump_history(port->storage) != TEMPER_OK) {
    say_failure("history", "it cannot be read");
    return 1;
  }
  if (good && board_boot_count() < options.boots) {
    board_reset();
  }
  board_print(good ? "done\n" : "failed\n");
  return good ? 0 : 1;
}
