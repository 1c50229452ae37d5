// `temper bake HISTORY... --network NET --target T -o F`: firmware data of winners only: tuned table, its C source, an
// archive of their kernels with everything constant, and a header.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "codegen/winners.h"
#include "tools/commands.h"
#include "tools/exit_code.h"
#include "tools/fingerprint_json.h"
#include "tools/host_device.h"
#include "tools/json_output.h"
#include "tools/network_argument.h"
#include "tools/option_values.h"
#include "tools/prepacked_constants.h"
#include "tools/text_table.h"
#include "tools/tune_report.h"
#include "tools/whole_file.h"
#include "tools/winner_plans.h"

namespace temper {
namespace {

constexpr double kMicrosecondsPerNs = 1e-3;

struct BakeCommand {
  std::vector<std::string> files;
  NetworkArgument network;
  std::string target = "native";
  std::string output;
  std::string constants;
  bool lean_fallback = false;
  uint32_t fingerprint = 0;  ///< 0: the one with most commits
  std::string json;
  bool quiet = false;
};

/// The files that are written, and the C name that their symbols begin with.
struct BakeOutput {
  std::string name;
  std::string table, source, archive, header;
};

struct BakeTarget {
  Target target;
  uint64_t hash = 0;
  temper_facts facts{};  ///< where a fingerprint tells nothing
};

/// What is known at the end.
struct BakeResult {
  Network network;
  std::vector<TunedDevice> devices;
  size_t device = 0;
  BakedNetwork baked;
  std::vector<uint8_t> table;
  WinnersArchive archive;
};

Result<BakeOutput> output_files(const BakeCommand& command) {
  const std::string& base = command.output;
  const std::string stem = std::filesystem::path(base).filename().string();
  if (stem.empty() || stem == "." || stem == "..") {
    return Error{TEMPER_INVALID_ARGUMENT, "-o " + base + ": name a file, without an ending, not a folder"};
  }
  BakeOutput files{identifier_of(stem), base + ".table", base + "_table.c", base + ".a", base + ".h"};
  make_folder_of(base);
  std::vector<std::string> inputs = command.files;
  inputs.push_back(command.network.network);
  const std::vector<std::string> outputs = {files.table, files.source, files.archive, files.header, command.json};
  if (Result<bool> apart = keep_apart(outputs, inputs); !apart) {
    return apart.error();
  }
  for (const std::string& path : outputs) {
    if (path.empty() || path == "-") {
      continue;
    }
    if (Result<bool> writable = can_write(path); !writable) {
      return writable.error();
    }
  }
  return files;
}

Result<BakeTarget> resolve_target(const std::string& name) {
  const Result<Target> target = find_target(name);
  if (!target) {
    return Error{TEMPER_INVALID_ARGUMENT, "--target: " + target.error().message};
  }
  if (name != "native") {
    return BakeTarget{*target, target_hash_of(target->name), target->facts};
  }
  const Result<HostDevice> host = probe_host(1);
  if (!host) {
    return host.error();
  }
  return BakeTarget{*target, host->target_hash, host->facts};
}

/// The fingerprint's facts, and the target's for those that no fingerprint has.
temper_facts facts_of(const Fingerprint& fingerprint, temper_facts facts) {
  const auto set = [&](temper_fact fact, uint32_t value) { facts.value[fact] = static_cast<int32_t>(value); };
  set(TEMPER_FACT_VECTOR_LANES, fingerprint.vector_lanes());
  set(TEMPER_FACT_VECTOR_REGISTERS, fingerprint.vector_registers());
  set(TEMPER_FACT_L1D_BYTES, fingerprint.l1d_bytes());
  set(TEMPER_FACT_L2_BYTES, fingerprint.l2_bytes());
  set(TEMPER_FACT_L3_BYTES, fingerprint.l3_bytes());
  set(TEMPER_FACT_CORES, fingerprint.cores());
  set(TEMPER_FACT_THREADS, fingerprint.threads());
  set(TEMPER_FACT_CLOCK_KHZ, fingerprint.clock_khz());
  set(TEMPER_FACT_COPY_MB_S, fingerprint.copy_mb_s());
  return facts;
}

/// The network's keys, for counting commits.
std::vector<uint64_t> keys_of(const Network& network) {
  std::vector<uint64_t> keys;
  for (const NetworkWorkload& workload : network.workloads) {
    keys.push_back(workload_key(workload.workload));
  }
  return keys;
}

Result<BakeResult> bake(const BakeCommand& command, const BakeOutput& output, const BakeTarget& target) {
  BakeResult result;
  const Result<Network> network = resolve_network(command.network);
  if (!network) {
    return network.error();
  }
  result.network = *network;
  const Result<BakeSources> sources = read_bake_sources(command.files);
  if (!sources) {
    return sources.error();
  }
  result.devices = tuned_devices(*sources, keys_of(*network));
  const Result<size_t> device =
      choose_device(result.devices, target.hash, command.target,
                    command.fingerprint == 0 ? std::nullopt : std::optional<uint32_t>(command.fingerprint));
  if (!device) {
    return device.error();
  }
  result.device = *device;
  const Fingerprint& fingerprint = result.devices[*device].fingerprint;
  const WinnerOptions options{output.name, command.constants,
                              command.lean_fallback ? FallbackConstants::kLeftOut : FallbackConstants::kPacked};
  Result<BakedNetwork> baked = plan_winners(*network, *sources, result.devices[*device],
                                            facts_of(fingerprint, target.facts), target.target.name, options);
  if (!baked) {
    return baked.error();
  }
  result.baked = std::move(*baked);
  result.baked.remarks.insert(result.baked.remarks.begin(), sources->remarks.begin(), sources->remarks.end());
  std::vector<TableEntry> entries;
  for (const BakedWorkload& workload : result.baked.workloads) {
    entries.push_back(workload.entry);
  }
  Result<std::vector<uint8_t>> table = write_table(std::move(entries), fingerprint, target.target.name);
  if (!table) {
    return table.error();
  }
  result.table = std::move(*table);
  Result<WinnersArchive> archive = compile_winners(
      target.target, {output.name, result.table, result.baked.kernels, std::move(result.baked.constants)});
  if (!archive) {
    return archive.error();
  }
  result.archive = std::move(*archive);
  return result;
}

std::string command_line(const BakeCommand& command) {
  std::string text = "temper bake";
  for (const std::string& file : command.files) {
    text += " " + file;
  }
  return text + " --network " + command.network.network + " --target " + command.target + " -o " + command.output;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) { return c >= 'a' && c <= 'z' ? c - 32 : c; });
  return text;
}

