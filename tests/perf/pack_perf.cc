// What a kernel pack loses against the JIT's full space on this machine, workload by workload, in one interleaved run:
// the JIT's best config, the same config with run knobs and dims as arguments, the best config found over the pack, and
// that config with every knob constant. Usage: pack_perf NET --table TUNED [--pack-kib N [--prior HISTORY]] [--trials
// N]
// [--target NAME] [--seconds S]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "CLI/CLI.hpp"
#include "codegen/kernel_pack.h"
#include "schedules/fixed_dims.h"
#include "tests/perf/tuned_kernel.h"
#include "tests/perf/tuned_pack.h"
#include "tools/history_records.h"
#include "tools/network_argument.h"

namespace {

using namespace temper;
using namespace temper::perf;

struct Options {
  std::string network, table, target = "native", only, prior;
  uint64_t pack_kib = 0;
  uint32_t trials = 200;
  double seconds = 1.0, tuning_seconds = 30.0;
  bool same = false;
};

/// Speed of a contender as a share of the JIT's best, over all workloads.
struct Share {
  double log_sum = 0, worst = 1e30;
  std::string worst_name;
  int count = 0;
  void add(double share, const std::string& name) {
    log_sum += std::log(share);
    count++;
    if (share < worst) {
      worst = share;
      worst_name = name;
    }
  }
  void print(const char* title) const {
    if (count > 0) {
      std::printf("%-52s geometric mean %.3f, worst %.3f (%s)\n", title, std::exp(log_sum / count), worst,
                  worst_name.c_str());
    }
  }
};

size_t compile_knobs(TemplateId id) { return id == TemplateId::kGemm ? size_t{kKnobBlockM} : size_t{kDwKnobOrder}; }

/// One variant for each tuple of compile knobs that the JIT's best configs or the defaults have.
std::vector<PackVariant> variants_of(const Network& network, const KernelBench& bench, const TableView& table) {
  std::vector<PackVariant> variants;
  for (uint32_t w = 0; w < network.workloads.size(); w++) {
    const TemplateId id = template_of(network.workloads[w].workload);
    for (const Config& config :
         {bench.default_config(w), bench.table_config(w, table).value_or(bench.default_config(w))}) {
      const std::vector<int32_t> values = bench.values_of(w, config);
      PackVariant variant{id, {}, 0};
      for (size_t knob = 0; knob < compile_knobs(id); knob++) {
        variant.values.push_back(static_cast<uint16_t>(values[knob]));
      }
      const auto same = [&](const PackVariant& v) { return v.template_id == id && v.values == variant.values; };
      if (std::none_of(variants.begin(), variants.end(), same)) {
        variants.push_back(variant);
      }
    }
  }
  return variants;
}

/// The times that a history holds, to choose variants by.
Result<std::vector<MeasuredTime>> measured_times(const std::string& path) {
  std::vector<MeasuredTime> times;
  if (path.empty()) {
    return times;
  }
  const Result<HistorySource> source = read_history(path);
  if (!source) {
    return source.error();
  }
  const HistoryRecords records = read_records(*source);
  for (const HistoryRecord& record : records.trials) {
    if (const std::optional<MeasuredTime> time = measured_time(record)) {
      times.push_back(*time);
    }
  }
  return times;
}

/// As `temper build --pack-bytes` chooses them.
Result<std::vector<PackVariant>> chosen_variants(const Options& options, const Network& network,
                                                 const KernelBench& bench) {
  Result<std::vector<MeasuredTime>> measured = measured_times(options.prior);
  const Result<Target> target = find_target(options.target);
  if (!measured || !target) {
    return measured ? target.error() : measured.error();
  }
  KernelPackOptions pack;
  pack.target = *target;
  pack.facts = bench.facts();
  pack.name = "perf";
  pack.limit_bytes = options.pack_kib * 1024;
  pack.measured = std::move(*measured);
  pack.digests = false;
  const Result<KernelPack> made = make_kernel_pack(network.workloads, pack);
  return made ? Result<std::vector<PackVariant>>(made->variants) : made.error();
}

struct Row {
  std::string pack_config, jit_config;
  uint32_t trials = 0;
  bool hinted = false;                ///< the pack has a variant for the JIT's config
  std::vector<Contender> contenders;  ///< JIT, same config as arguments, pack, pack's config baked
};

Result<Row> make_row(const Options& options, const NetworkWorkload& workload, uint32_t w, KernelBench& bench,
                     const TableView& table, const TunedPack& pack, const WorkloadData& data) {
  Row row;
  const Config best = bench.table_config(w, table).value_or(bench.default_config(w));
  row.jit_config = bench.describe(w, best);
  row.hinted = pack.holds(template_of(workload.workload), bench.values_of(w, best));
  const auto add = [&](Result<Contender> contender) -> std::optional<Error> {
    if (!contender) {
      return contender.error();
    }
    row.contenders.push_back(std::move(*contender));
    return std::nullopt;
  };
  std::optional<Error> error = add(bench.contender(w, "JIT", best, data));
  error = error ? error : add(bench.contender(w, "same config", best, data, KernelMode::kPack));
  if (error || options.same) {
    return error ? Result<Row>(*error) : Result<Row>(std::move(row));
  }
  auto winner = pack.tune(workload, bench.facts(), bench.port(), options.trials, options.tuning_seconds);
  if (!winner) {
    return winner.error();
  }
  row.trials = winner->trials;
  const std::optional<Config> config = bench.config_of(w, winner->values.data());
  if (!config) {
    return Error{TEMPER_NOT_FOUND, "the pack's config is not of the full space"};
  }
  row.pack_config = bench.describe(w, *config);
  error = add(bench.contender_of(w, "pack", *config, data, winner->kernel));
  error = error ? error : add(bench.contender(w, "pack's, constant", *config, data));
  return error ? Result<Row>(*error) : Result<Row>(std::move(row));
}

int fail(const Error& error, int code) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return code;
}

