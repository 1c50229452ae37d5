// `temper tune NET`: tunes a network on this machine, writes the tuned table, prints what was gained.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "temper/port_linux.h"
#include "tools/commands.h"
#include "tools/duration.h"
#include "tools/exit_code.h"
#include "tools/json_output.h"
#include "tools/option_values.h"
#include "tools/run_options.h"
#include "tools/whole_file.h"

namespace temper {
namespace {

struct TuneCommand : RunOptions {
  std::string searcher = "auto", table;
  uint32_t early_stopping = 0, repeat = 0;
  bool refresh = false;
  double min_repeat_ms = 0;
};

struct SearcherName {
  const char* name;
  SearcherKind kind;
};
constexpr SearcherName kSearchers[] = {{"auto", SearcherKind::kAuto},
                                       {"grid", SearcherKind::kGrid},
                                       {"random", SearcherKind::kRandom},
                                       {"annealing", SearcherKind::kAnnealing}};

std::vector<std::string> searcher_names() {
  std::vector<std::string> names;
  for (const SearcherName& searcher : kSearchers) {
    names.push_back(searcher.name);
  }
  return names;
}

Result<TuningSettings> settings_of(const TuneCommand& command) {
  Result<TuningSettings> settings = run_settings(command);
  if (!settings) {
    return settings;
  }
  for (const SearcherName& searcher : kSearchers) {
    if (command.searcher == searcher.name) {
      settings->tuner.searcher = searcher.kind;
    }
  }
  settings->tuner.early_stopping = command.early_stopping;
  settings->tuner.refresh = command.refresh;
  MeasurementLimits& limits = settings->tuner.measurement;
  if (command.repeat > 0) {
    limits.min_samples = limits.max_samples = static_cast<uint8_t>(command.repeat);
  }
  if (command.min_repeat_ms > 0) {
    limits.min_sample_ns = static_cast<uint32_t>(std::min(command.min_repeat_ms * 1e6, 4e9));
  }
  return settings;
}

/// NETWORK.TARGET.table beside the history, NETWORK.TARGET.Nthreads.table where kernels may use several.
std::string default_table_path(const TuningRun& run, const std::string& network) {
  std::string name = network;
  std::replace_if(
      name.begin(), name.end(),
      [](unsigned char c) { return std::isalnum(c) == 0 && c != '.' && c != '-' && c != '_'; }, '_');
  name += "." + run.device().target;
  const int32_t threads = run.device().facts.value[TEMPER_FACT_THREADS];
  if (threads > 1) {
    name += "." + std::to_string(threads) + "threads";
  }
  return (std::filesystem::path(run.history().path).parent_path() / (name + ".table")).string();
}

/// Exit code 0 or that of a table that was asked for and could not be written. A run that decided nothing leaves the
/// table of an earlier one alone.
int write_tuned_table(const TuneCommand& command, const TuningRun& run, const std::string& network) {
  const Result<std::vector<uint8_t>> bytes = run.table();
  if (!bytes) {
    return report(bytes.error());
  }
  if (command.table.empty() && (run.history().path.empty() || run.history().storage() == nullptr)) {
    return kExitDone;  // the place was told to be unusable already
  }
  const std::string path = command.table.empty() ? default_table_path(run, network) : command.table;
  std::error_code ignored;
  if (run.committed_count() == 0 && std::filesystem::exists(path, ignored)) {
    std::fprintf(stderr, "temper: no config was decided on; %s is left as it is\n", path.c_str());
    return kExitDone;
  }
  make_folder_of(path);
  const Result<bool> written = write_whole_file(path, *bytes);
  if (written) {
    if (!command.quiet) {
      std::fprintf(stderr, "Tuned table: %s\n", path.c_str());
    }
    return kExitDone;
  }
  if (!command.table.empty()) {
    return report(written.error());
  }
  std::fprintf(stderr, "temper: warning: %s\n", written.error().message.c_str());
  return kExitDone;
}

void tell_costs(const JitRunnerCosts& costs) {
  const auto mean = [](uint64_t ns, uint32_t count) { return duration_text(count == 0 ? 0 : ns / count); };
  std::fprintf(
      stderr,
      "Builds: %u, mean %s (%u more from memory). References: %u, mean %s. Checks: %u, mean %s. Samples: %u, mean %s, "
      "%.0f %% in kernels.\n",
      costs.builds, mean(costs.build_ns, costs.builds).c_str(), costs.builds_from_cache, costs.digests,
      mean(costs.digest_ns, costs.digests).c_str(), costs.checks, mean(costs.check_ns, costs.checks).c_str(),
      costs.timings, mean(costs.timing_ns, costs.timings).c_str(),
      costs.timing_ns == 0 ? 0.0 : 100.0 * static_cast<double>(costs.kernel_ns) / static_cast<double>(costs.timing_ns));
  if (costs.builder_restarts + costs.timer_restarts > 0) {
    std::fprintf(stderr, "Workers started anew: %u building, %u timing.\n", costs.builder_restarts,
                 costs.timer_restarts);
  }
}

int exit_code_after(temper_status status, bool interrupted, const TuneReport& result) {
  if (interrupted) {
    return kExitInterrupted;
  }
  if (status == TEMPER_NOTHING_TO_TUNE || status == TEMPER_BUDGET_SPENT || result.total_default_ns() == 0) {
    std::fprintf(stderr, "temper: nothing could be tuned: %s\n",
                 status == TEMPER_BUDGET_SPENT ? "the budget did not reach for a single trial"
                                               : "no config gave a right result in time");
    return kExitNegative;
  }
  return kExitDone;
}

int finish(const TuneCommand& command, const TuningRun& run, temper_status status, bool interrupted) {
  const TuneReport result = run.report();
  const int table_code = write_tuned_table(command, run, result.network);
  const Result<bool> written =
      command.json.empty() ? Result<bool>(true) : write_json(report_json(result), command.json);
  if (command.json != "-") {
    std::fputs(report_text(result, ReportColumns::kTune).c_str(), stdout);
  }
  if (status == TEMPER_PORT_ERROR) {
    return report(port_error(run));
  }
  if (!written) {
    return report(written.error());
  }
  if (!command.quiet) {
    tell_costs(run.runner().costs());
  }
  const int code = exit_code_after(status, interrupted, result);
  return code != kExitDone ? code : table_code;
}

int run(const TuneCommand& command) {
  const uint64_t started_ns = temper_linux_now_ns(nullptr);
  if (Result<bool> apart = keep_apart({command.history, command.table, command.json}, {command.network.network});
      !apart) {
    return report(apart.error());
  }
  const Result<TuningSettings> settings = settings_of(command);
  if (!settings) {
    return report(settings.error());
  }
  const Result<Network> network = resolve_network(command.network);
  if (!network) {
    return report(network.error());
  }
  if (network->workloads.empty()) {
    std::fprintf(stderr, "temper: %s holds nothing that temper tunes\n", command.network.network.c_str());
    return kExitNegative;
  }
  if (const Result<bool> possible = can_write_all({command.table, command.json}); !possible) {
    return report(possible.error());
  }
  return run_and_finish(*network, *settings, started_ns,
                        [&command](const TuningRun& tuned, temper_status status, bool interrupted) {
                          return finish(command, tuned, status, interrupted);
                        });
}

void add_options(CLI::App* command, TuneCommand* options) {
  add_run_options(*command, options);
  command->add_option("--searcher", options->searcher, "auto, grid, random or annealing")
      ->check(CLI::IsMember(searcher_names()))
      ->capture_default_str();
  command->add_flag(
      "--refresh", options->refresh,
      "after a change of hardware: confirm what an earlier device or clock found best, search only what no "
      "longer holds, leave alone what was decided on this very device");
  command->add_option("--table", options->table, "where the tuned table goes (beside the history)")->type_name("FILE");
  command->add_option("--early-stopping", options->early_stopping, "trials without improvement that end a workload")
      ->transform(whole_number(1, UINT32_MAX));
  command->add_option("--repeat", options->repeat, "samples of each trial (3 to 15, as many as the noise asks for)")
      ->transform(whole_number(1, kMaxSamples));
  command->add_option("--min-repeat-ms", options->min_repeat_ms, "a sample repeats the kernel until it lasts this long")
      ->check(real_number(0.001, 10000.0));
}

}  // namespace

void add_tune_command(CLI::App& app, int* exit_code) {
  CLI::App* command = app.add_subcommand("tune", "Tunes a network on this machine");
  auto options = std::make_shared<TuneCommand>();
  add_options(command, options.get());
  command->footer("Example: temper tune mobilenet_v2 --budget 60s");
  command->callback([options, exit_code] { *exit_code = run(*options); });
}

}  // namespace temper
