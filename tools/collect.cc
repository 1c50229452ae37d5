// `temper collect NET`: measures configs on this machine to make training data: random ones, those that the cost model
// favours and neighbours of the best, so that the data is neither all bad nor all alike. Appends trials to the history,
// commits nothing.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "temper/port_linux.h"
#include "tools/commands.h"
#include "tools/exit_code.h"
#include "tools/fingerprint_json.h"
#include "tools/json_output.h"
#include "tools/run_options.h"
#include "tools/text_table.h"
#include "tools/whole_file.h"

namespace temper {
namespace {

/// A slow config is data too: it is timed up to this multiple of the best; in a search half as much again is the end.
constexpr uint16_t kCutPercent = 400;
/// Failures are data as well, but a workload where nothing else is left to find is left alone.
constexpr uint8_t kStopAfterFailures = 64;

struct CollectCommand : RunOptions {
  std::string target = "native";
};

Result<TuningSettings> settings_of(const CollectCommand& command, const Network& network) {
  Result<TuningSettings> settings = run_settings(command);
  if (!settings) {
    return settings;
  }
  const auto workloads = static_cast<uint32_t>(network.workloads.size());
  if (command.trials > 0 && command.trials_per_workload == 0) {
    settings->budget.trials_per_workload = (command.trials + workloads - 1) / workloads;  // no workload is favoured
  }
  settings->tuner.searcher = SearcherKind::kCollect;
  settings->tuner.commits = false;
  settings->tuner.measurement.cut_percent = kCutPercent;
  settings->tuner.stop_after_failures = kStopAfterFailures;
  return settings;
}

std::string time_text(uint64_t ns) { return ns == 0 ? "-" : decimal(static_cast<double>(ns) * 1e-3, 1); }

void print_collected(const TuningRun& run, const TuneReport& result) {
  std::vector<TextTable::Column> columns = {
      {"operator"}, {"shape"}, {"count", Align::kRight}, {"trials", Align::kRight}};
  for (int i = 0; i < TEMPER_OUTCOME_COUNT; ++i) {
    columns.push_back({temper_outcome_name(static_cast<temper_outcome>(i)), Align::kRight});
  }
  columns.push_back({"default us", Align::kRight});
  columns.push_back({"best us", Align::kRight});
  TextTable table(columns);
  for (uint32_t i = 0; i < result.workloads.size(); ++i) {
    const WorkloadReport& workload = result.workloads[i];
    std::vector<std::string> row = {workload.operator_name, workload.shape, std::to_string(workload.count),
                                    std::to_string(workload.trials)};
    for (const uint32_t count : workload.outcomes) {
      row.push_back(std::to_string(count));
    }
    row.push_back(time_text(workload.default_ns));
    row.push_back(time_text(run.best_ns(i)));
    table.add_row(std::move(row));
  }
  std::printf("%s%u trials in %s s, appended to %s\n", table.text().c_str(), result.trials,
              decimal(static_cast<double>(result.elapsed_ns) * 1e-9, 1).c_str(),
              run.history().storage() == nullptr ? "nothing (memory only)" : printable(run.history().path).c_str());
}

nlohmann::ordered_json collected_json(const TuningRun& run, const TuneReport& result) {
  nlohmann::ordered_json root = {{"schema", 1}, {"network", result.network}, {"target", result.target}};
  root["fingerprint"] = fingerprint_json(result.fingerprint);
  root["seed"] = result.seed;
  root["budget_s"] = static_cast<double>(result.budget_ns) * 1e-9;
  root["elapsed_s"] = static_cast<double>(result.elapsed_ns) * 1e-9;
  root["history"] = nullptr;
  if (run.history().storage() != nullptr) {
    root["history"] = run.history().path;
  }
  root["trials"] = result.trials;
  root["workloads"] = nlohmann::ordered_json::array();
  for (uint32_t i = 0; i < result.workloads.size(); ++i) {
    const WorkloadReport& workload = result.workloads[i];
    nlohmann::ordered_json outcomes = nlohmann::ordered_json::object();
    for (int outcome = 0; outcome < TEMPER_OUTCOME_COUNT; ++outcome) {
      outcomes[temper_outcome_name(static_cast<temper_outcome>(outcome))] = workload.outcomes[outcome];
    }
    root["workloads"].push_back({{"name", workload.name},
                                 {"operator", workload.operator_name},
                                 {"shape", workload.shape},
                                 {"dtype", "f32"},
                                 {"count", workload.count},
                                 {"default_us", static_cast<double>(workload.default_ns) * 1e-3},
                                 {"best_us", static_cast<double>(run.best_ns(i)) * 1e-3},
                                 {"trials", workload.trials},
                                 {"outcomes", outcomes}});
  }
  return root;
}

int finish(const CollectCommand& command, const TuningRun& run, temper_status status, bool interrupted) {
  const TuneReport result = run.report();
  const Result<bool> written =
      command.json.empty() ? Result<bool>(true) : write_json(collected_json(run, result), command.json);
  if (command.json != "-") {
    print_collected(run, result);
  }
  if (status == TEMPER_PORT_ERROR) {
    return report(port_error(run));
  }
  if (!written) {
    return report(written.error());
  }
  if (interrupted) {
    return kExitInterrupted;
  }
  if (result.trials == 0) {
    std::fprintf(stderr, "temper: nothing was measured: the budget did not reach for a single trial\n");
    return kExitNegative;
  }
  return kExitDone;
}

Result<Network> network_of(const CollectCommand& command) {
  if (Result<bool> apart = keep_apart({command.history, command.json}, {command.network.network}); !apart) {
    return apart.error();
  }
  if (command.target != "native") {
    return Error{TEMPER_INVALID_ARGUMENT,
                 "--target " + command.target +
                     ": this machine measures itself alone (native); a board collects with its own firmware, whose "
                     "history temper merge takes in"};
  }
  if (const Result<bool> possible = can_write_all({command.json}); !possible) {
    return possible.error();
  }
  return resolve_network(command.network);
}

int run(const CollectCommand& command) {
  const uint64_t started_ns = temper_linux_now_ns(nullptr);
  const Result<Network> network = network_of(command);
  if (!network) {
    return report(network.error());
  }
  if (network->workloads.empty()) {
    std::fprintf(stderr, "temper: %s holds nothing that temper tunes\n", command.network.network.c_str());
    return kExitNegative;
  }
  const Result<TuningSettings> settings = settings_of(command, *network);
  if (!settings) {
    return report(settings.error());
  }
  return run_and_finish(*network, *settings, started_ns,
                        [&command](const TuningRun& measured, temper_status status, bool interrupted) {
                          return finish(command, measured, status, interrupted);
                        });
}

}  // namespace

void add_collect_command(CLI::App& app, int* exit_code) {
  CLI::App* command = app.add_subcommand(
      "collect",
      "Measures configs as training data: half random, a quarter chosen by the model, a quarter near the best");
  auto options = std::make_shared<CollectCommand>();
  add_run_options(*command, options.get());
  command->add_option("--target", options->target, "native: this machine")->capture_default_str();
  command->footer("Example: temper collect mobilenet_v2 --budget 5m --history data.history");
  command->callback([options, exit_code] { *exit_code = run(*options); });
}

}  // namespace temper
