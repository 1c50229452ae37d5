#include "codegen/jit_runner.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>

#include <cerrno>

#include "tests/codegen/fault_bench.h"

namespace temper {
namespace {

bool has_children() { return ::waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD; }

TEST_CASE("a good candidate is built, checked and timed") {
  Bench bench;
  CHECK(bench.build(0, Fault::kGood) == TEMPER_OUTCOME_OK);
  CHECK(bench.check(0) == TEMPER_OUTCOME_OK);
  const RunResult timed = bench.run(0, RunKind::kTime, 100);
  CHECK(timed.outcome == TEMPER_OUTCOME_OK);
  CHECK(timed.elapsed_ns > 0);
  CHECK(bench.jit().costs().timer_restarts == 0);
}

TEST_CASE("each planted fault costs its own trial alone, dozens of times, and leaks nothing") {
  const size_t descriptors = open_descriptors();
  {
    Bench bench;
    REQUIRE(bench.build(0, Fault::kGood) == TEMPER_OUTCOME_OK);
    struct Planted {
      Fault fault;
      temper_outcome expected;
      int times;
      uint64_t limit_ns;
    };
    const Planted planted[] = {
        {Fault::kKernelCrashes, TEMPER_OUTCOME_CRASHED, 24, 20 * kSecond},
        {Fault::kKernelHangs, TEMPER_OUTCOME_TIMEOUT, 24, 5 * kMillisecond},
        {Fault::kWrongResult, TEMPER_OUTCOME_WRONG_RESULT, 48, 20 * kSecond},
        {Fault::kWritesBehindOutput, TEMPER_OUTCOME_WRONG_RESULT, 24, 20 * kSecond},
        {Fault::kWritesBeforeOutput, TEMPER_OUTCOME_WRONG_RESULT, 24, 20 * kSecond},
        {Fault::kWritesFarBehindOutput, TEMPER_OUTCOME_CRASHED, 24, 20 * kSecond},
        {Fault::kWritesInput, TEMPER_OUTCOME_CRASHED, 24, 20 * kSecond},
        {Fault::kKernelExits, TEMPER_OUTCOME_CRASHED, 24, 20 * kSecond},
        {Fault::kBuilderAborts, TEMPER_OUTCOME_BUILD_ERROR, 24, 20 * kSecond},
        {Fault::kBuilderHangs, TEMPER_OUTCOME_TIMEOUT, 2, 20 * kSecond},
        {Fault::kBuilderRefuses, TEMPER_OUTCOME_BUILD_ERROR, 48, 20 * kSecond},
        {Fault::kBuilderExits, TEMPER_OUTCOME_BUILD_ERROR, 24, 20 * kSecond},
        {Fault::kLoadFails, TEMPER_OUTCOME_BUILD_ERROR, 24, 20 * kSecond},
    };
    for (const Planted& plant : planted) {
      CAPTURE(static_cast<int>(plant.fault));
      for (int i = 0; i < plant.times; ++i) {
        CHECK(bench.trial(plant.fault, plant.limit_ns) == plant.expected);
        // The slot that was held meanwhile still runs, in whatever process that now is.
        REQUIRE(bench.check(0) == TEMPER_OUTCOME_OK);
      }
    }
    CHECK(bench.jit().broken_reason().empty());
    CHECK(open_descriptors() <= descriptors + 2);
  }
  CHECK(open_descriptors() == descriptors);
  CHECK_FALSE(has_children());
}

TEST_CASE("slots side by side survive the crash of a neighbour") {
  JitRunnerOptions options = Bench::quick();
  options.builders = 2;
  Bench bench(options);
  for (uint8_t slot = 0; slot < 4; ++slot) {
    bench.start_build(slot, Fault::kGood, slot);
  }
  bench.start_build(4, Fault::kKernelCrashes);
  for (uint8_t slot = 0; slot < 5; ++slot) {
    REQUIRE(bench.end_build(slot) == TEMPER_OUTCOME_OK);
  }
  for (uint8_t slot = 0; slot < 4; ++slot) {
    CHECK(bench.check(slot) == TEMPER_OUTCOME_OK);
  }
  CHECK(bench.run(4, RunKind::kTime, 3).outcome == TEMPER_OUTCOME_CRASHED);
  for (uint8_t slot = 0; slot < 4; ++slot) {
    CHECK(bench.run(slot, RunKind::kTime, 10).outcome == TEMPER_OUTCOME_OK);
  }
  CHECK(bench.jit().costs().timer_restarts == 1);
}

TEST_CASE("a run that ends late but before its process is killed is a timeout and keeps the process") {
  JitRunnerOptions options = Bench::quick();
  options.grace_ns = 20 * kSecond;
  Bench bench(options);
  REQUIRE(bench.build(0, Fault::kSlowKernel) == TEMPER_OUTCOME_OK);
  CHECK(bench.check(0, 1 * kMillisecond) == TEMPER_OUTCOME_TIMEOUT);
  CHECK(bench.jit().costs().timer_restarts == 0);
  CHECK(bench.check(0) == TEMPER_OUTCOME_OK);
}

TEST_CASE("a released slot cancels its run and its build, and can be used again") {
  Bench bench;
  REQUIRE(bench.build(0, Fault::kKernelHangs) == TEMPER_OUTCOME_OK);
  REQUIRE(bench.table().run(bench.table().self, 0, RunKind::kTime, 1, 3600 * kSecond).ok());
  bench.release(0);
  CHECK(bench.build(0, Fault::kGood) == TEMPER_OUTCOME_OK);
  CHECK(bench.check(0) == TEMPER_OUTCOME_OK);

  bench.start_build(1, Fault::kBuilderHangs);
  bench.release(1);
  CHECK(bench.build(1, Fault::kGood, 3) == TEMPER_OUTCOME_OK);
  CHECK(bench.check(1) == TEMPER_OUTCOME_OK);
}

TEST_CASE("a config that was built before comes from memory") {
  Bench bench;
  REQUIRE(bench.build(0, Fault::kGood) == TEMPER_OUTCOME_OK);
  bench.release(0);
  REQUIRE(bench.build(2, Fault::kGood) == TEMPER_OUTCOME_OK);
  CHECK(bench.jit().costs().builds == 1);
  CHECK(bench.jit().costs().builds_from_cache == 1);
  CHECK(bench.check(2) == TEMPER_OUTCOME_OK);
}

TEST_CASE("requests out of order are refused") {
  Bench bench;
  const Config config = bench.config_of(Fault::kGood);
  Runner& table = bench.table();
  CHECK(table.run(table.self, 0, RunKind::kCheck, 1, kSecond) == TEMPER_INVALID_ARGUMENT);
  CHECK(table.build(table.self, kMaxSlots, 0, config) == TEMPER_INVALID_ARGUMENT);
  CHECK(table.build(table.self, 0, 1000, config) == TEMPER_INVALID_ARGUMENT);
  REQUIRE(bench.build(0, Fault::kGood) == TEMPER_OUTCOME_OK);
  CHECK(table.build(table.self, 0, 0, config) == TEMPER_INVALID_ARGUMENT);
}

TEST_CASE("workers killed from outside are started again") {
  Bench bench;
  REQUIRE(bench.build(0, Fault::kGood) == TEMPER_OUTCOME_OK);
  REQUIRE(bench.check(0) == TEMPER_OUTCOME_OK);
  for (const pid_t pid : bench.jit().worker_pids()) {
    REQUIRE(::kill(pid, SIGKILL) == 0);
    siginfo_t info;
    REQUIRE(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) == 0);
  }
  CHECK(bench.build(1, Fault::kGood, 5) == TEMPER_OUTCOME_OK);
  CHECK(bench.check(1) == TEMPER_OUTCOME_OK);
  CHECK(bench.check(0) == TEMPER_OUTCOME_OK);
}

TEST_CASE("a program that is no worker ends in a reason, not in endless restarts") {
  JitRunnerOptions options = Bench::quick();
  options.command.path = "/bin/true";
  Bench bench(options);
  const Config config = bench.config_of(Fault::kGood);
  Runner& table = bench.table();
  temper_outcome outcome = TEMPER_OUTCOME_OK;
  uint32_t build_us = 0;
  if (table.build(table.self, 0, 0, config).ok()) {
    while (!table.poll_build(table.self, 0, &outcome, &build_us)) {
      table.wait(table.self, kSecond);
    }
    CHECK(outcome == TEMPER_OUTCOME_BUILD_ERROR);
  }
  for (int i = 0; i < 1000 && bench.jit().broken_reason().empty(); ++i) {
    table.wait(table.self, 10 * kMillisecond);
  }
  CHECK(bench.jit().broken_reason().find("/bin/true") != std::string::npos);
  CHECK(table.build(table.self, 1, 0, config) == TEMPER_PORT_ERROR);
}

}  // namespace
}  // namespace temper
