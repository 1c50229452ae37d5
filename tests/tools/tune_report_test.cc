#include "tools/tune_report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace temper {
namespace {

TuneReport two_workloads() {
  TuneReport report;
  report.network = "two";
  report.target = "here";
  report.budget_ns = 3'000'000'000;
  WorkloadReport measured;
  measured.name = "a";
  measured.operator_name = "matmul";
  measured.shape = "1x2 * 2x3";
  measured.count = 3;
  measured.flops = 2'000'000;
  measured.default_ns = 30'000;
  measured.tuned_ns = 20'000;
  measured.trials = 5;
  measured.outcomes[TEMPER_OUTCOME_OK] = 4;
  measured.outcomes[TEMPER_OUTCOME_CRASHED] = 1;
  measured.source = "search";
  measured.config = {{"tile_m", 6}};
  measured.quarantined = {{{{"tile_m", 8}, {"unroll_k", 2}}, TEMPER_OUTCOME_CRASHED}};
  measured.max_abs_error = 0.0;
  WorkloadReport untouched;
  untouched.name = "b";
  untouched.count = 100;
  untouched.flops = 1'000'000;
  untouched.source = "default";
  report.workloads = {measured, untouched};
  return report;
}

TEST_CASE("totals weigh by count and leave out what was not measured") {
  const TuneReport report = two_workloads();
  CHECK(report.total_default_ns() == 90'000);
  CHECK(report.total_tuned_ns() == 60'000);
  CHECK(report.speedup() == doctest::Approx(1.5));
  const std::string text = report_text(report, ReportColumns::kTune);
  CHECK(text.find("0.090 ms default, 0.060 ms tuned, 1.50x") != std::string::npos);
  CHECK(text.find("1 of 2 workloads were not measured") != std::string::npos);
}

TEST_CASE("configs that are not tried again are named, with the reason; of very many the first") {
  TuneReport report = two_workloads();
  CHECK(
      report_text(report, ReportColumns::kTune).find("quarantined: matmul 1x2 * 2x3 tile_m=8 unroll_k=2: crashed\n") !=
      std::string::npos);
  const nlohmann::ordered_json json = report_json(report)["workloads"];
  REQUIRE(json[0]["quarantined"].size() == 1);
  CHECK(json[0]["quarantined"][0]["outcome"] == "crashed");
  CHECK(json[0]["quarantined"][0]["config"]["tile_m"] == 8);
  CHECK(json[1]["quarantined"].empty());
  report.workloads[0].quarantined.resize(100, report.workloads[0].quarantined[0]);
  const std::string text = report_text(report, ReportColumns::kTune);
  CHECK(text.find("quarantined: 80 more\n") != std::string::npos);
}

TEST_CASE("a report of nothing has no times and a speedup of one") {
  const TuneReport report;
  CHECK(report.total_default_ns() == 0);
  CHECK(report.speedup() == 1.0);
  CHECK(report_json(report)["speedup"] == 1.0);
}

TEST_CASE("totals hold where time x count exceeds 64 bits") {
  TuneReport report = two_workloads();
  report.workloads[0].count = 4'000'000'000u;
  report.workloads[0].default_ns = 60'000'000'000;
  report.workloads[0].tuned_ns = 30'000'000'000;
  report.workloads[0].flops = uint64_t{1} << 58;
  report.skipped.push_back({"Softmax", "not tuned", 1, UINT64_MAX});
  report.skipped.push_back({"Relu", "not tuned", 1, UINT64_MAX});
  CHECK(report.total_default_ns() == doctest::Approx(2.4e20));
  CHECK(report.speedup() == doctest::Approx(2.0));
  CHECK(report_text(report, ReportColumns::kTune).find("2 other operators, 0.0 % of the arithmetic") !=
        std::string::npos);
}

TEST_CASE("json names units, counts only outcomes that occurred and says null for the unknown") {
  const nlohmann::ordered_json json = report_json(two_workloads());
  CHECK(json["budget_s"] == 3.0);
  CHECK(json["total_default_us"] == 90.0);
  const auto& measured = json["workloads"][0];
  CHECK(measured["gflop"] == 0.002);
  CHECK(measured["default_us"] == 30.0);
  CHECK(measured["speedup"] == 1.5);
  CHECK(measured["outcomes"].size() == 2);
  CHECK(measured["outcomes"]["crashed"] == 1);
  CHECK(measured["config"]["tile_m"] == 6);
  const auto& untouched = json["workloads"][1];
  CHECK(untouched["default_us"].is_null());
  CHECK(untouched["tuned_us"].is_null());
  CHECK(untouched["max_abs_error"].is_null());
  CHECK(untouched["speedup"] == 1.0);
}

TEST_CASE("the share of skipped operators is told with its part of the arithmetic") {
  TuneReport report = two_workloads();
  report.skipped.push_back({"Softmax", "not tuned", 2, 6'000'000 + 100'000'000});
  // 3 x 2 million and 100 x 1 million are tuned; as much is not.
  CHECK(report_text(report, ReportColumns::kTune).find("2 other operators, 50.0 % of the arithmetic") !=
        std::string::npos);
}

TEST_CASE("bench shows checks instead of trials") {
  TuneReport report = two_workloads();
  report.workloads[1].outcomes[TEMPER_OUTCOME_WRONG_RESULT] = 1;
  const std::string text = report_text(report, ReportColumns::kBench);
  CHECK(text.find("check") != std::string::npos);
  CHECK(text.find("ok") != std::string::npos);
  CHECK(text.find("wrong") != std::string::npos);
  CHECK(text.find("trials") == std::string::npos);
}

}  // namespace
}  // namespace temper
