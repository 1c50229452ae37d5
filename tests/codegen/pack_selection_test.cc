#include "codegen/pack_selection.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "runtime/random.h"

using namespace temper;

namespace {

/// Workloads and variants at random: each variant serves about half of the workloads, each workload has a default.
SelectionProblem random_problem(uint64_t seed, uint32_t workloads, uint32_t candidates) {
  Random random(seed);
  SelectionProblem problem;
  for (uint32_t w = 0; w < workloads; ++w) {
    problem.workloads.push_back({"workload_" + std::to_string(w), 1.0 / workloads, 1000, w % candidates, false});
  }
  for (uint32_t c = 0; c < candidates; ++c) {
    VariantCandidate candidate{400 + random.below(2000), {}, {}};
    for (uint32_t w = 0; w < workloads; ++w) {
      const bool serves = random.below(2) == 0 || problem.workloads[w].default_candidate == c;
      candidate.times.push_back(serves ? 1000 + random.below(1500) : 0);
      candidate.unpacked.push_back(random.below(3) == 0);
    }
    problem.candidates.push_back(candidate);
  }
  return problem;
}

uint64_t bytes_of(const SelectionProblem& problem, const std::vector<uint32_t>& candidates) {
  uint64_t bytes = 0;
  for (const uint32_t c : candidates) {
    bytes += problem.candidates[c].bytes;
  }
  return bytes;
}

std::vector<uint32_t> chosen(const SelectionProblem& problem, const SelectionOrder& order, uint64_t limit) {
  const Result<uint32_t> count = prefix_within(problem, order, 0, limit);
  REQUIRE_MESSAGE(count.ok(), (count.ok() ? "" : count.error().message));
  return {order.candidates.begin(), order.candidates.begin() + *count};
}

}  // namespace

TEST_CASE("a choice serves every workload, stays within the limit and never gets worse with more bytes") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    const SelectionProblem problem = random_problem(seed, 12, 40);
    const Result<SelectionOrder> order = order_variants(problem, 0.001, 40);
    REQUIRE(order.ok());
    std::vector<double> before(problem.workloads.size(), INFINITY);
    const std::vector<uint32_t> serving(order->candidates.begin(), order->candidates.begin() + order->serving);
    for (uint64_t limit = bytes_of(problem, serving); limit < 60000; limit += 1500) {
      const std::vector<uint32_t> taken = chosen(problem, *order, limit);
      CHECK(bytes_of(problem, taken) <= limit);
      const std::vector<double> losses = predicted_losses(problem, taken);
      for (size_t w = 0; w < losses.size(); ++w) {
        CHECK(std::isfinite(losses[w]));
        CHECK(losses[w] <= before[w]);
      }
      before = losses;
    }
  }
}

TEST_CASE("with room enough each workload's default is in the pack, and a variant that needs no packed constant") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    const SelectionProblem problem = random_problem(seed, 10, 30);
    const Result<SelectionOrder> order = order_variants(problem, 0.001, 30);
    REQUIRE(order.ok());
    const std::vector<uint32_t> taken = chosen(problem, *order, UINT64_MAX);
    for (size_t w = 0; w < problem.workloads.size(); ++w) {
      CHECK(std::count(taken.begin(), taken.end(), problem.workloads[w].default_candidate) == 1);
      const auto unpacked = [&](uint32_t c) {
        return problem.candidates[c].times[w] > 0 && problem.candidates[c].unpacked[w];
      };
      std::vector<uint32_t> all(problem.candidates.size());
      for (uint32_t c = 0; c < all.size(); ++c) {
        all[c] = c;
      }
      CHECK(std::any_of(taken.begin(), taken.end(), unpacked) == std::any_of(all.begin(), all.end(), unpacked));
    }
  }
}

TEST_CASE("the order is the same every time, and takes nothing twice") {
  const SelectionProblem problem = random_problem(7, 15, 60);
  const Result<SelectionOrder> first = order_variants(problem, 0.001, 60), second = order_variants(problem, 0.001, 60);
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  CHECK(first->candidates == second->candidates);
  std::vector<uint32_t> sorted = first->candidates;
  std::sort(sorted.begin(), sorted.end());
  CHECK(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end());
}

TEST_CASE("one workload with one variant is a pack of that variant") {
  SelectionProblem problem;
  problem.workloads = {{"only", 1.0, 500, 0, false}};
  problem.candidates = {{1200, {550}, {false}}};
  const Result<SelectionOrder> order = order_variants(problem, 0.001, 10);
  REQUIRE(order.ok());
  CHECK(order->candidates == std::vector<uint32_t>{0});
  CHECK(chosen(problem, *order, 1200) == std::vector<uint32_t>{0});
  CHECK(predicted_losses(problem, {0})[0] == doctest::Approx(0.1));
}

TEST_CASE("a limit that no pack fits into names a workload and the limit that would do, data included") {
  SelectionProblem problem;
  problem.workloads = {{"first", 0.5, 100, 0, false}, {"second", 0.5, 100, 1, false}};
  problem.candidates = {{1000, {100, 0}, {true, true}}, {700, {0, 100}, {true, true}}};
  const Result<SelectionOrder> order = order_variants(problem, 0.001, 10);
  REQUIRE(order.ok());
  const Result<uint32_t> count = prefix_within(problem, *order, 300, 1999);
  REQUIRE(!count.ok());
  CHECK(count.error().code == TEMPER_STORAGE_FULL);
  CHECK(count.error().message.find("first") != std::string::npos);
  CHECK(count.error().message.find("2000 in all") != std::string::npos);
  CHECK(*prefix_within(problem, *order, 300, 2000) == 2);
}

TEST_CASE("a workload that nothing serves is named") {
  SelectionProblem problem;
  problem.workloads = {{"served", 0.5, 100, 0, false}, {"lonely", 0.5, 100, 0, false}};
  problem.candidates = {{1000, {100, 0}, {true, true}}};
  const Result<SelectionOrder> order = order_variants(problem, 0.001, 10);
  REQUIRE(!order.ok());
  CHECK(order.error().code == TEMPER_NOT_FOUND);
  CHECK(order.error().message.find("lonely") != std::string::npos);
}

TEST_CASE("what is faster by measurement is taken before what is said to be as fast") {
  SelectionProblem problem;
  problem.workloads = {{"only", 1.0, 100, 0, true}};
  problem.candidates = {{1000, {160}, {true}}, {1000, {150}, {false}}, {1000, {100}, {false}}};
  const Result<SelectionOrder> order = order_variants(problem, 0.001, 10);
  REQUIRE(order.ok());
  REQUIRE(order->candidates.size() >= 2);
  CHECK(order->candidates[0] == 0);  // the default, unpacked
  CHECK(order->candidates[1] == 2);
  CHECK(order->candidates.size() == 2);  // the third takes nothing off
}