std::string header_text(const BakeCommand& command, const BakeOutput& output, const BakeResult& result) {
  const std::string guard = upper(output.name) + "_WINNERS_H";
  std::string text = "// Generated by " + printable(command_line(command)) + "; do not edit.\n";
  text += "// Winners of " + printable(result.network.name) + "; " +
          printable(std::filesystem::path(output.archive).filename().string()) + " defines them.\n";
  text += "#ifndef " + guard + "\n#define " + guard + "\n\n#include <temper/winners.h>\n\n";
  text += "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\nextern const temper_winners " + output.name + "_winners;\n\n";
  std::set<std::string> used;
  for (const BakedWorkload& workload : result.baked.workloads) {
    const std::string plain = upper(output.name + "_KEY_" + identifier_of(workload.workload.name));
    std::string name = plain;
    for (int number = 2; !used.insert(name).second; ++number) {
      name = plain + "_" + std::to_string(number);
    }
    text += "// " + printable(workload.workload.name) + ": " + canonical_text(workload.workload.workload) + ", " +
            "count " + std::to_string(workload.workload.count) + "\n#define " + name + " UINT64_C(0x" +
            hex_key(workload.entry.workload) + ")\n";
  }
  return text + "\n#ifdef __cplusplus\n}\n#endif\n#endif\n";
}

