#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "runtime/fingerprint.h"
#include "schedules/table_writer.h"
#include "temper/temper.h"
#include "tests/runtime/ram_storage.h"
#include "tests/runtime/scanned_history.h"
#include "tests/runtime/toy_matmul.h"

namespace temper::test {
namespace {

/// A pack, a port and everything the C API wants from its caller.
struct Caller {
  explicit Caller(const temper_storage* storage, const TestPack& test_pack = toy_pack())
      : bytes(build(test_pack)), pack(as_pack(bytes, toy_kernels, kToyKernelCount)), port(ToyClock::port(storage)) {
    ToyClock::reset();
    config.pack = &pack;
    config.port = &port;
    config.facts = test_facts();
    config.max_trials = 64;
    config.target_hash = 7;
    config.seed = 1;
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  temper_context* init() {
    size_t count = 0, total = 0;
    REQUIRE(temper_requirements(&config, nullptr, 0, &count, &total) == TEMPER_OK);
    arena.assign(total, 0xEE);
    temper_context* t = nullptr;
    REQUIRE(temper_init(&t, &config, arena.data(), arena.size()) == TEMPER_OK);
    return t;
  }

  temper_status tune(temper_context* t, temper_progress* progress, uint32_t trials = 0) {
    const temper_budget budget{10000000000u, trials, 0};
    memory.assign(temper_tuning_bytes(t), 0xEE);
    temper_status status = temper_tune_start(t, &budget, memory.data(), memory.size());
    if (status == TEMPER_OK) {
      do {
        status = temper_tune_step(t, progress);
      } while (status == TEMPER_MORE);
    }
    return status;
  }

  std::vector<uint8_t> bytes;
  temper_pack pack;
  temper_port port;
  temper_config config{};
  std::vector<uint8_t> arena, memory;
};

temper_answer answer_of(const temper_context* t) {
  temper_answer answer;
  REQUIRE(temper_lookup(t, 0, &answer) == TEMPER_OK);
  return answer;
}

/// Packs and executes the plan on integers and compares every element with the definition.
void check_execution(const temper_context* t, const temper_port* port) {
  temper_plan plan;
  REQUIRE(temper_make_plan(t, 0, &plan) == TEMPER_OK);
  std::vector<float> a(kToyM * kToyK), b(kToyK * kToyN), out(kToyM * kToyN, -1.0f), expected(kToyM * kToyN);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(static_cast<int>(i % 5) - 2);
  }
  for (size_t i = 0; i < b.size(); ++i) {
    b[i] = static_cast<float>(static_cast<int>(i % 7) - 3);
  }
  toy_reference(a.data(), b.data(), expected.data());
  alignas(64) uint8_t packed[1024];
  alignas(64) uint8_t workspace[1024];
  void* tensors[TEMPER_TENSOR_COUNT] = {out.data(), a.data(), b.data(), nullptr, nullptr};
  REQUIRE(plan.packed_bytes <= sizeof packed);
  if (plan.packed_bytes > 0) {
    CHECK(plan.packed_tensor == TEMPER_IN_B);
    REQUIRE(temper_pack_constant(&plan, b.data(), packed, sizeof packed) == TEMPER_OK);
    tensors[plan.packed_tensor] = packed;
  }
  REQUIRE(plan.threads * plan.workspace_bytes <= sizeof workspace);
  REQUIRE(temper_execute(&plan, port, tensors, workspace, sizeof workspace) == TEMPER_OK);
  CHECK(out == expected);
}

}  // namespace

TEST_CASE("the needs name every part, with its reason, and add up") {
  Caller caller(nullptr);
  temper_need parts[8];
  size_t count = 0, total = 0;
  REQUIRE(temper_requirements(&caller.config, parts, 8, &count, &total) == TEMPER_OK);
  REQUIRE(count <= 8);
  size_t sum = 0;
  for (size_t i = 0; i < count; ++i) {
    CHECK(std::strlen(parts[i].part) > 10);
    CHECK(parts[i].bytes > 0);
    sum += parts[i].bytes;
  }
  CHECK(sum == total);
  size_t same_count = 0, same_total = 0;
  CHECK(temper_requirements(&caller.config, nullptr, 0, &same_count, &same_total) == TEMPER_OK);
  CHECK(same_count == count);
  CHECK(same_total == total);
}

TEST_CASE("an arena that is too small is refused; the told size is enough at any address") {
  RamStorage storage(4096, 8, 1024);
  Caller caller(storage.storage());
  size_t count = 0, total = 0;
  REQUIRE(temper_requirements(&caller.config, nullptr, 0, &count, &total) == TEMPER_OK);
  temper_context* t = nullptr;
  for (size_t shift = 0; shift < 8; ++shift) {
    CAPTURE(shift);
    std::vector<uint64_t> words(total / 8 + 4, 0x5A5A5A5A5A5A5A5Au);
    uint8_t* const arena = reinterpret_cast<uint8_t*>(words.data()) + 8 + shift;
    CHECK(temper_init(&t, &caller.config, arena, total - 8) == TEMPER_NO_MEMORY);
    CHECK(t == nullptr);
    for (const size_t bytes : {size_t{0}, size_t{3}, size_t{100}, total / 2}) {
      CHECK(temper_init(&t, &caller.config, arena, bytes) == TEMPER_NO_MEMORY);
    }
    REQUIRE(temper_init(&t, &caller.config, arena, total) == TEMPER_OK);
    CHECK(arena[-1] == 0x5A);
    CHECK(arena[total] == 0x5A);
    temper_progress progress{};
    CHECK(caller.tune(t, &progress) == TEMPER_OK);
    CHECK(arena[-1] == 0x5A);
    CHECK(arena[total] == 0x5A);
  }
}

TEST_CASE("wrong use is told, not done") {
  Caller caller(nullptr);
  temper_context* t = nullptr;
  size_t count = 0, total = 0;
  temper_config broken = caller.config;
  broken.pack = nullptr;
  CHECK(temper_requirements(&broken, nullptr, 0, &count, &total) == TEMPER_INVALID_ARGUMENT);
  broken = caller.config;
  for (const uint32_t max_trials : {0u, (1u << 24) + 1, 1u << 30, UINT32_MAX}) {
    broken.max_trials = max_trials;  // the last two would wrap around in a size of 32 bits
    CHECK(temper_requirements(&broken, nullptr, 0, &count, &total) == TEMPER_INVALID_ARGUMENT);
  }
  broken = caller.config;
  broken.facts = {};
  CHECK(temper_init(&t, &broken, &total, sizeof total) == TEMPER_INVALID_ARGUMENT);
  CHECK(temper_requirements(nullptr, nullptr, 0, &count, &total) == TEMPER_INVALID_ARGUMENT);
  CHECK(temper_requirements(&caller.config, nullptr, 3, &count, &total) == TEMPER_INVALID_ARGUMENT);

  t = caller.init();
  temper_answer answer;
  temper_plan plan;
  uint32_t index = 0;
  const temper_budget budget{1000000, 0, 0};
  CHECK(temper_lookup(t, 1, &answer) == TEMPER_INVALID_ARGUMENT);
  CHECK(temper_make_plan(t, 1, &plan) == TEMPER_INVALID_ARGUMENT);
  CHECK(temper_tune_step(t, nullptr) == TEMPER_INVALID_ARGUMENT);
  CHECK(temper_tune_stop(t) == TEMPER_INVALID_ARGUMENT);
  CHECK(temper_tune_start(t, nullptr, &index, 4) == TEMPER_INVALID_ARGUMENT);
  CHECK(temper_tune_start(t, &budget, nullptr, 0) == TEMPER_INVALID_ARGUMENT);
  CHECK(temper_find_workload(t, "other", &index) == TEMPER_NOT_FOUND);
  CHECK(temper_find_workload(t, "toy", &index) == TEMPER_OK);
  CHECK(temper_workload_name(t, 1) == nullptr);
  CHECK(temper_tensor_elements(t, 0, TEMPER_IN_A) == kToyM * kToyK);
  CHECK(temper_tensor_elements(t, 0, TEMPER_BIAS) == 0);
  CHECK(temper_tensor_elements(t, 1, TEMPER_IN_A) == 0);
}

TEST_CASE("a damaged pack is refused before anything is placed") {
  Caller caller(nullptr);
  caller.pack.data_bytes -= 8;
  size_t count = 0, total = 0;
  temper_context* t = nullptr;
  CHECK(temper_requirements(&caller.config, nullptr, 0, &count, &total) == TEMPER_BAD_DATA);
  CHECK(temper_init(&t, &caller.config, &total, sizeof total) == TEMPER_BAD_DATA);
  TestPack later = toy_pack();
  later.version = kPackVersion + 1;
  const Caller other(nullptr, later);
  CHECK(temper_requirements(&other.config, nullptr, 0, &count, &total) == TEMPER_BAD_VERSION);
}

TEST_CASE("without tuning the default answers, and each source says why it did not") {
  Caller caller(nullptr);
  const temper_context* t = caller.init();
  const temper_answer answer = answer_of(t);
  CHECK(answer.source == TEMPER_SOURCE_DEFAULT);
  CHECK(answer.missed[TEMPER_SOURCE_HISTORY] == TEMPER_MISS_ABSENT);
  CHECK(answer.missed[TEMPER_SOURCE_TABLE] == TEMPER_MISS_ABSENT);
  CHECK(answer.knob_count == 3);
  CHECK(answer.value[kToyTile] == 1);
  CHECK(answer.value[kToyBlock] == 4);
  CHECK(answer.default_ns == 0);
  CHECK(ToyClock::kernel_calls == 0);
  check_execution(t, &caller.port);
}

TEST_CASE("tuning finds the fast variant, refuses the wrong ones, and later look-ups and plans use it") {
  Caller caller(nullptr);
  temper_context* t = caller.init();
  temper_progress progress{};
  REQUIRE(caller.tune(t, &progress) == TEMPER_OK);
  CHECK(progress.trials > 1);
  CHECK(progress.elapsed_ns > 0);
  CHECK(progress.best_ns < progress.default_ns);
  const temper_answer answer = answer_of(t);
  CHECK(answer.source == TEMPER_SOURCE_HISTORY);
  CHECK(answer.missed[TEMPER_SOURCE_HISTORY] == TEMPER_MISS_NONE);
  CHECK(answer.value[kToyTile] == 4);
  CHECK(answer.value[kToyPacked] == 1);
  CHECK(answer.value[kToyBlock] == 12);
  CHECK(answer.tuned_ns * 2 < answer.default_ns);
  check_execution(t, &caller.port);
  check_execution(t, nullptr);
}

TEST_CASE("after a restart the history answers and nothing is measured again") {
  RamStorage storage(8192, 8, 1024);
  temper_progress progress{};
  {
    Caller caller(storage.storage());
    temper_context* t = caller.init();
    CHECK(answer_of(t).missed[TEMPER_SOURCE_HISTORY] == TEMPER_MISS_UNKNOWN_WORKLOAD);
    REQUIRE(caller.tune(t, &progress) == TEMPER_OK);
    CHECK(answer_of(t).source == TEMPER_SOURCE_HISTORY);
  }
  Caller caller(storage.storage());
  temper_context* t = caller.init();
  const temper_answer answer = answer_of(t);
  CHECK(answer.source == TEMPER_SOURCE_HISTORY);
  CHECK(answer.value[kToyTile] == 4);
  CHECK(answer.tuned_ns > 0);
  REQUIRE(caller.tune(t, &progress) == TEMPER_OK);
  CHECK(progress.trials == 0);
  CHECK(ToyClock::kernel_calls == 0);
  check_execution(t, &caller.port);
  CHECK_FALSE(storage.misused());
}

TEST_CASE("after a power cut at any write the next boots finish the work and measure nothing twice") {
  uint32_t all_operations = 0;
  uint32_t all_trials = 0;
  {
    RamStorage storage(16384, 8, 1024);
    Caller caller(storage.storage());
    temper_progress progress{};
    REQUIRE(caller.tune(caller.init(), &progress) == TEMPER_OK);
    all_operations = storage.operations();
    all_trials = progress.trials;
  }
  for (uint32_t cut = 0; cut < all_operations; cut += 3) {
    CAPTURE(cut);
    RamStorage storage(16384, 8, 1024);
    temper_progress progress{};
    {
      Caller caller(storage.storage());
      temper_context* t = caller.init();
      storage.cut_power_after(cut);
      caller.tune(t, &progress);  // runs on without power; nothing of it is kept
    }
    storage.restore_power();
    {
      Caller caller(storage.storage());
      REQUIRE(caller.tune(caller.init(), &progress) == TEMPER_OK);
      CHECK(progress.trials <= all_trials);
    }
    Caller caller(storage.storage());
    temper_context* t = caller.init();
    REQUIRE(caller.tune(t, &progress) == TEMPER_OK);
    CHECK(progress.trials == 0);
    CHECK(answer_of(t).source == TEMPER_SOURCE_HISTORY);
    CHECK(answer_of(t).value[kToyTile] >=
          2);  // the second best where the cut came while the best ran: it is quarantined
    CHECK_FALSE(storage.misused());
  }
}

TEST_CASE("a history of another target is a miss that names the field") {
  RamStorage storage(8192, 1, 0);
  temper_progress progress{};
  {
    Caller caller(storage.storage());
    REQUIRE(caller.tune(caller.init(), &progress) == TEMPER_OK);
  }
  Caller caller(storage.storage());
  caller.config.target_hash = 8;
  const temper_answer answer = answer_of(caller.init());
  CHECK(answer.source == TEMPER_SOURCE_DEFAULT);
  CHECK(answer.missed[TEMPER_SOURCE_HISTORY] == TEMPER_MISS_FINGERPRINT);
  CHECK(answer.fingerprint_fields[TEMPER_SOURCE_HISTORY] == kFingerprintTarget);
}

TEST_CASE("a clock or copy rate that changed is told but the record still counts") {
  RamStorage storage(8192, 1, 0);
  temper_progress progress{};
  {
    Caller caller(storage.storage());
    REQUIRE(caller.tune(caller.init(), &progress) == TEMPER_OK);
  }
  Caller caller(storage.storage());
  caller.config.facts.value[TEMPER_FACT_CLOCK_KHZ] /= 2;
  const temper_answer answer = answer_of(caller.init());
  CHECK(answer.source == TEMPER_SOURCE_HISTORY);
  CHECK(answer.fingerprint_fields[TEMPER_SOURCE_HISTORY] == kFingerprintClock);
}

TEST_CASE("a record whose variant a later pack lacks is a miss that says so") {
  RamStorage storage(8192, 1, 0);
  temper_progress progress{};
  {
    Caller caller(storage.storage());
    REQUIRE(caller.tune(caller.init(), &progress) == TEMPER_OK);
  }
  TestPack smaller = toy_pack();
  smaller.variants.resize(2);
  Caller caller(storage.storage(), smaller);
  const temper_context* t = caller.init();
  CHECK(answer_of(t).source == TEMPER_SOURCE_DEFAULT);
  CHECK(answer_of(t).missed[TEMPER_SOURCE_HISTORY] == TEMPER_MISS_NO_VARIANT);

  TestPack stricter = toy_pack();
  stricter.templates[0].constraint = {};
  ProgramWriter w(&stricter.templates[0], &stricter.templates[0].constraint);
  w.output(w.op(Op::kLess, w.knob(kToyBlock), w.constant(12)));
  Caller other(storage.storage(), stricter);
  CHECK(answer_of(other.init()).missed[TEMPER_SOURCE_HISTORY] == TEMPER_MISS_ILLEGAL);
}

TEST_CASE("where the commit was damaged, the miss says damaged and the default answers") {
  RamStorage storage(8192, 1, 0);
  temper_progress progress{};
  {
    Caller caller(storage.storage());
    REQUIRE(caller.tune(caller.init(), &progress) == TEMPER_OK);
  }
  std::vector<uint8_t> bytes = storage.bytes();
  bytes[bytes.size() - 6] ^= 0x10;  // the commit is the last frame
  storage.set_bytes(bytes);
  Caller caller(storage.storage());
  const temper_answer answer = answer_of(caller.init());
  CHECK(answer.source == TEMPER_SOURCE_DEFAULT);
  CHECK(answer.missed[TEMPER_SOURCE_HISTORY] == TEMPER_MISS_DAMAGED);
}

TEST_CASE("the history's storage is told: what it holds, its generation, its wear, whether it takes more") {
  RamStorage flash(16384, 8, 1024), file(8192, 1, 0), dead(8192, 8, 1024);
  temper_history_info info{};
  const auto ask = [&info](const temper_storage* storage, temper_status expected) {
    Caller caller(storage);
    temper_context* const t = caller.init();
    CHECK(temper_get_history_info(t, &info) == expected);
    CHECK(info.used_bytes + info.free_bytes == info.region_bytes);
    temper_progress progress{};
    REQUIRE(caller.tune(t, &progress) == TEMPER_OK);
    CHECK(temper_get_history_info(t, &info) == expected);
  };
  ask(flash.storage(), TEMPER_OK);
  CHECK(info.generation == 1);
  CHECK(info.erased_blocks == 0);
  CHECK(info.region_bytes == 8192);
  CHECK(info.used_bytes > 500);
  CHECK(info.writable);
  {
    ScannedHistory scanned(flash.storage());  // what is of no use here fills the flash
    while (scanned.history.room_bytes() > 300) {
      REQUIRE(scanned.append(FrameType::kTrial, std::vector<uint8_t>(200, 1)).ok());
    }
  }
  ask(flash.storage(), TEMPER_OK);  // nothing is left to tune, but a step finds the room and it is made at once
  CHECK(info.generation == 2);
  CHECK(info.erased_blocks == 8);
  CHECK(info.used_bytes < 6144);
  ask(file.storage(), TEMPER_OK);
  CHECK(info.generation == 0);
  CHECK(info.erased_blocks == 0);
  CHECK(info.region_bytes == 8192);
  dead.read_fails = true;
  ask(dead.storage(), TEMPER_NOT_FOUND);
  CHECK_FALSE(info.writable);
  ask(nullptr, TEMPER_NOT_FOUND);
  CHECK(temper_get_history_info(nullptr, &info) == TEMPER_INVALID_ARGUMENT);
}

TEST_CASE("storage that fails from the start costs persistence alone") {
  RamStorage storage(8192, 1, 0);
  storage.read_fails = true;
  Caller caller(storage.storage());
  std::string logged;
  caller.port.self = &logged;
  caller.port.log = [](void* self, const char* line) { *static_cast<std::string*>(self) += line; };
  temper_context* t = caller.init();
  CHECK(logged.find("memory only") != std::string::npos);
  temper_progress progress{};
  REQUIRE(caller.tune(t, &progress) == TEMPER_OK);
  CHECK(answer_of(t).value[kToyTile] == 4);
}

TEST_CASE(
    "a tuned table answers behind the history; a damaged one, or one of another device, is a miss with its reason") {
  Caller caller(nullptr);
  const Fingerprint here =
      make_fingerprint(7, caller.config.facts, 0, 0, toy_pack().pack_hash, toy_pack().feature_version);
  const Fingerprint elsewhere =
      make_fingerprint(9, caller.config.facts, 0, 0, toy_pack().pack_hash, toy_pack().feature_version);
  const TableEntry entry{kToyWorkloadKey, 1, 1, 900, 300, {{1, 2}, {2, 0}, {3, 6}}, "toy"};
  Result<std::vector<uint8_t>> good = write_table({entry}, here, "test");
  Result<std::vector<uint8_t>> foreign = write_table({entry}, elsewhere, "test");
  REQUIRE(good.ok());
  REQUIRE(foreign.ok());
  std::vector<uint8_t> damaged = *good;
  damaged[4] ^= 0xFF;
  temper_table tables[2] = {{foreign->data(), foreign->size()}, {good->data(), good->size()}};
  caller.config.tables = tables;
  caller.config.table_count = 2;
  CHECK(answer_of(caller.init()).source == TEMPER_SOURCE_DEFAULT);  // nobody reads them
  caller.config.table_reader = &temper_table_reader;
  {
    const temper_context* t = caller.init();
    const temper_answer answer = answer_of(t);
    CHECK(answer.source == TEMPER_SOURCE_TABLE);
    CHECK(answer.missed[TEMPER_SOURCE_HISTORY] == TEMPER_MISS_ABSENT);
    CHECK(answer.tuned_ns == 300);
    CHECK(answer.value[kToyTile] == 2);
    CHECK(answer.value[kToyBlock] == 6);
    check_execution(t, &caller.port);
  }
  caller.config.table_count = 1;
  CHECK(answer_of(caller.init()).missed[TEMPER_SOURCE_TABLE] == TEMPER_MISS_FINGERPRINT);
  tables[0] = {damaged.data(), damaged.size()};
  CHECK(answer_of(caller.init()).missed[TEMPER_SOURCE_TABLE] == TEMPER_MISS_DAMAGED);
  Result<std::vector<uint8_t>> empty = write_table({}, here, "test");
  REQUIRE(empty.ok());
  tables[0] = {empty->data(), empty->size()};
  const temper_answer answer = answer_of(caller.init());
  CHECK(answer.source == TEMPER_SOURCE_DEFAULT);
  CHECK(answer.missed[TEMPER_SOURCE_TABLE] == TEMPER_MISS_UNKNOWN_WORKLOAD);
}

TEST_CASE("memory that holds the default but not every candidate still tunes; less is refused") {
  Caller caller(nullptr);
  temper_context* t = caller.init();
  const temper_budget budget{10000000000u, 0, 0};
  // Output with guards, a and b, each padded to 64 bytes, one row of workspace: so small a workload gets one thread.
  const auto padded = [](size_t elements) { return (elements * 4 + 63) / 64 * 64; };
  const size_t least = padded(kToyM * kToyN + 32) + padded(kToyM * kToyK) + padded(kToyK * kToyN) + 64;
  std::vector<uint8_t> memory(least + 64, 0x77);
  uint8_t* const begin = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
  CHECK(temper_tune_start(t, &budget, begin, least - 1) == TEMPER_NO_MEMORY);
  REQUIRE(temper_tune_start(t, &budget, begin, least) == TEMPER_OK);
  CHECK(temper_tune_start(t, &budget, begin, least) == TEMPER_INVALID_ARGUMENT);
  temper_status status = TEMPER_MORE;
  while (status == TEMPER_MORE) {
    status = temper_tune_step(t, nullptr);
  }
  CHECK(status == TEMPER_OK);
  CHECK(answer_of(t).value[kToyPacked] == 0);  // the packed constant found no room
  for (const uint8_t* byte = begin + least; byte < memory.data() + memory.size(); ++byte) {
    CHECK(*byte == 0x77);
  }
}

TEST_CASE("a pack without a digest cannot be tuned, and one without kernels neither; both still answer") {
  TestPack unknown = toy_pack();
  unknown.workloads[0].digest = 0;
  Caller caller(nullptr, unknown);
  temper_context* t = caller.init();
  temper_progress progress{};
  CHECK(caller.tune(t, &progress) == TEMPER_NOTHING_TO_TUNE);
  CHECK(ToyClock::kernel_calls == 0);
  CHECK(answer_of(t).source == TEMPER_SOURCE_DEFAULT);

  TestPack open = toy_pack();
  open.variants.clear();
  Caller other(nullptr, open);
  t = other.init();
  CHECK(other.tune(t, &progress) == TEMPER_UNSUPPORTED);
  temper_plan plan;
  CHECK(temper_make_plan(t, 0, &plan) == TEMPER_NOT_FOUND);
  CHECK(answer_of(t).value[kToyTile] == 1);
}

TEST_CASE("a run that is stopped commits what it has") {
  Caller caller(nullptr);
  temper_context* t = caller.init();
  const temper_budget budget{10000000000u, 0, 0};
  caller.memory.assign(temper_tuning_bytes(t), 0);
  REQUIRE(temper_tune_start(t, &budget, caller.memory.data(), caller.memory.size()) == TEMPER_OK);
  temper_progress progress{};
  while (progress.trials < 2) {
    REQUIRE(temper_tune_step(t, &progress) == TEMPER_MORE);
  }
  CHECK(temper_tune_stop(t) == TEMPER_OK);
  CHECK(answer_of(t).source == TEMPER_SOURCE_HISTORY);
  CHECK(temper_tune_step(t, &progress) == TEMPER_INVALID_ARGUMENT);
}

TEST_CASE("a target hash of 0 is the hash of the pack's target, by name") {
  RamStorage storage(8192, 1, 0);
  temper_progress progress{};
  {
    Caller caller(storage.storage());
    caller.config.target_hash = 0xF9E6E6EF197C2B25u;  // FNV-1a of "test"
    REQUIRE(caller.tune(caller.init(), &progress) == TEMPER_OK);
  }
  Caller caller(storage.storage());
  caller.config.target_hash = 0;
  CHECK(answer_of(caller.init()).source == TEMPER_SOURCE_HISTORY);
}

TEST_CASE("a pack that tells no defaults answers and tunes where the config points to the search for them") {
  TestPack probed = toy_pack();
  probed.workloads[0].default_values.clear();
  Caller caller(nullptr, probed);
  temper_context* t = caller.init();
  temper_answer answer;
  temper_plan plan;
  CHECK(temper_lookup(t, 0, &answer) == TEMPER_NOT_FOUND);
  CHECK(temper_make_plan(t, 0, &plan) == TEMPER_NOT_FOUND);
  caller.config.defaults = &temper_probed_defaults;
  t = caller.init();
  CHECK(answer_of(t).source == TEMPER_SOURCE_DEFAULT);
  CHECK(answer_of(t).value[kToyBlock] == 4);
  temper_progress progress{};
  REQUIRE(caller.tune(t, &progress) == TEMPER_OK);
  CHECK(answer_of(t).value[kToyTile] == 4);
  CHECK(answer_of(t).default_ns > 0);
}

TEST_CASE("nominal facts come from the pack, where it tells them") {
  TestPack told = toy_pack();
  told.facts = {1, 32};
  const Caller caller(nullptr, told);
  temper_facts facts = test_facts();
  CHECK(temper_nominal_facts(&caller.pack, &facts) == TEMPER_OK);
  CHECK(facts.value[TEMPER_FACT_VECTOR_REGISTERS] == 32);
  CHECK(facts.value[TEMPER_FACT_CORES] == 0);
  const Caller silent(nullptr);
  CHECK(temper_nominal_facts(&silent.pack, &facts) == TEMPER_NOT_FOUND);
  CHECK(temper_nominal_facts(nullptr, &facts) == TEMPER_INVALID_ARGUMENT);
}

TEST_CASE("collecting measures and commits nothing; tuning afterwards uses what was collected") {
  RamStorage storage(16384, 8, 1024);
  Caller caller(storage.storage());
  temper_context* t = caller.init();
  const temper_budget budget{10000000000u, 6, 0};
  caller.memory.assign(temper_tuning_bytes(t), 0);
  REQUIRE(temper_collect_start(t, &budget, caller.memory.data(), caller.memory.size()) == TEMPER_OK);
  temper_progress progress{};
  temper_status status = TEMPER_MORE;
  while (status == TEMPER_MORE) {
    status = temper_tune_step(t, &progress);
  }
  CHECK(status == TEMPER_OK);
  CHECK(progress.trials == 6);
  CHECK(answer_of(t).source == TEMPER_SOURCE_DEFAULT);
  Caller next(storage.storage());
  t = next.init();
  REQUIRE(next.tune(t, &progress) == TEMPER_OK);
  CHECK(progress.trials > 0);
  CHECK(answer_of(t).value[kToyTile] == 4);
}

TEST_CASE("a look-up between two steps disturbs nothing") {
  TestPack two = toy_pack();
  two.workloads.push_back(two.workloads[0]);
  two.workloads[1].key += 1;
  two.workloads[1].name = "other";
  std::vector<temper_answer> answers;
  for (const bool asking : {false, true}) {
    Caller caller(nullptr, two);
    temper_context* t = caller.init();
    const temper_budget budget{10000000000u, 20, 0};
    caller.memory.assign(temper_tuning_bytes(t), 0);
    REQUIRE(temper_tune_start(t, &budget, caller.memory.data(), caller.memory.size()) == TEMPER_OK);
    temper_progress progress{};
    uint32_t step = 0;
    temper_status status = TEMPER_MORE;
    for (; status == TEMPER_MORE; ++step) {
      status = temper_tune_step(t, &progress);
      temper_answer ignored;
      if (asking) {
        CHECK(temper_lookup(t, step % 2, &ignored) == TEMPER_OK);
      }
    }
    CHECK(status == TEMPER_OK);
    CHECK(progress.trials <= 20);
    answers.push_back(answer_of(t));
  }
  CHECK(answers[0].source == TEMPER_SOURCE_HISTORY);
  CHECK(std::memcmp(&answers[0], &answers[1], sizeof answers[0]) == 0);
}

TEST_CASE("the watchdog is fed in every step") {
  Caller caller(nullptr);
  uint32_t fed = 0;
  caller.port.self = &fed;
  caller.port.feed_watchdog = [](void* self) { ++*static_cast<uint32_t*>(self); };
  temper_context* t = caller.init();
  const temper_budget budget{10000000000u, 3, 0};
  caller.memory.assign(temper_tuning_bytes(t), 0);
  REQUIRE(temper_tune_start(t, &budget, caller.memory.data(), caller.memory.size()) == TEMPER_OK);
  uint32_t steps = 0;
  temper_status status = TEMPER_MORE;
  for (; status == TEMPER_MORE; ++steps) {
    status = temper_tune_step(t, nullptr);
  }
  CHECK(status == TEMPER_OK);
  CHECK(fed == steps);
}

TEST_CASE("the trials of the history are visited with workload, outcome and knobs by name") {
  RamStorage storage(65536, 8, 1024);  // nothing is compacted away
  Caller caller(storage.storage());
  temper_context* t = caller.init();
  std::vector<temper_trial> trials;
  temper_trial one;
  const auto keep = [](void* self, const temper_trial* trial) {
    static_cast<std::vector<temper_trial>*>(self)->push_back(*trial);
  };
  CHECK(temper_visit_trials(t, &one, &trials, keep) == TEMPER_OK);
  CHECK(trials.empty());
  temper_progress progress{};
  REQUIRE(caller.tune(t, &progress) == TEMPER_OK);
  REQUIRE(temper_visit_trials(t, &one, &trials, keep) == TEMPER_OK);
  REQUIRE(trials.size() == progress.trials);
  CHECK(trials[0].is_default);
  CHECK(trials[0].outcome == TEMPER_OUTCOME_OK);
  CHECK(trials[0].median_ns > 0);
  size_t wrong = 0;
  for (const temper_trial& trial : trials) {
    CHECK(trial.workload == 0);
    REQUIRE(trial.knob_count == 3);
    CHECK(trial.knob_id[0] == 1);
    CHECK(std::string(trial.knob_name[0]) == "tile");
    CHECK(std::string(trial.knob_name[2]) == "block");
    const bool planted = (trial.value[0] == 4) != (trial.value[1] == 1);
    const bool may_be_wrong = planted && trial.value[0] != 1 && !(trial.value[0] == 2 && trial.value[1] == 0);
    CHECK((trial.outcome == TEMPER_OUTCOME_WRONG_RESULT) == may_be_wrong);
    wrong += may_be_wrong ? 1 : 0;
  }
  CHECK(wrong > 0);
  CHECK(temper_visit_trials(nullptr, &one, &trials, keep) == TEMPER_INVALID_ARGUMENT);
  CHECK(temper_visit_trials(t, &one, &trials, nullptr) == TEMPER_INVALID_ARGUMENT);
  Caller without(nullptr);
  CHECK(temper_visit_trials(without.init(), &one, &trials, keep) == TEMPER_NOT_FOUND);
}

TEST_CASE("names of sources and misses are text, also out of range") {
  CHECK(std::string(temper_source_name(TEMPER_SOURCE_HISTORY)) == "history");
  CHECK(std::string(temper_source_name(TEMPER_SOURCE_COUNT)) == "unknown");
  CHECK(std::string(temper_miss_name(TEMPER_MISS_DAMAGED)) == "damaged");
  CHECK(std::string(temper_miss_name(TEMPER_MISS_COUNT)) == "unknown");
}

}  // namespace temper::test
