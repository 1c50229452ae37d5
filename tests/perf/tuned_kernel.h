// Our contender: a workload's kernel by the JIT with a given config, every knob constant or as a pack would hold it,
// constants packed, ready to execute. Benchmarks only.
#pragma once

#include <optional>

#include "codegen/kernel_compiler.h"
#include "runtime/table_view.h"
#include "schedules/network.h"
#include "tests/perf/contender.h"

namespace temper::perf {

/// Spaces of a network's workloads on this machine, and a loader for their kernels. Contenders keep pointers into it.
class KernelBench {
 public:
  static Result<std::unique_ptr<KernelBench>> create(const Network& network, int threads);
  ~KernelBench();

  Config default_config(uint32_t workload) const;
  /// The config that a tuned table holds for the workload; empty when it has none that is legal here.
  std::optional<Config> table_config(uint32_t workload, const TableView& table) const;
  /// Values as temper_answer lists them; empty when they are not a legal config here.
  std::optional<Config> config_of(uint32_t workload, const int32_t* values) const;
  Result<Contender> contender(uint32_t workload, const std::string& name, const Config& config,
                              const WorkloadData& data, KernelMode mode = KernelMode::kBaked);
  /// With a kernel that exists, which must outlive the contender.
  Result<Contender> contender_of(uint32_t workload, const std::string& name, const Config& config,
                                 const WorkloadData& data, temper_kernel kernel);
  /// Its knob values, compile knobs first.
  std::vector<int32_t> values_of(uint32_t workload, const Config& config) const;
  const temper_facts& facts() const;
  const temper_port& port() const;
  std::string describe(uint32_t workload, const Config& config) const;
  double build_ms() const;  ///< mean time of compiling and linking one kernel so far

 private:
  struct State;
  explicit KernelBench(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace temper::perf