Result<bool> write_files(const BakeCommand& command, const BakeOutput& output, const BakeResult& result) {
  const Result<std::string> source =
      table_as_c_source(result.table, output.name + "_table", printable(command_line(command)));
  if (!source) {
    return source.error();
  }
  const std::string header = header_text(command, output, result);
  const auto view = [](const std::vector<uint8_t>& bytes) {
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  return write_whole_files({{output.archive, view(result.archive.bytes)},
                            {output.table, view(result.table)},
                            {output.source, *source},
                            {output.header, header}});
}

std::string constant_text(const BakedPlan& plan) {
  return plan.plan.packed_bytes == 0 ? "unpacked" : plan.constant == kNoConstant ? "packed at boot" : "prepacked";
}

std::string time_text(uint64_t ns) { return ns == 0 ? "-" : decimal(static_cast<double>(ns) * kMicrosecondsPerNs, 1); }

double speedup_of(const TableEntry& entry) {
  return entry.tuned_ns == 0 ? 1.0 : static_cast<double>(entry.default_ns) / static_cast<double>(entry.tuned_ns);
}

void print_result(const BakeOutput& output, const BakeResult& result) {
  TextTable table({{"operator"},
                   {"shape"},
                   {"count", Align::kRight},
                   {"source"},
                   {"default us", Align::kRight},
                   {"tuned us", Align::kRight},
                   {"speedup", Align::kRight},
                   {"kernel", Align::kRight},
                   {"default's", Align::kRight},
                   {"workspace", Align::kRight},
                   {"constant"}});
  for (const BakedWorkload& baked : result.baked.workloads) {
    const WorkloadReport about = describe(baked.workload);
    const BakedEntry& plans = *baked.entry.baked;
    table.add_row({about.operator_name, about.shape, std::to_string(about.count), baked.source,
                   time_text(baked.entry.default_ns), time_text(baked.entry.tuned_ns),
                   decimal(speedup_of(baked.entry), 2), std::to_string(plans.winner.kernel),
                   std::to_string(plans.fallback.kernel), std::to_string(plans.winner.plan.workspace_bytes),
                   constant_text(plans.winner)});
  }
  std::fputs(table.text().c_str(), stdout);
  std::printf("%zu kernels %u bytes, constants %u bytes, table %zu bytes\n", result.baked.kernels.size(),
              result.archive.kernel_bytes, result.archive.constant_bytes, result.table.size());
  std::printf("%s %s %s %s; the archive defines %s_winners\n", output.archive.c_str(), output.header.c_str(),
              output.table.c_str(), output.source.c_str(), output.name.c_str());
}

void tell_remarks(const BakeResult& result) {
  uint32_t untuned = 0;
  for (const BakedWorkload& workload : result.baked.workloads) {
    untuned += workload.file.empty() ? 1 : 0;
  }
  if (untuned > 0) {
    std::fprintf(stderr, "temper: %u of %zu workloads have no commit here and are baked with their default\n", untuned,
                 result.baked.workloads.size());
  }
  for (const std::string& remark : result.baked.remarks) {
    std::fprintf(stderr, "temper: %s\n", printable(remark).c_str());
  }
  for (size_t i = 0; result.devices.size() > 1 && i < result.devices.size(); ++i) {
    const TunedDevice& device = result.devices[i];
    std::fprintf(stderr, "temper: fingerprint %zu%s: %u commits; %s\n", i + 1, i == result.device ? " (baked)" : "",
                 device.commit_count, fingerprint_text(device.fingerprint).c_str());
  }
}

nlohmann::ordered_json plan_json(const BakedPlan& plan) {
  return {{"kernel", plan.kernel},
          {"grid", plan.plan.grid},
          {"threads", plan.plan.threads},
          {"workspace_bytes", plan.plan.workspace_bytes},
          {"packed_bytes", plan.plan.packed_bytes},
          {"memory", plan.plan.memory},
          {"constant", constant_text(plan)}};
}

nlohmann::ordered_json workload_json(const BakedWorkload& baked) {
  const WorkloadReport about = describe(baked.workload);
  nlohmann::ordered_json config = nlohmann::ordered_json::object();
  for (const auto& [knob, value] : baked.config) {
    config[knob] = value;
  }
  return {{"name", about.name},
          {"operator", about.operator_name},
          {"shape", about.shape},
          {"count", about.count},
          {"key", hex_key(baked.entry.workload)},
          {"source", baked.source},
          {"file", baked.file},
          {"default_us", static_cast<double>(baked.entry.default_ns) * kMicrosecondsPerNs},
          {"tuned_us", static_cast<double>(baked.entry.tuned_ns) * kMicrosecondsPerNs},
          {"speedup", speedup_of(baked.entry)},
          {"config", config},
          {"winner", plan_json(baked.entry.baked->winner)},
          {"fallback", plan_json(baked.entry.baked->fallback)}};
}

nlohmann::ordered_json result_json(const BakeCommand& command, const BakeOutput& output, const BakeResult& result) {
  nlohmann::ordered_json root = {{"schema", 1},
                                 {"network", result.network.name},
                                 {"target", command.target},
                                 {"name", output.name},
                                 {"fingerprint", fingerprint_json(result.devices[result.device].fingerprint)}};
  root["fingerprints"] = nlohmann::ordered_json::array();
  for (size_t i = 0; i < result.devices.size(); ++i) {
    root["fingerprints"].push_back({{"number", i + 1},
                                    {"commits", result.devices[i].commit_count},
                                    {"baked", i == result.device},
                                    {"fingerprint", fingerprint_json(result.devices[i].fingerprint)}});
  }
  root["workloads"] = nlohmann::ordered_json::array();
  for (const BakedWorkload& workload : result.baked.workloads) {
    root["workloads"].push_back(workload_json(workload));
  }
  root["remarks"] = result.baked.remarks;
  root["kernels"] = result.baked.kernels.size();
  root["kernel_bytes"] = result.archive.kernel_bytes;
  root["constant_bytes"] = result.archive.constant_bytes;
  root["table_bytes"] = result.table.size();
  root["files"] = {
      {"archive", output.archive}, {"header", output.header}, {"table", output.table}, {"source", output.source}};
  return root;
}

int run(const BakeCommand& command) {
  const Result<BakeTarget> target = resolve_target(command.target);
  if (!target) {
    return report(target.error());
  }
  const Result<BakeOutput> output = output_files(command);
  if (!output) {
    return report(output.error());
  }
  const Result<BakeResult> result = bake(command, *output, *target);
  if (!result) {
    return report(result.error());
  }
  if (!command.quiet) {
    tell_remarks(*result);
  }
  const Result<bool> written = write_files(command, *output, *result);
  if (!written) {
    return report(written.error());
  }
  if (!command.json.empty()) {
    const Result<bool> told = write_json(result_json(command, *output, *result), command.json);
    if (!told) {
      return report(told.error());
    }
  }
  if (command.json != "-") {
    print_result(*output, *result);
  }
  return kExitDone;
}

}  // namespace

