// Times the workloads of a network by several tuned tables, our default, plain loops and the libraries, interleaved in
// one run, and prints ratios. Usage: network_perf NET [--table NAME=FILE]... [--threads N] [--only matmul|all]
// [--seconds S] [--naive] [--limit N]
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>

#include "CLI/CLI.hpp"
#include "tests/perf/tuned_kernel.h"
#include "tools/network_argument.h"

namespace {

using namespace temper;
using namespace temper::perf;

struct Options {
  std::string network, only = "matmul";
  std::vector<std::string> tables;
  int threads = 1;
  double seconds = 1.0;
  bool naive = false, blas = true;
  size_t limit = 0;
};

struct LoadedTable {
  std::string name;
  std::vector<char> bytes;
  TableView view;
};

/// Ratios of one contender against the best library, or against the default.
struct Summary {
  double log_sum = 0, worst = 1e30;
  int count = 0;
  void add(double ratio) {
    log_sum += std::log(ratio);
    worst = std::min(worst, ratio);
    count++;
  }
  double mean() const { return count == 0 ? 0 : std::exp(log_sum / count); }
};

bool is_matmul_like(const Workload& workload) {
  if (workload.op == Operator::kMatmul) {
    return true;
  }
  const Conv2dShape& s = workload.conv;
  return s.groups == 1 && s.kernel_h * s.kernel_w == 1 && s.stride_h * s.stride_w == 1;
}

bool same_result(const Tensor& a, const Tensor& b, int64_t reduction) {
  for (size_t i = 0; i < a.size(); i++) {
    if (!(std::fabs(a[i] - b[i]) <= 1e-5 * static_cast<double>(reduction) + 1e-4 * std::fabs(b[i]))) {
      return false;
    }
  }
  return true;
}

int run(const Options& options) {
  auto network = resolve_network(options.network, {});
  if (!network) {
    std::fprintf(stderr, "%s\n", network.error().message.c_str());
    return 3;
  }
  std::vector<LoadedTable> tables;
  for (const std::string& text : options.tables) {
    const size_t equals = text.find('=');
    LoadedTable& table = tables.emplace_back();
    table.name = equals == std::string::npos ? "tuned" : text.substr(0, equals);
    std::ifstream file(equals == std::string::npos ? text : text.substr(equals + 1), std::ios::binary);
    table.bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  for (LoadedTable& table : tables) {
    const char* reason = "";
    if (!TableView::open({table.bytes.data(), table.bytes.size()}, &table.view, &reason).ok()) {
      std::fprintf(stderr, "table %s: %s\n", table.name.c_str(), reason);
      return 3;
    }
  }
  auto bench = KernelBench::create(*network, options.threads);
  if (!bench) {
    std::fprintf(stderr, "%s\n", bench.error().message.c_str());
    return 4;
  }
  std::map<std::string, Summary> against_library, against_default;
  size_t shown = 0;
  for (uint32_t w = 0; w < network->workloads.size(); w++) {
    const Workload& workload = network->workloads[w].workload;
    if ((options.only == "matmul" && !is_matmul_like(workload)) || (options.limit != 0 && shown >= options.limit)) {
      continue;
    }
    shown++;
    const WorkloadData data(workload);
    std::vector<Contender> contenders;
    const auto add_ours = [&](const std::string& name, const Config& config) {
      auto ours = (*bench)->contender(w, name, config, data);
      if (ours) {
        contenders.push_back(std::move(*ours));
      } else {
        std::fprintf(stderr, "%s: %s\n", name.c_str(), ours.error().message.c_str());
      }
    };
    add_ours("default", (*bench)->default_config(w));
    for (const LoadedTable& table : tables) {
      if (const auto config = (*bench)->table_config(w, table.view)) {
        add_ours(table.name, *config);
      }
    }
    const size_t our_count = contenders.size();
    for (Contender& peer : one_dnn(workload, data, options.threads)) {
      contenders.push_back(std::move(peer));
    }
    if (options.blas) {
      Contender blas = open_blas(workload, data, options.threads);
      if (!blas.name.empty()) {
        contenders.push_back(std::move(blas));
      }
    }
    const size_t library_end = contenders.size();
    std::vector<double> ns = time_interleaved(contenders, options.threads, options.seconds, 200, 200e3);
    if (options.naive) {  // apart: tens of milliseconds of plain loops leave the others nothing in the caches
      contenders.push_back(naive(workload, data));
      ns.push_back(time_interleaved({contenders.back()}, options.threads, 0.0, 3, 0.0)[0]);
    }
    double best_library = 1e30;
    for (size_t i = our_count; i < library_end; i++) {
      best_library = std::min(best_library, ns[i]);
    }
    std::printf("%s\n", canonical_text(workload).c_str());
    for (size_t i = 0; i < contenders.size(); i++) {
      const bool ok = i == 0 || contenders[i].name == "OpenBLAS" || contenders[i].name == "naive" ||
                      same_result(*contenders[i].out, *contenders[0].out, reduction_length(workload));
      std::printf("  %-22s %10.1f us %8.1f GFLOP/s  %5.2f of the best library%s\n", contenders[i].name.c_str(),
                  ns[i] * 1e-3, static_cast<double>(flops(workload)) / ns[i], best_library / ns[i],
                  ok ? "" : "  RESULT DIFFERS");
      against_library[contenders[i].name].add(best_library / ns[i]);
      against_default[contenders[i].name].add(ns[0] / ns[i]);
    }
    std::fflush(stdout);
  }
  std::printf("\n%s, %d thread(s), %zu workloads; build %.1f ms per kernel\n", network->name.c_str(), options.threads,
              shown, (*bench)->build_ms());
  for (const auto& [name, summary] : against_library) {
    std::printf("  %-22s geometric mean %.3f, worst %.3f of the best library; %.3f times the default's speed\n",
                name.c_str(), summary.mean(), summary.worst, against_default[name].mean());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Times a network's workloads against the libraries");
  app.add_option("network", options.network, "ONNX file, .workloads file or built-in name")->required();
  app.add_option("--table", options.tables, "NAME=FILE of a tuned table; may repeat");
  app.add_option("--threads", options.threads);
  app.add_option("--only", options.only, "matmul: matmul and 1x1 convolutions; all: everything");
  app.add_option("--seconds", options.seconds, "per workload");
  app.add_option("--limit", options.limit, "only the first N workloads");
  app.add_flag("!--no-openblas", options.blas, "leave OpenBLAS out: its idle threads disturb others");
  app.add_flag("--naive", options.naive, "also time plain loops");
  CLI11_PARSE(app, argc, argv);
  return run(options);
}
