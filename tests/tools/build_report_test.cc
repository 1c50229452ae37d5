// What temper build says where something does not fit: each reason names an option that helps.
#include "tools/build_report.h"

#include <doctest/doctest.h>

using namespace temper;

namespace {

/// Fits: 4,000 bytes of arena, 90,000 of tensors, 100 trials of 168 bytes in 32 KiB of storage.
BuildReport fitting() {
  BuildReport report;
  report.pack.emplace();
  report.pack->workloads.resize(2);
  report.needs.emplace();
  report.needs->arena_bytes = 4000;
  report.needs->every_candidate_bytes = 120000;
  report.needs->defaults_bytes = 90000;
  report.needs->largest_workload = "block_1";
  report.needs->largest_tensor_bytes = 80000;
  report.needs->history_fixed_bytes = 1000;
  report.needs->history_trial_bytes = 168;
  report.pool_bytes = 124000;
  report.storage_bytes = 32768;
  report.max_trials = 50;
  return report;
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("what fits gives no reasons") { CHECK(misfits(fitting()).empty()); }

TEST_CASE("where the tensors are too large the workload is named, not an option that saves nothing") {
  BuildReport report = fitting();
  report.overflows["RAM"] = 50000;
  const std::vector<std::string> reasons = misfits(report);
  REQUIRE(reasons.size() == 1);
  CHECK(contains(reasons[0], "RAM is 50000 bytes too small"));
  CHECK(contains(reasons[0], "the tensors of block_1 alone take 80000"));
  CHECK_FALSE(contains(reasons[0], "--max-trials"));
}

TEST_CASE("where the arena is what is large, fewer remembered trials help") {
  BuildReport report = fitting();
  report.overflows["RAM"] = 50000;
  report.needs->arena_bytes = 2000000;
  report.pool_bytes = 2124000;
  const std::vector<std::string> reasons = misfits(report);
  REQUIRE(reasons.size() == 1);
  CHECK(contains(reasons[0], "--max-trials"));
}

TEST_CASE("a history that does not fit tells the number of trials that would") {
  BuildReport report = fitting();
  report.storage_bytes = 16384;
  const std::vector<std::string> reasons = misfits(report);
  REQUIRE(reasons.size() == 1);
  CHECK(contains(reasons[0], "--trials 91 fits"));
  report.trials = 91;
  CHECK(misfits(report).empty());
  report.trials = 92;
  CHECK(misfits(report).size() == 1);
  report.storage_bytes = 1100;
  CHECK(contains(misfits(report).back(), "not one trial fits"));
}

TEST_CASE("flash that overflows names the limit of the pack, winners alone have none") {
  BuildReport report = fitting();
  report.overflows["FLASH"] = 10;
  CHECK(contains(misfits(report).front(), "--pack-bytes"));
  report.pack.reset();
  report.needs.reset();
  CHECK_FALSE(contains(misfits(report).front(), "--pack-bytes"));
}
