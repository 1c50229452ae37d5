#include "tests/power_loss/sim_life.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "runtime/check.h"

namespace temper::test {
namespace {

constexpr uint32_t kKnobs = 2;
constexpr uint16_t kFirstKnobId = 10;
constexpr uint16_t kValues = 8;
constexpr uint64_t kFirstKey = 1000;

// Kernels have no `self`: what they leave belongs to the boot in progress.
struct Board {
  uint64_t now_ns = 0;
  uint64_t workload = 0;
  int32_t knobs[kKnobs] = {};
  const SimFlash* flash = nullptr;
  std::vector<Execution> executions;
  bool memory_only = false;
};
Board board;

ReadKnobs knobs_of(const int32_t* values) {
  ReadKnobs knobs;
  for (uint32_t k = 0; k < kKnobs; ++k) {
    knobs.push_back({static_cast<uint16_t>(kFirstKnobId + k), static_cast<uint16_t>(values[k])});
  }
  return knobs;
}

uint64_t cost_of(int32_t a, int32_t b) {
  const auto away = [](int32_t value, int32_t best) { return static_cast<uint64_t>(std::abs(value - best)); };
  return 100000 + 30000 * away(a, 4) + 20000 * away(b, 5) + (a == 1 && b == 1 ? 200000 : 0);
}
bool wrong(int32_t a, int32_t b) { return (a == 6 && b > 4) || (a == 2 && b == 3); }

void kernel(float* out, const float*, const float*, const float*, const float*, void*, const int32_t* args, int32_t,
            int32_t) {
  board.workload = kFirstKey + static_cast<uint64_t>(args[0]);
  std::copy_n(args + 1, kKnobs, board.knobs);
  const Attempt attempt(board.workload, knobs_of(board.knobs));
  if (board.executions.empty() || board.executions.back().attempt != attempt) {
    board.executions.push_back({static_cast<uint32_t>(board.flash->operations().size()), attempt});
  }
  board.now_ns += cost_of(args[1], args[2]);
  out[0] = wrong(args[1], args[2]) ? 2.0f : 1.0f;
}
constexpr temper_kernel kKernels[] = {kernel};

TestPack life_pack(uint32_t workload_count) {
  TestPack pack = plain_pack({up_to(kValues), up_to(kValues)});
  pack.templates[0].dim_count = 1;
  // Several variants: one that two cuts in a row make suspect is left alone, and others serve the workload.
  pack.templates[0].knobs[0].kind = KnobKind::kCompile;
  pack.variants.clear();
  for (uint16_t value = 1; value <= kValues; ++value) {
    pack.variants.push_back({0, {value}, 0});
  }
  const float right = 1.0f;
  TestWorkload workload = pack.workloads[0];
  pack.workloads.clear();
  for (uint32_t i = 0; i < workload_count; ++i) {
    workload.key = kFirstKey + i;
    workload.name = "workload" + std::to_string(i);
    workload.dims = {static_cast<int32_t>(i)};
    workload.digest = digest({&right, 1});
    pack.workloads.push_back(workload);
  }
  return pack;
}

// One boot: the context, its memory, and what was noticed.
struct Boot {
  Boot(const OpenPack& pack, const Stage& stage, SimFlash* storage) : flash(storage) {
    board = Board();
    board.flash = storage;
    port.now_ns = [](void*) { return board.now_ns += 20; };
    port.log = [](void*, const char* line) {
      board.memory_only = board.memory_only || std::string(line).find("memory only") != std::string::npos;
    };
    port.storage = storage->storage();
    config.pack = &pack.pack();
    config.port = &port;
    config.facts = test_facts();
    config.max_trials = kValues * kValues;
    config.target_hash = 7;
    config.core_type = stage.device;
    config.seed = stage.seed;
    size_t count = 0, total = 0;
    REQUIRE(temper_requirements(&config, nullptr, 0, &count, &total) == TEMPER_OK);
    arena.resize(total);
    REQUIRE(temper_init(&t, &config, arena.data(), arena.size()) == TEMPER_OK);
    for (uint32_t w = 0; w < temper_workload_count(t); ++w) {
      committed.push_back(answers(w));
    }
  }
  Boot(const Boot&) = delete;
  Boot& operator=(const Boot&) = delete;

  bool answers(uint32_t workload) {
    REQUIRE(temper_lookup(t, workload, &answer) == TEMPER_OK);
    return answer.source == TEMPER_SOURCE_HISTORY;
  }

  void notice_trial(const temper_progress& progress, uint32_t device, BootResult* result) {
    if (progress.trials == result->trials) {
      return;
    }
    result->trials = progress.trials;
    ReadRecord record{};
    record.device = device;
    record.workload = board.workload;
    record.knobs = knobs_of(board.knobs);
    record.outcome = static_cast<uint8_t>(progress.last_outcome);
    record.is_default = is_default(record.knobs);
    record.median_ns = progress.last_outcome == TEMPER_OUTCOME_OK ? cost_ns(record.knobs) : 0;
    promise(false, record, result);
  }

  void notice_commit(uint32_t workload, uint32_t device, BootResult* result) {
    if (committed[workload] || !answers(workload)) {
      return;
    }
    committed[workload] = true;
    ReadRecord record{};
    record.device = device;
    record.workload = kFirstKey + workload;
    record.knobs = knobs_of(answer.value);
    record.default_ns = answer.default_ns;
    record.tuned_ns = answer.tuned_ns;
    promise(true, record, result);
  }

  void promise(bool is_commit, const ReadRecord& record, BootResult* result) {
    if (!flash->has_failed() && !board.memory_only) {
      result->promises.push_back({static_cast<uint32_t>(flash->operations().size()), is_commit, record});
    }
  }

  SimFlash* flash;
  temper_port port{};
  temper_config config{};
  std::vector<uint8_t> arena, memory;
  temper_context* t = nullptr;
  temper_answer answer{};
  std::vector<bool> committed;
};

}  // namespace

uint64_t cost_ns(const ReadKnobs& knobs) { return cost_of(knobs[0].value, knobs[1].value); }
bool is_wrong(const ReadKnobs& knobs) { return wrong(knobs[0].value, knobs[1].value); }

SimLife::SimLife(uint32_t workload_count)
    : workload_count_(workload_count), pack_(life_pack(workload_count), kKernels, 1) {}

BootResult SimLife::boot(const Stage& stage, SimFlash* storage) const {
  Boot boot(pack_, stage, storage);
  BootResult result{};
  boot.memory.resize(temper_tuning_bytes(boot.t));
  const bool tunes = stage.kind == StageKind::kTune;
  const temper_budget budget{3600 * kSecond, tunes ? 0 : stage.trials, tunes ? stage.trials : 0};
  const auto start = tunes ? temper_tune_start : temper_collect_start;
  result.status = start(boot.t, &budget, boot.memory.data(), boot.memory.size());
  REQUIRE(result.status == TEMPER_OK);
  temper_progress progress{};
  size_t seen = storage->operations().size();
  do {
    result.status = temper_tune_step(boot.t, &progress);
    boot.notice_trial(progress, stage.device, &result);
    if (storage->operations().size() != seen) {
      seen = storage->operations().size();
      boot.notice_commit(progress.workload, stage.device, &result);
    }
  } while (result.status == TEMPER_MORE);
  for (uint32_t w = 0; w < workload_count_; ++w) {
    result.committed += boot.answers(w) ? 1 : 0;
  }
  result.memory_only = board.memory_only;
  result.executions = board.executions;
  return result;
}

}  // namespace temper::test
