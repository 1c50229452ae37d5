// `temper build`: kernel pack, device core and first-boot program for a target, and what they take of its memories,
// said before anything is flashed.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "schedules/workloads_json.h"
#include "tools/build_firmware.h"
#include "tools/build_folder.h"
#include "tools/build_report.h"
#include "tools/commands.h"
#include "tools/duration.h"
#include "tools/exit_code.h"
#include "tools/history_journal.h"
#include "tools/history_records.h"
#include "tools/host_device.h"
#include "tools/json_output.h"
#include "tools/network_argument.h"
#include "tools/option_values.h"
#include "tools/prepacked_constants.h"
#include "tools/whole_file.h"

namespace temper {
namespace {

struct BuildCommand {
  NetworkArgument network;
  std::string target, output, board, profile = "tuner", budget = "20s", facts = "nominal", winners, json;
  uint64_t pack_bytes = 64 << 10;
  uint32_t trials = 0, max_trials = 64;
  std::vector<std::string> prior;
  bool quiet = false;
};

/// A device finds workloads by name.
void make_names_unique(Network* network) {
  std::set<std::string> names;
  for (NetworkWorkload& workload : network->workloads) {
    const std::string wanted = workload.name;
    for (int number = 2; !names.insert(workload.name).second; ++number) {
      workload.name = wanted + "_" + std::to_string(number);
    }
  }
}

/// Times of configs in the histories: those that were made on the target, or, where none were, all.
Result<std::vector<MeasuredTime>> read_prior(const BuildCommand& command) {
  std::vector<MeasuredTime> same_target, all;
  const uint64_t target_hash = target_hash_of(command.target);
  for (const std::string& path : command.prior) {
    const Result<HistorySource> source = read_history_and_journals(path);
    if (!source) {
      return source.error();
    }
    tell_remarks(*source);
    const HistoryRecords records = read_records(*source);
    for (const HistoryRecord& record : records.trials) {
      const std::optional<MeasuredTime> time = measured_time(record);
      const bool same = records.fingerprints[record.fingerprint].target_hash() == target_hash;
      if (time) {
        (same ? same_target : all).push_back(*time);
      }
    }
  }
  if (same_target.empty() && !all.empty() && !command.quiet) {
    std::fprintf(stderr, "temper: no trial of the histories was made on %s; those of other targets are used\n",
                 command.target.c_str());
  }
  return same_target.empty() ? all : same_target;
}

Result<temper_facts> facts_for(const BuildCommand& command, const Target& target) {
  temper_facts facts = target.facts;
  if (command.facts == "host") {
    const Result<HostDevice> device = probe_host(1);
    if (!device) {
      return device.error();
    }
    facts = device->facts;
    facts.value[TEMPER_FACT_VECTOR_LANES] = target.lanes;
    facts.value[TEMPER_FACT_VECTOR_REGISTERS] = target.registers;
  }
  return facts;
}

bool bare_metal(const Target& target) { return target.triple.find("-none-") != std::string::npos; }

void tell_compiled(size_t done, size_t all) {
  if (done % 16 == 0 || done == all) {
    std::fprintf(stderr, "kernels compiled: %zu of %zu candidates\n", done, all);
  }
}

/// One build, from the network to the report.
class Build {
 public:
  explicit Build(const BuildCommand& command) : command_(command) {}
  Result<int> run();

 private:
  Result<bool> prepare();
  Result<std::string> find_board() const;
  Result<bool> clear_folder() { return folder_.clear(kit_, report_.pack ? name_ : ""); }
  Result<bool> make_pack();
  Result<bool> write_pack_files();
  Result<bool> compute_memory();
  bool adopt_program_bytes(const BoardFacts& board);
  FirmwareSettings settings(uint64_t pool_bytes) const;
  Result<bool> make_firmware();
  Result<FirmwareResult> build_into_ram();
  Result<bool> write_reports() const;
  std::string path(const std::string& name) const { return command_.output + "/" + name; }

