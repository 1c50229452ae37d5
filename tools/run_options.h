// What every command that measures on this machine takes: the network, the budget, the history, how the run goes.
// Called by tune and collect, which add what is their own. Measures nothing itself but through TuningRun.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tools/network_argument.h"
#include "tools/tuning_run.h"

namespace temper {

struct RunOptions {
  NetworkArgument network;
  std::optional<std::string> budget;
  std::string history, json;
  uint32_t trials = 0, trials_per_workload = 0, workers = 0, threads = 1;
  uint64_t seed = 0;
  bool quiet = false;
};

/// Adds the options; `options` must outlive the parse.
void add_run_options(CLI::App& command, RunOptions* options);

/// TEMPER_INVALID_ARGUMENT for a budget that is no duration.
Result<TuningSettings> run_settings(const RunOptions& options);

/// Creates the folder of each file that is to be written and looks whether it can be; "" and "-" are passed over.
Result<bool> can_write_all(const std::vector<std::string>& paths);

/// Resolves nothing: runs what it is given, from `started_ns` on, and hands over to `finish`. Returns the exit code.
int run_and_finish(const Network& network, TuningSettings settings, uint64_t started_ns,
                   const std::function<int(const TuningRun& run, temper_status status, bool interrupted)>& finish);

/// Why a run ended with TEMPER_PORT_ERROR.
Error port_error(const TuningRun& run);

}  // namespace temper
