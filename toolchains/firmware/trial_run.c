#include "toolchains/firmware/trial_run.h"

#include "toolchains/boards/board.h"
#include "toolchains/firmware/console.h"

static temper_port watched;
static void (*board_alarm)(void* self, uint64_t after_ns);
static bool kernel_called;
static bool without_kernels;  // of the stack
static uint32_t stack_before_kernel;

// The core sets the alarm right before it calls a kernel and takes it back right after.
static void set_watched_alarm(void* self, uint64_t after_ns) {
  kernel_called |= after_ns != 0;
  if (without_kernels && after_ns != 0) {
    stack_before_kernel = board_measure_memory().stack_used;
  } else if (without_kernels) {
    board_forget_stack(stack_before_kernel);
  }
  if (board_alarm != NULL) {
    board_alarm(self, after_ns);
  }
}

const temper_port* watch_port(const temper_port* port) {
  watched = *port;
  board_alarm = port->set_alarm;
  watched.set_alarm = set_watched_alarm;
  return &watched;
}

OWN_FRAME static void print_end(temper_status status, const temper_progress* progress,
                                const uint32_t outcomes[TEMPER_OUTCOME_COUNT], uint64_t longest_ns) {
  board_print("ended: ");
  board_print(temper_status_name(status));
  say(", ", progress->trials, " trials");
  say(", ", progress->elapsed_ns / 1000000, " ms\n");
  board_print("outcomes:");
  for (int outcome = 0; outcome < TEMPER_OUTCOME_COUNT; ++outcome) {
    board_print(outcome == 0 ? " " : ", ");
    board_print(temper_outcome_name((temper_outcome)outcome));
    say(" ", outcomes[outcome], "");
  }
  say("\nlongest step of search: ", longest_ns, " ns");
  if (board_ns_per_instruction() != 0) {
    say(" (", longest_ns / board_ns_per_instruction(), " instructions)");
  }
  board_print("\n");
}

static temper_status step(temper_context* t, temper_progress* progress, uint64_t* longest_ns) {
  kernel_called = false;
  const uint64_t start_ns = watched.now_ns(watched.self);
  const temper_status status = temper_tune_step(t, progress);
  const uint64_t took_ns = watched.now_ns(watched.self) - start_ns;
  *longest_ns = !kernel_called && took_ns > *longest_ns ? took_ns : *longest_ns;
  return status;
}

OWN_FRAME bool run_trials(temper_context* t, const first_boot_options* options, void* memory, size_t bytes) {
  static temper_budget budget;
  budget = (temper_budget){.time_ns = options->budget_ms * (uint64_t)1000000,
                           .trials = options->trials,
                           .trials_per_workload = options->trials_per_workload};
  static temper_progress progress;
  static uint32_t outcomes[TEMPER_OUTCOME_COUNT];
  static uint64_t longest_ns;
  without_kernels = options->stack_of_kernels == 0;
  say("budget: ", options->budget_ms, " ms, ");
  say("", options->trials, " trials\n");
  temper_status status = first_boot_start(t, &budget, memory, bytes);
  status = status == TEMPER_OK ? TEMPER_MORE : status;
  while (status == TEMPER_MORE) {
    const uint32_t before = progress.trials;
    status = step(t, &progress, &longest_ns);
    if (progress.trials != before) {
      ++outcomes[progress.last_outcome];
    }
  }
  print_end(status, &progress, outcomes, longest_ns);
  return status == TEMPER_OK || status == TEMPER_BUDGET_SPENT;
}
