#include "runtime/pack_runner.h"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "tests/runtime/toy_matmul.h"

namespace temper::test {
namespace {

/// A runner over the toy pack with all the memory it wants.
struct Bench {
  explicit Bench(const TestPack& test_pack = toy_pack(), const temper_memory* further = nullptr,
                 const temper_kernel* kernels = toy_kernels)
      : open(test_pack, kernels, kToyKernelCount), port(ToyClock::port(nullptr)) {
    ToyClock::reset();
    config.pack = &open.pack();
    config.port = &port;
    config.facts = test_facts();
    config.memories = further;
    config.memory_count = further == nullptr ? 0 : 1;
    config.facts.value[TEMPER_FACT_THREADS] = 1;
    spaces = CurrentSpace(&open.view(), &config.facts, {open.values(), open.intervals()});
    pack_runner = PackRunner(&spaces, &config);
    memory.resize(pack_runner.bytes_wanted());
    REQUIRE(pack_runner.attach(memory.data(), memory.size()).ok());
    runner = pack_runner.runner();
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  /// Choices of tile, packed and block by index.
  temper_outcome build(uint8_t tile, uint8_t packed, uint8_t block = 0) {
    Config choice;
    choice.choice[kToyTile] = tile;
    choice.choice[kToyPacked] = packed;
    choice.choice[kToyBlock] = block;
    REQUIRE(runner.build(runner.self, 0, 0, choice).ok());
    temper_outcome outcome;
    uint32_t build_us = 1;
    REQUIRE(runner.poll_build(runner.self, 0, &outcome, &build_us));
    return outcome;
  }
  RunResult run(RunKind kind, uint32_t number = 1, uint64_t limit_ns = UINT64_MAX) {
    REQUIRE(runner.run(runner.self, 0, kind, number, limit_ns).ok());
    RunResult result{};
    polls = 1;
    while (!runner.poll_run(runner.self, &result)) {
      REQUIRE(++polls < 1000);
    }
    return result;
  }

  OpenPack open;
  temper_port port;
  temper_config config{};
  CurrentSpace spaces;
  PackRunner pack_runner;
  std::vector<uint8_t> memory;
  Runner runner{};
  uint32_t polls = 0;
};

/// The toy's clock, a hundred or a thousand times slower: calls that are worth cutting into parts.
uint64_t slow_clock(void*) { return (ToyClock::now_ns += 20) * 1000; }

/// Right, but for one bit of what it may only read.
void spoil(const float* tensor) {
  uint32_t bits;
  std::memcpy(&bits, tensor, sizeof bits);
  bits ^= 1;
  std::memcpy(const_cast<float*>(tensor), &bits, sizeof bits);
}
void spoils_image(float* out, const float* a, const float* b, const float* bias, const float* addend, void* workspace,
                  const int32_t* args, int32_t begin, int32_t end) {
  toy_kernels[kToyRight](out, a, b, bias, addend, workspace, args, begin, end);
  spoil(a + kToyM * kToyK - 1);
}
void spoils_constant(float* out, const float* a, const float* b, const float* bias, const float* addend,
                     void* workspace, const int32_t* args, int32_t begin, int32_t end) {
  toy_kernels[kToyRight](out, a, b, bias, addend, workspace, args, begin, end);
  spoil(b + 3);
}

}  // namespace

TEST_CASE("a variant that writes to its inputs is wrong, and those after it are judged on inputs made anew") {
  const temper_kernel kernels[kToyKernelCount] = {toy_kernels[kToyRight], spoils_image, spoils_constant};
  alignas(64) static uint8_t other[4096];
  const temper_memory further{other, sizeof other};
  for (const temper_memory* memory : {static_cast<const temper_memory*>(nullptr), &further}) {
    Bench bench(toy_pack(), memory, kernels);
    for (int round = 0; round < 2; ++round) {
      REQUIRE(bench.build(2, 0) == TEMPER_OUTCOME_OK);
      CHECK(bench.run(RunKind::kCheck).outcome == TEMPER_OUTCOME_WRONG_RESULT);
      REQUIRE(bench.build(0, 0) == TEMPER_OUTCOME_OK);
      CHECK(bench.run(RunKind::kCheck).outcome == TEMPER_OUTCOME_OK);
      REQUIRE(bench.build(1, 1) == TEMPER_OUTCOME_OK);
      CHECK(bench.run(RunKind::kCheck).outcome == TEMPER_OUTCOME_WRONG_RESULT);
      REQUIRE(bench.build(2, 1) == TEMPER_OUTCOME_OK);
      CHECK(bench.run(RunKind::kCheck).outcome == TEMPER_OUTCOME_OK);
    }
  }
}

TEST_CASE("right variants pass the check, wrong ones and those that write outside do not") {
  Bench bench;
  REQUIRE(bench.build(0, 0) == TEMPER_OUTCOME_OK);
  CHECK(bench.run(RunKind::kCheck).outcome == TEMPER_OUTCOME_OK);
  REQUIRE(bench.build(2, 1) == TEMPER_OUTCOME_OK);
  CHECK(bench.run(RunKind::kCheck).outcome == TEMPER_OUTCOME_OK);
  REQUIRE(bench.build(2, 0) == TEMPER_OUTCOME_OK);
  CHECK(bench.run(RunKind::kCheck).outcome == TEMPER_OUTCOME_WRONG_RESULT);
  REQUIRE(bench.build(1, 1) == TEMPER_OUTCOME_OK);
  CHECK(bench.run(RunKind::kCheck).outcome == TEMPER_OUTCOME_WRONG_RESULT);
  REQUIRE(bench.build(2, 1) == TEMPER_OUTCOME_OK);
  CHECK(bench.run(RunKind::kCheck).outcome == TEMPER_OUTCOME_OK);  // its packed constant is made anew
}

TEST_CASE("a config that no variant serves is invalid and cannot be run") {
  Bench bench;
  CHECK(bench.build(0, 1) == TEMPER_OUTCOME_INVALID);
  CHECK(bench.runner.run(bench.runner.self, 0, RunKind::kTime, 1, 1000) == TEMPER_INVALID_ARGUMENT);
}

TEST_CASE("slots and workloads that do not exist are refused, and a released slot cannot be run") {
  Bench bench;
  CHECK(bench.runner.build(bench.runner.self, 1, 0, Config()) == TEMPER_INVALID_ARGUMENT);
  CHECK(bench.runner.build(bench.runner.self, 0, 1, Config()) == TEMPER_INVALID_ARGUMENT);
  REQUIRE(bench.build(0, 0) == TEMPER_OUTCOME_OK);
  bench.runner.release(bench.runner.self, 0);
  CHECK(bench.runner.run(bench.runner.self, 0, RunKind::kTime, 1, 1000) == TEMPER_INVALID_ARGUMENT);
}

TEST_CASE("timing is the kernel's own, packing and binding left out") {
  Bench bench;
  REQUIRE(bench.build(2, 1, 2) == TEMPER_OUTCOME_OK);  // tile 4, one work item
  const RunResult result = bench.run(RunKind::kTime, 5);
  CHECK(result.outcome == TEMPER_OUTCOME_OK);
  CHECK(result.elapsed_ns >= 5 * 20000);
  CHECK(result.elapsed_ns < 5 * 20000 + 200);
  CHECK(ToyClock::kernel_calls == 5);
  CHECK(bench.polls == 1);
}

TEST_CASE("a run past its limit is too slow, at most as many calls later as were made before") {
  Bench bench;
  REQUIRE(bench.build(0, 0, 2) == TEMPER_OUTCOME_OK);  // 100 us a call
  const RunResult cut = bench.run(RunKind::kTime, 1000, 350000);
  CHECK(cut.outcome == TEMPER_OUTCOME_TOO_SLOW);
  CHECK(cut.elapsed_ns == 350000);
  CHECK(ToyClock::kernel_calls == 4);
  CHECK(bench.run(RunKind::kTime, 2, 350000).outcome == TEMPER_OUTCOME_OK);
}

TEST_CASE("a long call is made in parts, one a poll; their times add up and the result is whole") {
  Bench bench;
  bench.port.now_ns = slow_clock;
  REQUIRE(bench.build(0, 0, 0) == TEMPER_OUTCOME_OK);  // items of 100 ms, as many as the grid has
  const uint32_t grid = (kToyM + 3) / 4;
  REQUIRE(grid > 2);
  CHECK(bench.run(RunKind::kCheck).outcome == TEMPER_OUTCOME_OK);
  CHECK(bench.polls == grid);
  ToyClock::kernel_calls = 0;
  const RunResult result = bench.run(RunKind::kTime);
  CHECK(result.outcome == TEMPER_OUTCOME_OK);
  CHECK(ToyClock::kernel_calls == grid);
  CHECK(result.elapsed_ns >= grid * 100000000u);
  CHECK(result.elapsed_ns < grid * 100100000u);
}

TEST_CASE("a short call grows whole within a few polls") {
  Bench bench;
  REQUIRE(bench.build(0, 0, 0) == TEMPER_OUTCOME_OK);
  CHECK(bench.run(RunKind::kCheck).outcome == TEMPER_OUTCOME_OK);
  for (int i = 0; i < 4; ++i) {
    (void)bench.run(RunKind::kTime);
  }
  CHECK(bench.run(RunKind::kTime).outcome == TEMPER_OUTCOME_OK);
  CHECK(bench.polls == 1);
}

TEST_CASE("what is hopeless going by its first parts is cut there") {
  Bench bench;
  bench.port.now_ns = slow_clock;
  REQUIRE(bench.build(0, 0, 0) == TEMPER_OUTCOME_OK);
  ToyClock::kernel_calls = 0;
  const RunResult cut = bench.run(RunKind::kTime, 1, 150000000);  // grid times 100 ms are needed
  CHECK(cut.outcome == TEMPER_OUTCOME_TOO_SLOW);
  CHECK(ToyClock::kernel_calls == 1);
}

TEST_CASE("the alarm is set while a candidate runs and cleared behind it") {
  struct Alarms {
    uint64_t last_ns = 7;
    int set = 0;
  } alarms;
  Bench bench;
  bench.port.self = &alarms;
  bench.port.set_alarm = [](void* self, uint64_t after_ns) {
    auto* told = static_cast<Alarms*>(self);
    told->last_ns = after_ns;
    told->set += after_ns != 0 ? 1 : 0;
    CHECK((after_ns == 0 || after_ns > 350000));
  };
  REQUIRE(bench.build(0, 0, 2) == TEMPER_OUTCOME_OK);
  CHECK(alarms.set == 0);
  CHECK(bench.run(RunKind::kTime, 2, 350000).outcome == TEMPER_OUTCOME_OK);
  CHECK(alarms.set == 1);
  CHECK(alarms.last_ns == 0);
}

TEST_CASE(
    "a plan for another memory has its packed constant and workspace there, and is invalid where that is too small") {
  TestPack placed = toy_pack();
  TestTemplate& t = placed.templates[0];
  ProgramWriter w(&t, &t.shape);
  w.output(w.constant(1));  // everything goes to memory 1
  alignas(64) static uint8_t fast[2048];
  temper_memory memory{fast, sizeof fast};
  Bench bench(placed, &memory);
  CHECK(bench.memory.size() == Bench().memory.size());  // another config may have them in the usual memory
  REQUIRE(bench.build(2, 1) == TEMPER_OUTCOME_OK);
  CHECK(bench.run(RunKind::kCheck).outcome == TEMPER_OUTCOME_OK);
  memory.bytes = 128;
  CHECK(bench.build(2, 1) == TEMPER_OUTCOME_INVALID);
  bench.config.memory_count = 0;
  CHECK(bench.build(2, 1) == TEMPER_OUTCOME_INVALID);
  CHECK(bench.pack_runner.attach(bench.memory.data(), bench.memory.size()) == TEMPER_NO_MEMORY);
}

}  // namespace temper::test
