// What tune and bench tell at their end: the table for people and the JSON whose keys others rely on. Called by both;
// prints nothing.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/fingerprint.h"
#include "runtime/tuner.h"
#include "schedules/network.h"

namespace temper {

using NamedValues = std::vector<std::pair<std::string, int32_t>>;  ///< knobs

/// A config that is not tried again: it crashed, did not return in time, or computes something wrong.
struct QuarantinedConfig {
  NamedValues config;
  temper_outcome outcome;
};

struct WorkloadReport {
  std::string name, operator_name, shape, epilogue;
  uint32_t count = 1;
  uint64_t flops = 0;
  uint64_t default_ns = 0;  ///< 0: not measured
  uint64_t tuned_ns = 0;    ///< of the config that is used; 0: not measured
  uint32_t trials = 0;
  uint32_t outcomes[TEMPER_OUTCOME_COUNT] = {};
  std::string source;  ///< where the config came from: search, confirmed, history, table, default
  NamedValues config;
  std::vector<QuarantinedConfig> quarantined;  ///< by this run
  std::optional<double> max_abs_error;         ///< against the reference; empty: not checked
};

struct TuneReport {
  std::string network, target;
  Fingerprint fingerprint{};
  uint64_t seed = 0;
  uint64_t budget_ns = 0;  ///< 0: none
  uint64_t elapsed_ns = 0;
  uint32_t trials = 0;
  std::vector<WorkloadReport> workloads;
  std::vector<SkippedOperator> skipped;

  double total_default_ns() const;  ///< of workloads with both times, weighted by count
  double total_tuned_ns() const;
  double speedup() const;  ///< of the totals; 1 when nothing was measured
};

/// Fills name, operator, shape, count and flops.
WorkloadReport describe(const NetworkWorkload& workload);
/// Knob names and values of a config.
NamedValues config_values(const Space& space, const Config& config);

enum class ReportColumns { kTune, kBench };
std::string report_text(const TuneReport& report, ReportColumns columns);
nlohmann::ordered_json report_json(const TuneReport& report);

}  // namespace temper