  const BuildCommand& command_;
  BuildKit kit_;
  BuildFolder folder_;
  Target target_;
  temper_facts facts_{};
  Network network_;
  std::string name_;
  uint64_t budget_ms_ = 0;
  uint32_t program_bytes_ = 0;  // of the storage; assumed until the board has told
  BuildReport report_;
};

Result<bool> Build::prepare() {
  const Result<Target> target = find_target(command_.target);
  if (!target) {
    return Error{TEMPER_INVALID_ARGUMENT, target.error().message};
  }
  target_ = *target;
  program_bytes_ = bare_metal(target_) ? 8 : 1;
  const Result<uint64_t> budget = parse_duration(command_.budget);
  if (!budget) {
    return Error{TEMPER_INVALID_ARGUMENT, "--budget " + command_.budget + ": " + budget.error().message};
  }
  budget_ms_ = std::max<uint64_t>(*budget / 1000000, 1);
  const bool lookup = command_.profile == "lookup";
  if (lookup != !command_.winners.empty()) {
    return Error{TEMPER_INVALID_ARGUMENT, lookup ? "--profile lookup needs --winners F.a, as temper bake makes it"
                                                 : "--winners is for --profile lookup"};
  }
  std::vector<std::string> inputs = command_.prior;
  inputs.insert(inputs.end(), {command_.network.network, command_.winners});
  if (Result<bool> apart = keep_apart({command_.json}, inputs); !apart) {
    return apart.error();
  }
  Result<Network> network = resolve_network(command_.network);
  if (!network) {
    return network.error();
  }
  network_ = std::move(*network);
  if (network_.workloads.empty()) {
    return Error{TEMPER_NOTHING_TO_TUNE, network_.name + " holds nothing that temper tunes"};
  }
  make_names_unique(&network_);
  name_ =
      lookup ? identifier_of(std::filesystem::path(command_.winners).stem().string()) : identifier_of(network_.name);
  Result<BuildKit> kit = find_build_kit(command_.target);
  if (!kit) {
    return kit.error();
  }
  kit_ = std::move(*kit);
  Result<temper_facts> facts = facts_for(command_, target_);
  if (!facts) {
    return facts.error();
  }
  facts_ = *facts;
  const Result<std::string> board = find_board();
  if (!board) {
    return board.error();
  }
  facts_.value[TEMPER_FACT_MEMORIES] = memories_of_board(*board);
  Result<BuildFolder> folder = BuildFolder::open(command_.output);
  if (!folder) {
    return folder.error();
  }
  folder_ = std::move(*folder);
  report_.network = network_.name;
  report_.target = target_.name;
  report_.profile = command_.profile;
  report_.max_trials = command_.max_trials;
  report_.trials = command_.trials;
  return true;
}

// Its folder, where it is there.
Result<std::string> Build::find_board() const {
  if (command_.board.find('/') != std::string::npos) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(command_.board + "/board.cmake", ignored)
               ? Result<std::string>(command_.board)
               : Error{TEMPER_INVALID_ARGUMENT, "--board " + command_.board + ": there is no board.cmake in it"};
  }
  const std::vector<std::string> boards = known_boards(kit_);
  const std::string& board = command_.board.empty() ? kit_.default_board : command_.board;
  if (std::find(boards.begin(), boards.end(), board) != boards.end()) {
    return kit_.root + "/toolchains/boards/" + board;
  }
  std::string known;
  for (const std::string& name : boards) {
    known += " " + name;
  }
  const std::string reason =
      board.empty() ? target_.name + " has no board of its own: give --board" : "there is no board '" + board + "'";
  return Error{TEMPER_INVALID_ARGUMENT, reason + "; boards:" + known + ", or the path of a folder"};
}

Result<bool> Build::make_pack() {
  Result<std::vector<MeasuredTime>> measured = read_prior(command_);
  if (!measured) {
    return measured.error();
  }
  KernelPackOptions options;
  options.target = target_;
  options.facts = facts_;
  options.name = name_;
  options.limit_bytes = command_.pack_bytes;
  options.measured = std::move(*measured);
  options.machine = bare_metal(target_) ? PackMachine::kNominal : PackMachine::kProbed;
  options.features = command_.profile == "learning" ? PackFeatures::kKept : PackFeatures::kLeftOut;
  Result<KernelPack> pack = command_.quiet ? make_kernel_pack(network_.workloads, options)
                                           : make_kernel_pack(network_.workloads, options, tell_compiled);
  if (!pack) {
    const bool limit = pack.error().code == TEMPER_STORAGE_FULL;
    return Error{limit ? TEMPER_NOTHING_TO_TUNE : pack.error().code,
                 pack.error().message + (limit ? "; give a larger --pack-bytes" : "")};
  }
  report_.limit_bytes = command_.pack_bytes;
  report_.pack = std::move(*pack);
  return true;
}

Result<bool> Build::write_pack_files() {
  const std::pair<std::string, std::string> texts[] = {
      {name_ + ".workloads", workloads_text(network_)},
      {name_ + ".pack", std::string(report_.pack->data.begin(), report_.pack->data.end())},
      {name_ + "_pack.o", std::string(report_.pack->object.bytes.begin(), report_.pack->object.bytes.end())}};
  for (const auto& [file, bytes] : texts) {
    if (Result<bool> written = write_whole_file(path(file), bytes); !written) {
      return written;
    }
  }
  return true;
}

FirmwareSettings Build::settings(uint64_t pool_bytes) const {
  FirmwareSettings result;
  result.output = std::filesystem::absolute(command_.output).string();
  result.name = name_;
  result.board = command_.board.empty() ? kit_.default_board : command_.board;
  if (result.board.find('/') != std::string::npos) {
    result.board = std::filesystem::absolute(result.board).string();  // CMake would look below its own boards
  }
  if (report_.pack) {
    result.pack_object = result.output + "/" + name_ + "_pack.o";
  } else {
    result.winners_archive = std::filesystem::absolute(command_.winners).string();
  }
  result.profile = command_.profile;
  result.budget_ms = budget_ms_;
  result.trials = command_.trials;
  result.max_trials = command_.max_trials;
  result.pool_bytes = pool_bytes;
  return result;
}

Result<bool> Build::compute_memory() {
  NeedsSettings settings;
  settings.facts = facts_;
  settings.max_trials = command_.max_trials;
  settings.program_bytes = program_bytes_;
  settings.learning = command_.profile == "learning";
  Result<BuildNeeds> needs =
      compute_needs(report_.pack->data, static_cast<uint32_t>(report_.pack->variants.size()), settings);
  if (!needs) {
    return needs.error();
  }
  report_.needs = std::move(*needs);
  return true;
}

uint64_t round_up_to_64(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

/// The pool for every candidate where RAM holds it, else as much as there is, as long as the defaults fit.
Result<FirmwareResult> Build::build_into_ram() {
  const uint64_t arena = report_.needs ? round_up_to_64(report_.needs->arena_bytes) : 0;
  const uint64_t wanted = report_.needs ? arena + round_up_to_64(report_.needs->every_candidate_bytes) : 0;
  report_.pool_bytes = wanted;
  Result<FirmwareResult> result = build_firmware(kit_, settings(wanted));
  if (!result || result->linked || wanted == 0 || !result->overflows.contains("RAM")) {
    return result;
  }
  const uint64_t over = round_up_to_64(result->overflows["RAM"]);
  const uint64_t least = arena + report_.needs->defaults_bytes;
  if (wanted < over + least) {
    return result;
  }
  report_.pool_bytes = wanted - over;
  return build_firmware(kit_, settings(report_.pool_bytes));
}

/// True when the storage is programmed in other units than was assumed: frames are as long as these make them.
bool Build::adopt_program_bytes(const BoardFacts& board) {
  const auto found = board.find("program");
  const uint64_t bytes = found == board.end() ? 0 : std::strtoull(found->second.c_str(), nullptr, 10);
  if (bytes == 0 || bytes > 256 || bytes == program_bytes_) {
    return false;
  }
  program_bytes_ = static_cast<uint32_t>(bytes);
  return true;
}

Result<bool> Build::make_firmware() {
  if (!command_.quiet) {
    std::fprintf(stderr, "building the firmware: %s\n", path("build.log").c_str());
  }
  Result<FirmwareResult> built = build_into_ram();
  if (built && report_.pack && adopt_program_bytes(built->board)) {
    if (Result<bool> computed = compute_memory(); !computed) {
      return computed;
    }
    built = build_into_ram();
  }
  if (!built) {
    return built.error();
  }
  report_.board = settings(0).board;
  report_.map = std::move(built->map);
  report_.overflows = built->overflows;
  report_.stack_bytes = built->stack_bytes;
  report_.storage_bytes = std::strtoull(built->board["storage"].c_str(), nullptr, 10);
  if (report_.needs && built->context_bytes > 0) {
    set_context_bytes(built->context_bytes, &*report_.needs);
  }
  if (!built->linked) {
    return true;  // the report says why
  }
  if (Result<bool> collected = collect_results(kit_, settings(report_.pool_bytes)); !collected) {
    return collected;
  }
  return report_.pack && !bare_metal(target_) ? link_loadable_pack(kit_, settings(0)) : Result<bool>(true);
}

Result<bool> Build::write_reports() const {
  const nlohmann::ordered_json json = report_json(report_);
  const nlohmann::ordered_json build = {{"schema", 1},
                                        {"network", report_.network},
                                        {"target", report_.target},
                                        {"board", report_.board},
                                        {"profile", report_.profile},
                                        {"name", name_},
                                        {"pack_bytes", command_.pack_bytes},
                                        {"budget_ms", budget_ms_},
                                        {"trials", command_.trials},
                                        {"max_trials", command_.max_trials},
                                        {"pool_bytes", report_.pool_bytes},
                                        {"facts", command_.facts},
                                        {"prior", command_.prior}};
  for (const auto& [file, value] : {std::pair("size_report.json", &json), std::pair("build.json", &build)}) {
    if (Result<bool> written = write_json(*value, path(file)); !written) {
      return written;
    }
  }
  return command_.json.empty() ? Result<bool>(true) : write_json(json, command_.json);
}

Result<int> Build::run() {
  using Step = Result<bool> (Build::*)();
  const std::vector<Step> winners = {&Build::prepare, &Build::clear_folder, &Build::make_firmware};
  const std::vector<Step> pack = {&Build::prepare,      &Build::make_pack,        &Build::compute_memory,
                                  &Build::clear_folder, &Build::write_pack_files, &Build::make_firmware};
  for (const Step step : command_.profile == "lookup" ? winners : pack) {
    if (Result<bool> done = (this->*step)(); !done) {
      return done.error();
    }
  }
  if (Result<bool> written = write_reports(); !written) {
    return written.error();
  }
  if (command_.json != "-") {
    std::fputs(report_text(report_).c_str(), stdout);
  }
  return misfits(report_).empty() ? kExitDone : kExitNegative;
}

std::vector<std::string> cross_targets() {
  std::vector<std::string> names = target_names();
  std::erase(names, "native");
  return names;
}

}  // namespace

void add_build_command(CLI::App& app, int* exit_code) {
  CLI::App* command = app.add_subcommand(
      "build", "Builds kernels, device core and first-boot program for a target, and says what they take");
  auto options = std::make_shared<BuildCommand>();
  std::string targets;
  for (const std::string& name : cross_targets()) {
    targets += (targets.empty() ? "" : ", ") + name;
  }
  command->add_option("--target", options->target, targets)->required()->type_name("TARGET");
  add_network_argument(*command, &options->network);
  command->add_option("-o,--output", options->output, "folder for everything that is made")
      ->required()
      ->type_name("DIR");
  command->add_option("--pack-bytes", options->pack_bytes, "limit of kernels and pack data: 65536, 64k, 1m")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(uint64_t{1}, UINT64_MAX))
      ->capture_default_str()
      ->type_name("BYTES");
  command->add_option("--profile", options->profile, "lookup: winners only; tuner; learning: with the model's learner")
      ->check(CLI::IsMember({"lookup", "tuner", "learning"}))
      ->capture_default_str();
  command->add_option("--winners", options->winners, "for lookup: the archive that temper bake made")
      ->check(CLI::ExistingFile)
      ->type_name("F.a");
  command->add_option("--board", options->board, "a board that temper knows, or the path of a board's folder")
      ->type_name("BOARD");
  command->add_option("--budget", options->budget, "time of the first boot's tuning")
      ->capture_default_str()
      ->type_name("DURATION");
  command->add_option("--trials", options->trials, "trials of the first boot; 0: as many as the time allows")
      ->transform(whole_number(0, UINT32_MAX))
      ->capture_default_str();
  command->add_option("--max-trials", options->max_trials, "trials remembered of one workload: they take RAM")
      ->transform(whole_number(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--prior", options->prior, "histories: measured times replace predicted ones")
      ->type_name("HISTORY");
  command->add_option("--facts", options->facts, "the machine that kernels are chosen for: nominal of the target, host")
      ->check(CLI::IsMember({"nominal", "host"}))
      ->capture_default_str();
  command->add_option("--json", options->json, "write the report as JSON ('-': standard output)")->type_name("FILE|-");
  command->add_flag("--quiet", options->quiet, "no progress");
  command->footer("Example: temper build --target cortex-m4 ds_cnn -o firmware --pack-bytes 64k");
  command->callback([options, exit_code] {
    const Result<int> done = Build(*options).run();
    *exit_code = done ? *done : report(done.error());
  });
}

}  // namespace temper
