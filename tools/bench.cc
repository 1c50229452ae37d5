// `temper bench NET`: times every workload's default and tuned config side by side and checks both against the
// reference. Searches nothing and writes no history.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "codegen/jit_runner.h"
#include "temper/port_linux.h"
#include "tools/commands.h"
#include "tools/config_source.h"
#include "tools/exit_code.h"
#include "tools/host_device.h"
#include "tools/json_output.h"
#include "tools/network_argument.h"
#include "tools/network_pack.h"
#include "tools/option_values.h"
#include "tools/progress.h"
#include "tools/tune_report.h"
#include "tools/whole_file.h"

namespace temper {
namespace {

constexpr uint8_t kDefaultSlot = 0;
constexpr uint8_t kTunedSlot = 1;
constexpr uint64_t kRunLimitNs = 60'000'000'000;
constexpr uint64_t kWaitNs = 1'000'000'000;

struct BenchCommand {
  NetworkArgument network;
  std::string history, table, json;
  uint32_t threads = 1, repeat = 11;
  double min_repeat_ms = 2.0;
  bool quiet = false;

  ConfigFiles files() const {
    return {history, table.empty() ? std::vector<std::string>() : std::vector<std::string>{table}};
  }
};

/// Times configs through the runner, one after another.
class Bench {
 public:
  Bench(JitRunner* jit, const BenchCommand& command) : runner_(jit->runner()), command_(command) {}

  temper_outcome build_and_check(uint8_t slot, uint32_t workload, const Config& config);
  /// Medians of interleaved samples; outcome of the first run that failed.
  temper_outcome time(uint8_t slots, uint64_t median_ns[2]);
  void release(uint8_t slot) { runner_.release(runner_.self, slot); }

 private:
  RunResult run(uint8_t slot, RunKind kind, uint32_t number);