void add_bake_command(CLI::App& app, int* exit_code) {
  CLI::App* command = app.add_subcommand("bake", "Makes firmware data of winners only: no tuner on the device");
  auto options = std::make_shared<BakeCommand>();
  command
      ->add_option("HISTORY", options->files,
                   "histories, console logs, flash images or tuned tables; the last commit counts")
      ->required();
  command->add_option("--network", options->network.network, "ONNX file, .workloads file, or built-in network")
      ->required();
  add_import_options(*command, &options->network);
  command->add_option("--target", options->target, "what the kernels are compiled for")->capture_default_str();
  command->add_option("-o,--output", options->output, "F: writes F.a, F.h, F.table and F_table.c")
      ->type_name("F")
      ->required();
  command->add_option("--constants", options->constants, "constant operands to prepack: NAME.f32, NAME.0.f32, ...")
      ->type_name("FOLDER")
      ->check(CLI::ExistingDirectory);
  command->add_flag("--lean-fallback", options->lean_fallback,
                    "no prepacked constants for defaults that read them in another layout");
  command
      ->add_option("--fingerprint", options->fingerprint,
                   "number of the device to bake for, where the files hold several (default: most commits)")
      ->transform(whole_number(1, 1u << 20));
  command->add_option("--json", options->json, "write the report as JSON ('-': standard output)")->type_name("FILE|-");
  command->add_flag("--quiet", options->quiet, "no remarks on standard error");
  command->footer("Example: temper bake board.history --network ds_cnn --target cortex-m4 -o ds_cnn");
  command->callback([options, exit_code] { *exit_code = run(*options); });
}

}  // namespace temper
