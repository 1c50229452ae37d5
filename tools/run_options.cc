#include "tools/run_options.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "tools/duration.h"
#include "tools/exit_code.h"
#include "tools/interrupts.h"
#include "tools/option_values.h"
#include "tools/whole_file.h"

namespace temper {
namespace {

constexpr char kDefaultBudget[] = "60s";

}  // namespace

void add_run_options(CLI::App& command, RunOptions* options) {
  add_network_argument(command, &options->network);
  command.add_option("--budget", options->budget,
                     "time for the whole run: 500ms, 20s, 5m (60s unless trials are limited)");
  command.add_option("--trials", options->trials, "trials of the whole run at most")
      ->transform(whole_number(1, UINT32_MAX));
  command.add_option("--trials-per-workload", options->trials_per_workload, "trials of each workload at most")
      ->transform(whole_number(1, UINT32_MAX));
  command.add_option("--workers", options->workers, "processes that build side by side (CPUs - 1)")
      ->transform(whole_number(1, 256));
  command.add_option("--threads", options->threads, "threads that a kernel may use")
      ->transform(whole_number(1, 1024))
      ->capture_default_str();
  command.add_option("--history", options->history, "where trials are appended (in the user's data folder)")
      ->type_name("FILE");
  command.add_option("--seed", options->seed, "makes a run repeatable as far as the clock allows")
      ->transform(whole_number(0, UINT64_MAX))
      ->capture_default_str();
  command.add_option("--json", options->json, "write the result as JSON ('-': standard output)")->type_name("FILE|-");
  command.add_flag("--quiet", options->quiet, "no progress");
}

Result<TuningSettings> run_settings(const RunOptions& options) {
  TuningSettings settings;
  const bool unlimited = !options.budget && (options.trials > 0 || options.trials_per_workload > 0);
  if (!unlimited) {
    const Result<uint64_t> time = parse_duration(options.budget.value_or(kDefaultBudget));
    if (!time) {
      return Error{time.error().code, "--budget " + time.error().message};
    }
    settings.budget.time_ns = *time;
  }
  settings.budget.trials = options.trials;
  settings.budget.trials_per_workload = options.trials_per_workload;
  settings.tuner.seed = options.seed;
  settings.threads = options.threads;
  settings.workers = options.workers;
  settings.history_path = options.history;
  settings.progress = progress_style(options.quiet);
  return settings;
}

Result<bool> can_write_all(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (path.empty() || path == "-") {
      continue;
    }
    make_folder_of(path);
    if (Result<bool> possible = can_write(path); !possible) {
      return possible;
    }
  }
  return true;
}

int run_and_finish(const Network& network, TuningSettings settings, uint64_t started_ns,
                   const std::function<int(const TuningRun& run, temper_status status, bool interrupted)>& finish) {
  settings.started_ns = started_ns;
  const volatile std::sig_atomic_t* const interrupts = catch_interrupts();
  const Result<std::unique_ptr<TuningRun>> run = TuningRun::create(network, settings);
  if (!run) {
    return report(run.error());
  }
  const temper_status status = (*run)->run(interrupts);
  const int exit_code = finish(**run, status, *interrupts != 0);
  (*run)->close_history();
  return exit_code;
}

Error port_error(const TuningRun& run) {
  const std::string& reason = run.runner().broken_reason();
  return Error{TEMPER_PORT_ERROR, reason.empty() ? "the clock of this machine stands still" : reason};
}

}  // namespace temper