  Runner runner_;
  const BenchCommand& command_;
};

RunResult Bench::run(uint8_t slot, RunKind kind, uint32_t number) {
  RunResult result{TEMPER_OUTCOME_CRASHED, 0};
  if (!runner_.run(runner_.self, slot, kind, number, kRunLimitNs).ok()) {
    return result;
  }
  while (!runner_.poll_run(runner_.self, &result)) {
    runner_.wait(runner_.self, kWaitNs);
  }
  return result;
}

temper_outcome Bench::build_and_check(uint8_t slot, uint32_t workload, const Config& config) {
  if (!runner_.build(runner_.self, slot, workload, config).ok()) {
    return TEMPER_OUTCOME_BUILD_ERROR;
  }
  temper_outcome outcome = TEMPER_OUTCOME_OK;
  uint32_t build_us = 0;
  while (!runner_.poll_build(runner_.self, slot, &outcome, &build_us)) {
    runner_.wait(runner_.self, kWaitNs);
  }
  return outcome == TEMPER_OUTCOME_OK ? run(slot, RunKind::kCheck, 1).outcome : outcome;
}

temper_outcome Bench::time(uint8_t slots, uint64_t median_ns[2]) {
  const auto sample_ns = static_cast<uint64_t>(command_.min_repeat_ms * 1e6);
  std::vector<uint64_t> samples[2];
  uint32_t calls[2] = {1, 1};
  for (uint32_t round = 0; round <= command_.repeat; ++round) {
    for (uint8_t turn = 0; turn < slots; ++turn) {
      const uint8_t slot = static_cast<uint8_t>((turn + round) % slots);
      const RunResult result = run(slot, RunKind::kTime, calls[slot]);
      if (result.outcome != TEMPER_OUTCOME_OK) {
        return result.outcome;
      }
      const uint64_t each = std::max<uint64_t>(1, result.elapsed_ns / calls[slot]);
      if (round == 0) {  // warms up and tells how many calls fill a sample
        calls[slot] = static_cast<uint32_t>(std::clamp<uint64_t>(sample_ns / each, 1, 1'000'000));
      } else {
        samples[slot].push_back(each);
      }
    }
  }
  for (uint8_t slot = 0; slot < slots; ++slot) {
    std::sort(samples[slot].begin(), samples[slot].end());
    median_ns[slot] = samples[slot][samples[slot].size() / 2];
  }
  return TEMPER_OUTCOME_OK;
}

/// True when every check passed.
bool bench_workload(Bench* bench, uint32_t index, const Space& space, ConfigSource* source, WorkloadReport* report) {
  Config standard, tuned;
  temper_answer answer{};
  if (!space.default_config(&standard).ok() || !source->find(index, &tuned, &answer).ok()) {
    ++report->outcomes[TEMPER_OUTCOME_INVALID];
    return false;
  }
  const bool same = tuned == standard;
  report->source = temper_source_name(answer.source);
  report->config = config_values(space, tuned);
  temper_outcome outcome = bench->build_and_check(kDefaultSlot, index, standard);
  if (outcome == TEMPER_OUTCOME_OK && !same) {
    outcome = bench->build_and_check(kTunedSlot, index, tuned);
  }
  uint64_t median_ns[2] = {0, 0};
  if (outcome == TEMPER_OUTCOME_OK) {
    outcome = bench->time(same ? uint8_t{1} : uint8_t{2}, median_ns);
  }
  bench->release(kDefaultSlot);
  bench->release(kTunedSlot);
  ++report->outcomes[outcome];
  if (outcome != TEMPER_OUTCOME_OK) {
    std::fprintf(stderr, "temper: %s %s: %s\n", report->operator_name.c_str(), report->shape.c_str(),
                 temper_outcome_name(outcome));
    return false;
  }
  report->default_ns = median_ns[kDefaultSlot];
  report->tuned_ns = same ? median_ns[kDefaultSlot] : median_ns[kTunedSlot];
  report->max_abs_error = 0.0;  // the check compares digests: equal bit for bit
  return true;
}

Result<TuneReport> bench_network(const BenchCommand& command, const Network& network, bool* all_right) {
  const uint64_t started_ns = temper_linux_now_ns(nullptr);
  const Result<HostDevice> device = probe_host(command.threads);
  if (!device) {
    return device.error();
  }
  Result<std::unique_ptr<NetworkPack>> pack = NetworkPack::create(network, device->target);
  if (!pack) {
    return pack.error();
  }
  Result<std::unique_ptr<ConfigSource>> source = ConfigSource::open(command.files(), *device, pack->get());
  if (!source) {
    return source.error();
  }
  for (const std::string& remark : (*source)->remarks()) {
    std::fprintf(stderr, "temper: %s\n", remark.c_str());
  }
  Result<std::unique_ptr<JitRunner>> jit =
      JitRunner::create((*pack)->pack(), device->facts, (*pack)->texts(), JitRunnerOptions());
  if (!jit) {
    return jit.error();
  }
  const bool on_terminal = progress_style(command.quiet) == ProgressStyle::kBar;
  Bench bench(jit->get(), command);
  TuneReport report;
  report.network = network.name;
  report.target = device->target;
  report.fingerprint = host_fingerprint(*device, (*pack)->view());
  report.skipped = network.skipped;
  for (uint32_t i = 0; i < network.workloads.size(); ++i) {
    WorkloadReport workload = describe(network.workloads[i]);
    const Space space = (*pack)->space(i, &device->facts);
    *all_right = bench_workload(&bench, i, space, source->get(), &workload) && *all_right;
    report.workloads.push_back(std::move(workload));
    if (!(*jit)->broken_reason().empty()) {
      return Error{TEMPER_PORT_ERROR, (*jit)->broken_reason()};
    }
    if (!command.quiet) {
      std::fprintf(stderr, on_terminal ? "\r%zu of %zu workloads " : "%zu of %zu workloads\n", report.workloads.size(),
                   network.workloads.size());
    }
  }
  if (!command.quiet && on_terminal) {
    std::fputs("\r\033[K", stderr);
  }
  report.elapsed_ns = temper_linux_now_ns(nullptr) - started_ns;
  return report;
}

int run(const BenchCommand& command) {
  if (Result<bool> apart = keep_apart({command.json}, {command.network.network, command.history, command.table});
      !apart) {
    return report(apart.error());
  }
  const Result<Network> network = resolve_network(command.network);
  if (!network) {
    return report(network.error());
  }
  if (!command.json.empty() && command.json != "-") {
    if (const Result<bool> possible = can_write(command.json); !possible) {
      return report(possible.error());
    }
  }
  bool all_right = true;
  const Result<TuneReport> result = bench_network(command, *network, &all_right);
  if (!result) {
    return report(result.error());
  }
  if (command.json != "-") {
    std::fputs(report_text(*result, ReportColumns::kBench).c_str(), stdout);
  }
  if (!command.json.empty()) {
    const Result<bool> written = write_json(report_json(*result), command.json);
    if (!written) {
      return report(written.error());
    }
  }
  return all_right && !network->workloads.empty() ? kExitDone : kExitNegative;
}

}  // namespace

void add_bench_command(CLI::App& app, int* exit_code) {
  CLI::App* command =
      app.add_subcommand("bench", "Times and checks each workload's default and tuned config, without a search");
  auto options = std::make_shared<BenchCommand>();
  add_network_argument(*command, &options->network);
  command->add_option("--table", options->table, "take the tuned configs from this table")->type_name("FILE");
  command
      ->add_option("--history", options->history,
                   "take them from this history (the user's own unless --table is given)")
      ->type_name("FILE");
  command->add_option("--threads", options->threads, "threads that a kernel may use")
      ->transform(whole_number(1, 1024))
      ->capture_default_str();
  command->add_option("--repeat", options->repeat, "samples of each config")
      ->transform(whole_number(1, 1000))
      ->capture_default_str();
  command->add_option("--min-repeat-ms", options->min_repeat_ms, "a sample repeats the kernel until it lasts this long")
      ->check(real_number(0.001, 10000.0))
      ->capture_default_str();
  command->add_option("--json", options->json, "write the result as JSON ('-': standard output)")->type_name("FILE|-");
  command->add_flag("--quiet", options->quiet, "no progress");
  command->footer("Example: temper bench mobilenet_v2");
  command->callback([options, exit_code] { *exit_code = run(*options); });
}

}  // namespace temper
