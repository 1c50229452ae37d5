#include "tools/tune_report.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/fingerprint_json.h"
#include "tools/text_table.h"

namespace temper {
namespace {

double microseconds(uint64_t ns) { return static_cast<double>(ns) / 1e3; }

double ratio(double a, double b) { return b == 0.0 ? 1.0 : a / b; }
double ratio(uint64_t a, uint64_t b) { return ratio(static_cast<double>(a), static_cast<double>(b)); }

/// Three decimals: what a clock can tell.
double rounded(double value) { return std::round(value * 1e3) / 1e3; }

bool measured(const WorkloadReport& workload) { return workload.default_ns != 0 && workload.tuned_ns != 0; }

/// Three digits or more: kernels last from some nanoseconds to seconds.
std::string time_cell(uint64_t ns) {
  return ns == 0 ? "-" : decimal(microseconds(ns), ns < 1000 ? 3 : ns < 10000 ? 2 : 1);
}

/// Counts and times come from files: their product may exceed 64 bits.
double sum(const std::vector<WorkloadReport>& workloads, uint64_t WorkloadReport::*time) {
  double total = 0.0;
  for (const WorkloadReport& workload : workloads) {
    total += measured(workload) ? static_cast<double>(workload.*time) * workload.count : 0.0;
  }
  return total;
}

nlohmann::ordered_json config_json(const NamedValues& values) {
  nlohmann::ordered_json config = nlohmann::ordered_json::object();
  for (const auto& [knob, value] : values) {
    config[knob] = value;
  }
  return config;
}

/// The first of them by name; `temper inspect` knows all.
std::string quarantined_lines(const TuneReport& report) {
  constexpr size_t kMostLines = 20;
  std::string text;
  size_t count = 0;
  for (const WorkloadReport& workload : report.workloads) {
    for (const QuarantinedConfig& of : workload.quarantined) {
      if (++count > kMostLines) {
        continue;
      }
      text.append("quarantined: ").append(workload.operator_name).append(" ").append(workload.shape);
      for (const auto& [knob, value] : of.config) {
        text.append(" ").append(knob).append("=").append(std::to_string(value));
      }
      text.append(": ").append(temper_outcome_name(of.outcome)).append("\n");
    }
  }
  if (count > kMostLines) {
    text.append("quarantined: ").append(std::to_string(count - kMostLines)).append(" more\n");
  }
  return text;
}

nlohmann::ordered_json workload_json(const WorkloadReport& workload) {
  nlohmann::ordered_json outcomes = nlohmann::ordered_json::object();
  for (uint8_t outcome = 0; outcome < TEMPER_OUTCOME_COUNT; ++outcome) {
    if (workload.outcomes[outcome] > 0) {
      outcomes[temper_outcome_name(static_cast<temper_outcome>(outcome))] = workload.outcomes[outcome];
    }
  }
  nlohmann::ordered_json quarantined = nlohmann::ordered_json::array();
  for (const QuarantinedConfig& of : workload.quarantined) {
    quarantined.push_back({{"config", config_json(of.config)}, {"outcome", temper_outcome_name(of.outcome)}});
  }
  const auto time = [](uint64_t ns) {
    return ns == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(rounded(microseconds(ns)));
  };
  nlohmann::ordered_json json;
  json["name"] = workload.name;
  json["operator"] = workload.operator_name;
  json["shape"] = workload.shape;
  json["dtype"] = "f32";
  json["count"] = workload.count;
  json["gflop"] = static_cast<double>(workload.flops) / 1e9;
  json["default_us"] = time(workload.default_ns);
  json["tuned_us"] = time(workload.tuned_ns);
  json["speedup"] = rounded(measured(workload) ? ratio(workload.default_ns, workload.tuned_ns) : 1.0);
  json["trials"] = workload.trials;
  json["outcomes"] = outcomes;
  json["source"] = workload.source;
  json["config"] = config_json(workload.config);
  json["quarantined"] = quarantined;
  json["max_abs_error"] =
      workload.max_abs_error ? nlohmann::ordered_json(*workload.max_abs_error) : nlohmann::ordered_json();
  return json;
}

std::string skipped_line(const TuneReport& report) {
  double all = 0.0, skipped = 0.0;
  uint64_t operators = 0;
  for (const WorkloadReport& workload : report.workloads) {
    all += static_cast<double>(workload.flops) * workload.count;
  }
  for (const SkippedOperator& op : report.skipped) {
    skipped += static_cast<double>(op.flops);
    operators += op.count;
  }
  if (operators == 0) {
    return "";
  }
  const double share = all + skipped == 0.0 ? 0.0 : 100.0 * skipped / (all + skipped);
  return "Not tuned: " + std::to_string(operators) + " other operators, " + decimal(share, 1) +
         " % of the arithmetic.\n";
}

}  // namespace

double TuneReport::total_default_ns() const { return sum(workloads, &WorkloadReport::default_ns); }
double TuneReport::total_tuned_ns() const { return sum(workloads, &WorkloadReport::tuned_ns); }
double TuneReport::speedup() const { return ratio(total_default_ns(), total_tuned_ns()); }

WorkloadReport describe(const NetworkWorkload& workload) {
  WorkloadReport report;
  report.name = workload.name;
  report.operator_name = operator_name(workload.workload);
  report.shape = shape_text(workload.workload);
  report.epilogue = epilogue_text(workload.workload);
  report.count = workload.count;
  report.flops = flops(workload.workload);
  return report;
}

NamedValues config_values(const Space& space, const Config& config) {
  int32_t values[TEMPER_MAX_KNOBS];
  space.values_of(config, values);
  NamedValues named;
  for (uint32_t knob = 0; knob < space.knob_count(); ++knob) {
    named.emplace_back(space.view().knob(knob).name, values[knob]);
  }
  return named;
}

std::string report_text(const TuneReport& report, ReportColumns columns) {
  const bool bench = columns == ReportColumns::kBench;
  TextTable table({{"operator"},
                   {"shape"},
                   {"epilogue"},
                   {"count", Align::kRight},
                   {"default us", Align::kRight},
                   {"tuned us", Align::kRight},
                   {"speedup", Align::kRight},
                   {bench ? "check" : "trials", bench ? Align::kLeft : Align::kRight},
                   {"source"}});
  size_t unmeasured = 0;
  for (const WorkloadReport& workload : report.workloads) {
    const bool both = measured(workload);
    unmeasured += both ? 0 : 1;
    const std::string check = workload.outcomes[TEMPER_OUTCOME_WRONG_RESULT] > 0 ? "wrong"
                              : workload.max_abs_error                           ? "ok"
                                                                                 : "failed";
    table.add_row({workload.operator_name, workload.shape, workload.epilogue, std::to_string(workload.count),
                   time_cell(workload.default_ns), time_cell(workload.tuned_ns),
                   both ? decimal(ratio(workload.default_ns, workload.tuned_ns), 2) + "x" : "-",
                   bench ? check : std::to_string(workload.trials), workload.source});
  }
  std::string text = table.text();
  text += "\n" + report.network + " on " + report.target + ": sum of kernel times " +
          decimal(report.total_default_ns() / 1e6, 3) + " ms default, " + decimal(report.total_tuned_ns() / 1e6, 3) +
          " ms tuned, " + decimal(report.speedup(), 2) + "x\n";
  if (unmeasured > 0) {
    text += std::to_string(unmeasured) + " of " + std::to_string(report.workloads.size()) +
            " workloads were not measured and are not in the sum.\n";
  }
  return text + quarantined_lines(report) + skipped_line(report);
}

nlohmann::ordered_json report_json(const TuneReport& report) {
  nlohmann::ordered_json json;
  json["schema"] = 1;
  json["network"] = report.network;
  json["target"] = report.target;
  json["fingerprint"] = fingerprint_json(report.fingerprint);
  json["seed"] = report.seed;
  json["budget_s"] = report.budget_ns == 0 ? nlohmann::ordered_json()
                                           : nlohmann::ordered_json(static_cast<double>(report.budget_ns) / 1e9);
  json["elapsed_s"] = rounded(static_cast<double>(report.elapsed_ns) / 1e9);
  json["trials"] = report.trials;
  json["workloads"] = nlohmann::ordered_json::array();
  for (const WorkloadReport& workload : report.workloads) {
    json["workloads"].push_back(workload_json(workload));
  }
  json["total_default_us"] = rounded(report.total_default_ns() / 1e3);
  json["total_tuned_us"] = rounded(report.total_tuned_ns() / 1e3);
  json["speedup"] = rounded(report.speedup());
  return json;
}

}  // namespace temper
