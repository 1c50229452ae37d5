// `temper import`: a network's distinct workloads as a .workloads file, and what was skipped and why.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "schedules/workloads_json.h"
#include "tools/commands.h"
#include "tools/exit_code.h"
#include "tools/json_output.h"
#include "tools/network_argument.h"
#include "tools/text_table.h"
#include "tools/whole_file.h"

namespace temper {
namespace {

struct ImportCommand {
  NetworkArgument network;
  std::string output, json;
};

struct Totals {
  double tuned = 0.0, skipped = 0.0;  // counts and operations come from files: their product may exceed 64 bits
  double share(double flops_of_it) const { return tuned + skipped == 0.0 ? 0.0 : flops_of_it / (tuned + skipped); }
};

/// Of all occurrences.
double all_flops(const NetworkWorkload& entry) { return static_cast<double>(flops(entry.workload)) * entry.count; }

Totals totals(const Network& network) {
  Totals sum;
  for (const NetworkWorkload& entry : network.workloads) {
    sum.tuned += all_flops(entry);
  }
  for (const SkippedOperator& skipped : network.skipped) {
    sum.skipped += static_cast<double>(skipped.flops);
  }
  return sum;
}

std::string percent(double share) { return decimal(100.0 * share, share < 0.1 ? 2 : 1) + " %"; }

void print_network(const Network& network) {
  const Totals sum = totals(network);
  TextTable table({{"workload"},
                   {"operator"},
                   {"shape"},
                   {"epilogue"},
                   {"count", Align::kRight},
                   {"GFLOP", Align::kRight},
                   {"share", Align::kRight}});
  for (const NetworkWorkload& entry : network.workloads) {
    const double all = all_flops(entry);
    table.add_row({entry.name, operator_name(entry.workload), shape_text(entry.workload), epilogue_text(entry.workload),
                   std::to_string(entry.count), decimal(all * 1e-9, 4), percent(sum.share(all))});
  }
  std::printf("%s: %zu distinct workloads, %s GFLOP to tune (%s of the arithmetic)\n%s", network.name.c_str(),
              network.workloads.size(), decimal(sum.tuned * 1e-9, 4).c_str(), percent(sum.share(sum.tuned)).c_str(),
              table.text().c_str());
  if (network.skipped.empty()) {
    return;
  }
  TextTable skipped({{"skipped"}, {"count", Align::kRight}, {"share", Align::kRight}, {"reason"}});
  std::vector<SkippedOperator> ordered = network.skipped;
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const SkippedOperator& a, const SkippedOperator& b) { return a.flops > b.flops; });
  for (const SkippedOperator& entry : ordered) {
    skipped.add_row({entry.operator_name, std::to_string(entry.count),
                     percent(sum.share(static_cast<double>(entry.flops))), entry.reason});
  }
  std::printf("\n%s", skipped.text().c_str());
}

nlohmann::ordered_json network_json(const Network& network) {
  const Totals sum = totals(network);
  nlohmann::ordered_json root = {{"schema", 1}, {"network", network.name}};
  root["gflop"] = sum.tuned * 1e-9;
  root["workloads"] = nlohmann::ordered_json::array();
  for (const NetworkWorkload& entry : network.workloads) {
    const uint64_t each = flops(entry.workload);
    root["workloads"].push_back({{"name", entry.name},
                                 {"operator", operator_name(entry.workload)},
                                 {"shape", shape_text(entry.workload)},
                                 {"dtype", "f32"},
                                 {"count", entry.count},
                                 {"gflop", static_cast<double>(each) * 1e-9},
                                 {"share", sum.share(all_flops(entry))},
                                 {"workload", canonical_text(entry.workload)}});
  }
  root["skipped"] = nlohmann::ordered_json::array();
  for (const SkippedOperator& entry : network.skipped) {
    root["skipped"].push_back({{"operator", entry.operator_name},
                               {"reason", entry.reason},
                               {"count", entry.count},
                               {"gflop", static_cast<double>(entry.flops) * 1e-9},
                               {"share", sum.share(static_cast<double>(entry.flops))}});
  }
  return root;
}

int run(const ImportCommand& command) {
  if (Result<bool> apart = keep_apart({command.output, command.json}, {command.network.network}); !apart) {
    return report(apart.error());
  }
  const Result<Network> network = resolve_network(command.network);
  if (!network) {
    return report(network.error());
  }
  if (!command.output.empty()) {
    const Result<bool> written = write_whole_file(command.output, workloads_text(*network));
    if (!written) {
      return report(written.error());
    }
  }
  if (!command.json.empty()) {
    const Result<bool> written = write_json(network_json(*network), command.json);
    if (!written) {
      return report(written.error());
    }
  }
  if (command.json != "-") {
    print_network(*network);
  }
  if (network->workloads.empty()) {
    std::fprintf(stderr, "temper: %s holds nothing that temper tunes\n", command.network.network.c_str());
    return kExitNegative;
  }
  return kExitDone;
}

}  // namespace

void add_import_command(CLI::App& app, int* exit_code) {
  CLI::App* command =
      app.add_subcommand("import", "Lists a network's distinct workloads and what is not tuned, and why");
  auto options = std::make_shared<ImportCommand>();
  add_network_argument(*command, &options->network);
  command->add_option("-o,--output", options->output, "write a .workloads file")->type_name("FILE");
  command->add_option("--json", options->json, "write the table as JSON ('-': standard output)")->type_name("FILE|-");
  command->footer("Example: temper import model.onnx --shape x=1x3x48x192 -o model.workloads");
  command->callback([options, exit_code] { *exit_code = run(*options); });
}

}  // namespace temper
