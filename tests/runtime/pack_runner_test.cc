#include "runtime/pack_runner.h"

#include <doctest/doctest.h>

#include <vector>

#include "tests/runtime/toy_matmul.h"

namespace temper::test {
namespace {

/// A runner over the toy pack with all the memory it wants.
struct Bench {
  Bench() : open(toy_pack(), toy_kernels, kToyKernelCount), facts(test_facts()), port(ToyClock::port(nullptr)) {
    ToyClock::reset();
    facts.value[TEMPER_FACT_THREADS] = 1;
    space = Space(&open.view(), 0, &facts, {open.values(), open.intervals()});
    pack_runner = PackRunner(&open.view(), {&space, 1}, &port);
    memory.resize(pack_runner.bytes_wanted());
    REQUIRE(pack_runner.attach(memory.data(), memory.size()).ok());
    runner = pack_runner.runner();
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  /// Choices of tile, packed and block by index.
  temper_outcome build(uint8_t slot, uint8_t tile, uint8_t packed, uint8_t block = 0) {
    Config config;
    config.choice[kToyTile] = tile;
    config.choice[kToyPacked] = packed;
    config.choice[kToyBlock] = block;
    REQUIRE(runner.build(runner.self, slot, 0, config).ok());
    temper_outcome outcome;
    uint32_t build_us = 1;
    REQUIRE(runner.poll_build(runner.self, slot, &outcome, &build_us));
    return outcome;
  }
  RunResult run(uint8_t slot, RunKind kind, uint32_t number = 1, uint64_t limit_ns = UINT64_MAX) {
    REQUIRE(runner.run(runner.self, slot, kind, number, limit_ns).ok());
    RunResult result{};
    REQUIRE(runner.poll_run(runner.self, &result));
    return result;
  }

  OpenPack open;
  temper_facts facts;
  temper_port port;
  Space space;
  PackRunner pack_runner;
  std::vector<uint8_t> memory;
  Runner runner{};
};

}  // namespace

TEST_CASE("right variants pass the check, wrong ones and those that write outside do not") {
  Bench bench;
  REQUIRE(bench.build(0, 0, 0) == TEMPER_OUTCOME_OK);
  REQUIRE(bench.build(1, 2, 1) == TEMPER_OUTCOME_OK);
  REQUIRE(bench.build(2, 2, 0) == TEMPER_OUTCOME_OK);
  REQUIRE(bench.build(3, 1, 1) == TEMPER_OUTCOME_OK);
  CHECK(bench.run(0, RunKind::kCheck).outcome == TEMPER_OUTCOME_OK);
  CHECK(bench.run(1, RunKind::kCheck).outcome == TEMPER_OUTCOME_OK);
  CHECK(bench.run(2, RunKind::kCheck).outcome == TEMPER_OUTCOME_WRONG_RESULT);
  CHECK(bench.run(3, RunKind::kCheck).outcome == TEMPER_OUTCOME_WRONG_RESULT);
  CHECK(bench.run(1, RunKind::kCheck).outcome == TEMPER_OUTCOME_OK);  // its packed constant is made anew
}

TEST_CASE("a config that no variant serves is invalid and cannot be run") {
  Bench bench;
  CHECK(bench.build(0, 0, 1) == TEMPER_OUTCOME_INVALID);
  CHECK(bench.runner.run(bench.runner.self, 0, RunKind::kTime, 1, 1000) == TEMPER_INVALID_ARGUMENT);
}

TEST_CASE("slots and workloads that do not exist are refused, and a released slot cannot be run") {
  Bench bench;
  CHECK(bench.runner.build(bench.runner.self, PackRunner::kSlots, 0, Config()) == TEMPER_INVALID_ARGUMENT);
  CHECK(bench.runner.build(bench.runner.self, 0, 1, Config()) == TEMPER_INVALID_ARGUMENT);
  REQUIRE(bench.build(0, 0, 0) == TEMPER_OUTCOME_OK);
  bench.runner.release(bench.runner.self, 0);
  CHECK(bench.runner.run(bench.runner.self, 0, RunKind::kTime, 1, 1000) == TEMPER_INVALID_ARGUMENT);
}

TEST_CASE("timing is the kernel's own, packing and binding left out") {
  Bench bench;
  REQUIRE(bench.build(0, 2, 1, 2) == TEMPER_OUTCOME_OK);  // tile 4, one work item
  const RunResult result = bench.run(0, RunKind::kTime, 5);
  CHECK(result.outcome == TEMPER_OUTCOME_OK);
  CHECK(result.elapsed_ns >= 5 * 20000);
  CHECK(result.elapsed_ns < 5 * 20000 + 200);
  CHECK(ToyClock::kernel_calls == 5);
}

TEST_CASE("a run past its limit ends as timeout, at most as many calls later as were made before") {
  Bench bench;
  REQUIRE(bench.build(0, 0, 0, 2) == TEMPER_OUTCOME_OK);  // 100 us a call
  CHECK(bench.run(0, RunKind::kTime, 1000, 350000).outcome == TEMPER_OUTCOME_TIMEOUT);
  CHECK(ToyClock::kernel_calls == 4);
  CHECK(bench.run(0, RunKind::kTime, 2, 350000).outcome == TEMPER_OUTCOME_OK);
}

}  // namespace temper::test
