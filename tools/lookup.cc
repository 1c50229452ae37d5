// `temper lookup NET`: what would be used for each workload, from where, and why not something better.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/commands.h"
#include "tools/config_source.h"
#include "tools/exit_code.h"
#include "tools/json_output.h"
#include "tools/network_argument.h"
#include "tools/option_values.h"
#include "tools/text_table.h"
#include "tools/tune_report.h"
#include "tools/whole_file.h"

namespace temper {
namespace {

struct LookupCommand {
  NetworkArgument network;
  ConfigFiles files;
  std::string json;
  uint32_t threads = 1;
};

struct Found {
  WorkloadReport workload;
  temper_answer answer{};
};

/// "history: unknown workload, table: fingerprint (threads)"; "-" when the first source answered.
std::string missed_text(const temper_answer& answer) {
  std::string text;
  for (int source = 0; source < answer.source; ++source) {
    const temper_miss miss = answer.missed[source];
    if (miss == TEMPER_MISS_NONE) {
      continue;
    }
    text += text.empty() ? "" : ", ";
    text += std::string(temper_source_name(static_cast<temper_source>(source))) + ": " + temper_miss_name(miss);
    if (miss == TEMPER_MISS_FINGERPRINT) {
      text += " (" + fingerprint_fields_text(answer.fingerprint_fields[source]) + ")";
    }
  }
  return text.empty() ? "-" : text;
}

std::string config_text(const WorkloadReport& workload) {
  std::string text;
  for (const auto& [knob, value] : workload.config) {
    text += (text.empty() ? std::string() : std::string(" ")) + knob + "=" + std::to_string(value);
  }
  return text;
}

std::string time_text(uint64_t ns) { return ns == 0 ? "-" : decimal(static_cast<double>(ns) * 1e-3, 1); }

Result<std::vector<Found>> look_up(const LookupCommand& command, const Network& network, const HostDevice& device) {
  Result<std::unique_ptr<NetworkPack>> pack = NetworkPack::create(network, device.target);
  if (!pack) {
    return pack.error();
  }
  Result<std::unique_ptr<ConfigSource>> source = ConfigSource::open(command.files, device, pack->get());
  if (!source) {
    return source.error();
  }
  for (const std::string& remark : (*source)->remarks()) {
    std::fprintf(stderr, "temper: %s\n", remark.c_str());
  }
  std::vector<Found> all;
  for (uint32_t i = 0; i < network.workloads.size(); ++i) {
    Found found;
    found.workload = describe(network.workloads[i]);
    Config config;
    if (!(*source)->find(i, &config, &found.answer).ok()) {
      found.answer.source = TEMPER_SOURCE_COUNT;
      found.workload.source = "none: its space holds no legal config here";
    } else {
      found.workload.source = temper_source_name(found.answer.source);
      found.workload.config = config_values((*pack)->space(i, &device.facts), config);
    }
    all.push_back(std::move(found));
  }
  return all;
}

void print_found(const std::vector<Found>& all) {
  TextTable table({{"operator"},
                   {"shape"},
                   {"count", Align::kRight},
                   {"source"},
                   {"default us", Align::kRight},
                   {"tuned us", Align::kRight},
                   {"why not better"},
                   {"config"}});
  for (const Found& found : all) {
    table.add_row({found.workload.operator_name, found.workload.shape, std::to_string(found.workload.count),
                   found.workload.source, time_text(found.answer.default_ns), time_text(found.answer.tuned_ns),
                   missed_text(found.answer), config_text(found.workload)});
  }
  std::fputs(table.text().c_str(), stdout);
}

nlohmann::ordered_json found_json(const Network& network, const HostDevice& device, const std::vector<Found>& all) {
  nlohmann::ordered_json root = {{"schema", 1}, {"network", network.name}, {"target", device.target}};
  root["workloads"] = nlohmann::ordered_json::array();
  for (const Found& found : all) {
    nlohmann::ordered_json missed = nlohmann::ordered_json::object();
    for (int source = 0; source < found.answer.source && source < TEMPER_SOURCE_COUNT; ++source) {
      if (found.answer.missed[source] != TEMPER_MISS_NONE) {
        missed[temper_source_name(static_cast<temper_source>(source))] = temper_miss_name(found.answer.missed[source]);
      }
    }
    nlohmann::ordered_json config = nlohmann::ordered_json::object();
    for (const auto& [knob, value] : found.workload.config) {
      config[knob] = value;
    }
    root["workloads"].push_back(
        {{"name", found.workload.name},
         {"operator", found.workload.operator_name},
         {"shape", found.workload.shape},
         {"count", found.workload.count},
         {"source", found.workload.source},
         {"missed", missed},
         {"fingerprint_fields", fingerprint_fields_text(found.answer.fingerprint_fields[TEMPER_SOURCE_HISTORY])},
         {"default_us", static_cast<double>(found.answer.default_ns) * 1e-3},
         {"tuned_us", static_cast<double>(found.answer.tuned_ns) * 1e-3},
         {"config", config}});
  }
  return root;
}

int run(const LookupCommand& command) {
  std::vector<std::string> inputs = command.files.tables;
  inputs.insert(inputs.end(), {command.network.network, command.files.history});
  if (Result<bool> apart = keep_apart({command.json}, inputs); !apart) {
    return report(apart.error());
  }
  const Result<Network> network = resolve_network(command.network);
  if (!network) {
    return report(network.error());
  }
  const Result<HostDevice> device = probe_host(command.threads);
  if (!device) {
    return report(device.error());
  }
  const Result<std::vector<Found>> found = look_up(command, *network, *device);
  if (!found) {
    return report(found.error());
  }
  if (!command.json.empty()) {
    const Result<bool> written = write_json(found_json(*network, *device, *found), command.json);
    if (!written) {
      return report(written.error());
    }
  }
  if (command.json != "-") {
    print_found(*found);
  }
  return kExitDone;
}

}  // namespace

void add_lookup_command(CLI::App& app, int* exit_code) {
  CLI::App* command =
      app.add_subcommand("lookup", "Shows the config that would be used for each workload, and from where");
  auto options = std::make_shared<LookupCommand>();
  add_network_argument(*command, &options->network);
  command->add_option("--table", options->files.tables, "tuned tables, asked in this order")->type_name("FILE");
  command
      ->add_option("--history", options->files.history,
                   "a history (the user's own unless --table is given), asked first")
      ->type_name("FILE");
  command->add_option("--threads", options->threads, "threads that a kernel may use")
      ->transform(whole_number(1, 1024))
      ->capture_default_str();
  command->add_option("--json", options->json, "write the answers as JSON ('-': standard output)")->type_name("FILE|-");
  command->footer("Example: temper lookup mobilenet_v2 --table mobilenet_v2.table");
  command->callback([options, exit_code] { *exit_code = run(*options); });
}

}  // namespace temper