int run(const Options& options) {
  auto network = resolve_network(options.network, {});
  if (!network) {
    return fail(network.error(), 3);
  }
  std::ifstream file(options.table, std::ios::binary);
  const std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
  TableView table;
  const char* reason = "";
  if (!TableView::open({bytes.data(), bytes.size()}, &table, &reason).ok()) {
    return fail({TEMPER_BAD_DATA, "table " + options.table + ": " + reason}, 3);
  }
  auto bench = KernelBench::create(*network, 1);
  if (!bench) {
    return fail(bench.error(), 4);
  }
  auto variants = options.pack_kib > 0 ? chosen_variants(options, *network, **bench)
                                       : Result<std::vector<PackVariant>>(variants_of(*network, **bench, table));
  if (!variants) {
    return fail(variants.error(), 4);
  }
  if (const Result<bool> fixed = fix_dims(network->workloads, &*variants); !fixed) {
    return fail(fixed.error(), 4);
  }
  auto pack = TunedPack::create(options.target, std::move(*variants));
  if (!pack) {
    return fail(pack.error(), 4);
  }
  std::printf("%s: pack of %zu variants for %s, %u bytes of code; one thread; speed as a share of the JIT's best\n",
              network->name.c_str(), (*pack)->variant_count(), options.target.c_str(), (*pack)->code_bytes());
  std::printf("%-26s %10s %8s %8s %8s %7s\n", "workload", "JIT us", "same", "pack", "constant", "trials");
  Share same, found, hinted, constant;
  for (uint32_t w = 0; w < network->workloads.size(); w++) {
    const NetworkWorkload& workload = network->workloads[w];
    if (workload.name.find(options.only) == std::string::npos) {
      continue;
    }
    const WorkloadData data(workload.workload);
    auto row = make_row(options, workload, w, **bench, table, **pack, data);
    if (!row) {
      return fail(row.error(), 4);
    }
    const std::vector<double> ns = time_interleaved(row->contenders, 1, options.seconds, 400, 100e3);
    const auto share = [&](size_t i) { return i < ns.size() ? ns[0] / ns[i] : 0.0; };
    std::printf("%-26s %10.1f %8.3f %8.3f %8.3f %7u  JIT: %s%s%s\n", workload.name.c_str(), ns[0] * 1e-3, share(1),
                share(2), share(3), row->trials, row->jit_config.c_str(), ns.size() > 2 ? "; pack: " : "",
                row->pack_config.c_str());
    std::fflush(stdout);
    same.add(share(1), workload.name);
    if (ns.size() > 2) {
      found.add(share(2), workload.name);
      hinted.add(row->hinted ? std::max(share(1), share(2)) : share(2), workload.name);
      constant.add(share(3), workload.name);
    }
  }
  same.print("the JIT's config, dims and run knobs as arguments:");
  found.print("the best config found over the pack:");
  hinted.print("that or, where the pack has it, the JIT's config:");
  constant.print("the pack's config, everything constant:");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Kernel pack against the JIT's full space, interleaved"};
  Options options;
  app.add_option("NET", options.network, "network")->required();
  app.add_option("--table", options.table, "tuned table of the full space, by temper tune NET --table FILE --threads 1")
      ->required();
  app.add_option("--pack-kib", options.pack_kib,
                 "variants are chosen as temper build does, to this limit; else those of the table and the defaults");
  app.add_option("--prior", options.prior, "history whose times the choice goes by");
  app.add_option("--trials", options.trials, "trials over the pack for each workload")->capture_default_str();
  app.add_option("--tuning-seconds", options.tuning_seconds, "at most, for each workload")->capture_default_str();
  app.add_option("--target", options.target, "target of the pack; this machine must run it")->capture_default_str();
  app.add_option("--seconds", options.seconds, "per workload, for the comparison")->capture_default_str();
  app.add_option("--only", options.only, "workloads whose name contains this");
  app.add_flag("--same", options.same, "compare the JIT's configs alone; no pack is tuned");
  CLI11_PARSE(app, argc, argv);
  return run(options);
}
