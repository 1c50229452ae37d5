#include "temper/winners.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "runtime/check.h"
#include "runtime/fingerprint.h"
#include "runtime/table_view.h"
#include "tests/runtime/sample_plans.h"

namespace {
size_t allocations = 0;
}

// Counts what the whole process allocates through C++; the device core has no other way but malloc, which a check of
// its symbols rules out.
void* operator new(size_t bytes) {
  ++allocations;
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) {
    std::abort();
  }
  return memory;
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace temper::test {
namespace {

uint32_t executed = 0;  // the kernel that ran last, 1 or 2

void first_kernel(float* out, const float*, const float*, const float*, const float*, void*, const int32_t*, int32_t,
                  int32_t) {
  executed = 1;
  out[0] = 1.0f;
}
void second_kernel(float* out, const float*, const float*, const float*, const float*, void*, const int32_t*, int32_t,
                   int32_t) {
  executed = 2;
  out[0] = 2.0f;
}
constexpr temper_kernel kKernels[] = {first_kernel, second_kernel};
alignas(64) const float kConstant[64] = {};
const void* const kConstants[] = {kConstant, kConstant + 16, kConstant + 32};

temper_facts some_facts() { return {{1, 32, 0, 0, 0, 1, 1, 25000, 50, 3, 1, 1}}; }

constexpr uint64_t kTarget = 0x1234;
constexpr uint32_t kCore = 0x41;

Fingerprint some_fingerprint() { return make_fingerprint(kTarget, some_facts(), kCore, 7, 8, 9); }

TableEntry entry(uint64_t key, const std::string& name, BakedEntry baked) {
  TableEntry made{key, 1, 1, 100, 60, {{0, 4}, {1, 2}}, name};
  made.baked = baked;
  return made;
}

BakedEntry plain_entry() { return {{16, 8, 30, 0, 0}, 0xABCD, 1, unpacked_plan(0), unpacked_plan(1)}; }

std::vector<TableEntry> some_entries() {
  BakedEntry packed = {{16, 8, 30, 4, 0}, 77, 2, packed_plan(1), unpacked_plan(0)};
  packed.winner.constant = 1;
  return {entry(900, "conv_b", packed), entry(5, "fc", plain_entry()),
          entry(uint64_t{1} << 40, "conv_a", plain_entry())};
}

std::vector<uint8_t> written(std::vector<TableEntry> entries) {
  const Result<std::vector<uint8_t>> bytes = write_table(std::move(entries), some_fingerprint(), "board");
  REQUIRE(bytes.ok());
  return *bytes;
}

temper_winners winners_of(const std::vector<uint8_t>& bytes) {
  return {{bytes.data(), bytes.size()}, kKernels, 2, kConstants, 3};
}

temper_device this_device() { return {some_facts(), kTarget, kCore}; }

// Everything that opened winners offer stays inside them; the result only keeps the reads alive.
uint64_t use_everything(const temper_winners_view& view) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < view.count; ++i) {
    const temper_winner* const winner = temper_winners_get(&view, i);
    sum += winner->tuned_ns + winner->elements[4] + std::strlen(temper_winners_name(&view, i));
    uint32_t found = 0;
    CHECK(temper_winners_find(&view, view.keys[i], &found) == TEMPER_OK);
    CHECK(found == i);
    temper_plan plan;
    CHECK(temper_winners_plan(&view, i, 4, &plan) == TEMPER_OK);
    sum += plan.packed_bytes + static_cast<uint64_t>(plan.grid);
    CHECK((plan.kernel == first_kernel || plan.kernel == second_kernel));
    for (uint32_t occurrence = 0; occurrence < winner->count && occurrence < 4; ++occurrence) {
      sum += temper_winners_constant(&view, i, occurrence) == nullptr ? 0 : 1;
    }
  }
  return sum;
}

TEST_CASE("winners are found by key and by name, and no others") {
  const std::vector<uint8_t> bytes = written(some_entries());
  const temper_winners winners = winners_of(bytes);
  temper_winners_view view;
  REQUIRE(temper_winners_open(&view, &winners, nullptr, nullptr) == TEMPER_OK);
  REQUIRE(view.count == 3);
  const struct {
    uint64_t key;
    const char* name;
  } all[] = {{5, "fc"}, {900, "conv_b"}, {uint64_t{1} << 40, "conv_a"}};
  for (uint32_t i = 0; i < 3; ++i) {
    uint32_t by_key = 9, by_name = 9;
    CHECK(temper_winners_find(&view, all[i].key, &by_key) == TEMPER_OK);
    CHECK(temper_winners_find_name(&view, all[i].name, &by_name) == TEMPER_OK);
    CHECK(by_key == i);
    CHECK(by_name == i);
    CHECK(std::string(temper_winners_name(&view, i)) == all[i].name);
  }
  uint32_t index = 0;
  for (const uint64_t absent : {uint64_t{0}, uint64_t{4}, uint64_t{6}, UINT64_MAX}) {
    CHECK(temper_winners_find(&view, absent, &index) == TEMPER_NOT_FOUND);
  }
  for (const char* absent : {"", "a", "conv", "conv_", "conv_aa", "fcc", "z"}) {
    CHECK(temper_winners_find_name(&view, absent, &index) == TEMPER_NOT_FOUND);
  }
  CHECK(temper_winners_get(&view, 3) == nullptr);
  CHECK(temper_winners_name(&view, 3) == nullptr);
  temper_plan plan;
  CHECK(temper_winners_plan(&view, 3, 1, &plan) == TEMPER_INVALID_ARGUMENT);
  CHECK(temper_winners_constant(&view, 3, 0) == nullptr);
}

TEST_CASE("a plan is what was baked, with no more threads than asked for or worth it") {
  const std::vector<uint8_t> bytes = written(some_entries());
  const temper_winners winners = winners_of(bytes);
  temper_winners_view view;
  REQUIRE(temper_winners_open(&view, &winners, nullptr, nullptr) == TEMPER_OK);
  temper_plan plan;
  REQUIRE(temper_winners_plan(&view, 1, 1, &plan) == TEMPER_OK);
  const BakedPlan expected = packed_plan(1);
  CHECK((plan.kernel == second_kernel));
  CHECK(plan.grid == 4);
  CHECK(plan.threads == 1);
  CHECK(plan.workspace_bytes == 128);
  CHECK(plan.packed_tensor == TEMPER_IN_B);
  CHECK(plan.packed_bytes == expected.plan.packed_bytes);
  CHECK(std::memcmp(plan.pack_layout, expected.plan.pack_layout, sizeof plan.pack_layout) == 0);
  for (const auto& [asked, given] : {std::pair{0u, 1u}, {1u, 1u}, {2u, 2u}, {8u, 2u}}) {
    REQUIRE(temper_winners_plan(&view, 1, asked, &plan) == TEMPER_OK);
    CHECK(plan.threads == given);
  }
  const temper_winner* const winner = temper_winners_get(&view, 1);
  CHECK(winner->default_ns == 100);
  CHECK(winner->tuned_ns == 60);
  CHECK(winner->elements[TEMPER_IN_B] == 30);
  CHECK(winner->digest == 77);
  CHECK(winner->count == 2);
  CHECK(temper_winners_constant(&view, 1, 0) == kConstants[1]);
  CHECK(temper_winners_constant(&view, 1, 1) == kConstants[2]);
  CHECK(temper_winners_constant(&view, 1, 2) == nullptr);
  CHECK(temper_winners_constant(&view, 0, 0) == nullptr);
}

TEST_CASE("another device gets the default's kernel and is told what differs") {
  const std::vector<uint8_t> bytes = written(some_entries());
  const temper_winners winners = winners_of(bytes);
  const auto opened = [&](const temper_device& device) {
    temper_winners_view view;
    REQUIRE(temper_winners_open(&view, &winners, &device, nullptr) == TEMPER_OK);
    return view;
  };
  CHECK(opened(this_device()).source == TEMPER_SOURCE_TABLE);
  CHECK(opened(this_device()).fingerprint_fields == 0);
  temper_device device = this_device();
  device.target_hash = 0;  // the firmware's kernels are of its own target
  CHECK(opened(device).source == TEMPER_SOURCE_TABLE);
  device.facts.value[TEMPER_FACT_CLOCK_KHZ] = 50000;  // told, but a result stays valid
  CHECK(opened(device).source == TEMPER_SOURCE_TABLE);
  CHECK(opened(device).fingerprint_fields == kFingerprintClock);

  device = this_device();
  device.core_type = kCore + 1;
  temper_winners_view view = opened(device);
  CHECK(view.source == TEMPER_SOURCE_DEFAULT);
  CHECK(view.fingerprint_fields == kFingerprintCoreType);
  CHECK(std::string(temper_fingerprint_field(1)) == "core type");
  temper_plan plan;
  REQUIRE(temper_winners_plan(&view, 1, 1, &plan) == TEMPER_OK);
  CHECK((plan.kernel == first_kernel));
  CHECK(plan.packed_bytes == 0);
  CHECK(temper_winners_constant(&view, 1, 0) == nullptr);
  float out = 0;
  alignas(64) unsigned char workspace[128];
  void* tensors[TEMPER_TENSOR_COUNT] = {&out, &out, &out, nullptr, nullptr};
  REQUIRE(temper_execute(&plan, nullptr, tensors, workspace, sizeof workspace) == TEMPER_OK);
  CHECK(executed == 1);
  device.target_hash = kTarget + 1;
  CHECK(opened(device).fingerprint_fields == (kFingerprintCoreType | kFingerprintTarget));
}

TEST_CASE("a flipped byte of a baked table never opens") {
  const std::vector<uint8_t> bytes = written(some_entries());
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (uint32_t flip = 1; flip < 256; ++flip) {
      const std::unique_ptr<uint8_t[]> copy(new uint8_t[bytes.size()]);
      std::memcpy(copy.get(), bytes.data(), bytes.size());
      copy[at] ^= static_cast<uint8_t>(flip);
      const temper_winners winners = {{copy.get(), bytes.size()}, kKernels, 2, kConstants, 3};
      temper_winners_view view;
      const char* reason = nullptr;
      REQUIRE(temper_winners_open(&view, &winners, nullptr, &reason) != TEMPER_OK);
      REQUIRE(reason != nullptr);
      REQUIRE(view.count == 0);
    }
  }
}

TEST_CASE("a truncated or longer baked table never opens") {
  const std::vector<uint8_t> bytes = written(some_entries());
  for (size_t length = 0; length < bytes.size() + 16; ++length) {
    if (length == bytes.size()) {
      continue;
    }
    const std::unique_ptr<uint8_t[]> copy(new uint8_t[length + 1]());
    std::memcpy(copy.get(), bytes.data(), std::min(length, bytes.size()));
    const temper_winners winners = {{copy.get(), length}, kKernels, 2, kConstants, 3};
    temper_winners_view view;
    REQUIRE(temper_winners_open(&view, &winners, nullptr, nullptr) != TEMPER_OK);
    REQUIRE(view.count == 0);
  }
  temper_winners winners = winners_of(bytes);
  winners.table.data = nullptr;
  temper_winners_view view;
  CHECK(temper_winners_open(&view, &winners, nullptr, nullptr) == TEMPER_BAD_DATA);
}

// FlatBuffers' own rules and the bounds hold even where the checksum is right.
TEST_CASE("a flipped byte under a new checksum is refused or harmless") {
  const std::vector<uint8_t> bytes = written(some_entries());
  uint64_t sum = 0;
  uint32_t refused = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (const int flip : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      const std::unique_ptr<uint8_t[]> copy(new uint8_t[bytes.size()]);
      std::memcpy(copy.get(), bytes.data(), bytes.size());
      copy[at] = static_cast<uint8_t>(copy[at] ^ flip);
      const temper_table table = {copy.get(), bytes.size()};
      uint32_t crc = 0;
      size_t crc_at = 0;
      // Only what still verifies as a FlatBuffer can be given another checksum: its place is looked up in it.
      const format::TunedTable* root = nullptr;
      const char* reason = "";
      static_cast<void>(open_table(table, &root, &reason).ok());
      if (std::string(reason) != "damaged: its checksum differs" || !table_crc(table, &crc, &crc_at)) {
        continue;
      }
      std::memcpy(copy.get() + crc_at, &crc, sizeof crc);
      const temper_winners winners = {table, kKernels, 2, kConstants, 3};
      temper_winners_view view;
      if (temper_winners_open(&view, &winners, nullptr, nullptr) == TEMPER_OK) {
        sum += use_everything(view);
      } else {
        ++refused;
      }
    }
  }
  CHECK(sum != 0);
  CHECK(refused != 0);
}

temper_status open_status(const std::vector<TableEntry>& entries) {
  const std::vector<uint8_t> bytes = written(entries);
  const temper_winners winners = winners_of(bytes);
  temper_winners_view view;
  return temper_winners_open(&view, &winners, nullptr, nullptr);
}

TEST_CASE("plans that could not be executed are refused, each for its own fault") {
  const auto with = [](auto&& change) {
    std::vector<TableEntry> entries = some_entries();
    change(entries[0].baked->winner, *entries[0].baked);
    return open_status(entries);
  };
  using Plan = BakedPlan;
  using Entry = BakedEntry;
  CHECK(with([](Plan&, Entry&) {}) == TEMPER_OK);
  CHECK(with([](Plan& p, Entry&) { p.kernel = 2; }) == TEMPER_BAD_DATA);
  CHECK(with([](Plan& p, Entry&) { p.plan.grid = 0; }) == TEMPER_BAD_DATA);
  CHECK(with([](Plan& p, Entry&) { p.plan.grid = -1; }) == TEMPER_BAD_DATA);
  CHECK(with([](Plan& p, Entry&) { p.plan.threads = 0; }) == TEMPER_BAD_DATA);
  CHECK(with([](Plan& p, Entry&) { p.plan.workspace_bytes = 63; }) == TEMPER_BAD_DATA);
  CHECK(with([](Plan& p, Entry&) { p.plan.workspace_bytes = 0x80000000u; }) == TEMPER_BAD_DATA);
  CHECK(with([](Plan& p, Entry&) { p.plan.packed_tensor = TEMPER_OUT; }) == TEMPER_BAD_DATA);
  CHECK(with([](Plan& p, Entry&) { p.plan.packed_tensor = static_cast<temper_tensor>(6); }) == TEMPER_BAD_DATA);
  CHECK(with([](Plan& p, Entry&) { p.plan.packed_tensor = TEMPER_ADDEND; }) == TEMPER_BAD_DATA);
  CHECK(with([](Plan& p, Entry&) { p.plan.packed_bytes += 4; }) == TEMPER_BAD_DATA);
  CHECK(with([](Plan& p, Entry&) { p.plan.packed_bytes = 0; }) == TEMPER_BAD_DATA);
  CHECK(with([](Plan& p, Entry&) { p.plan.pack_layout[4] = 0; }) == TEMPER_BAD_DATA);
  CHECK(with([](Plan& p, Entry&) { p.plan.pack_layout[10] = 6; }) == TEMPER_BAD_DATA);
  CHECK(with([](Plan& p, Entry&) { p.plan.pack_layout[6] = -1; }) == TEMPER_BAD_DATA);
  CHECK(with([](Plan& p, Entry&) { p.constant = 2; }) == TEMPER_BAD_DATA);  // two of them, and three there are
  CHECK(with([](Plan& p, Entry&) { p.constant = 4; }) == TEMPER_BAD_DATA);
  CHECK(with([](Plan&, Entry& e) { e.count = 3; }) == TEMPER_BAD_DATA);
  CHECK(with([](Plan&, Entry& e) { e.fallback.kernel = 2; }) == TEMPER_BAD_DATA);
  CHECK(with([](Plan&, Entry& e) { e.fallback.constant = 0; }) == TEMPER_BAD_DATA);  // it packs nothing
  CHECK(with([](Plan& p, Entry& e) {
          p.plan.packed_bytes = 0, p.plan.packed_tensor = TEMPER_TENSOR_COUNT;
          e.count = 1;
        }) == TEMPER_BAD_DATA);
}

TEST_CASE("a table without plans, as tune writes it, is a miss with a reason") {
  std::vector<TableEntry> entries = some_entries();
  for (TableEntry& plain : entries) {
    plain.baked.reset();
  }
  const std::vector<uint8_t> bytes = written(entries);
  const temper_winners winners = winners_of(bytes);
  temper_winners_view view;
  const char* reason = nullptr;
  CHECK(temper_winners_open(&view, &winners, nullptr, &reason) == TEMPER_BAD_DATA);
  CHECK(std::string(reason) == "no plans, or plans for other kernels");
  CHECK(view.count == 0);
}

TEST_CASE("a baked table is a tuned table too") {
  const std::vector<uint8_t> bytes = written(some_entries());
  TableView view;
  REQUIRE(TableView::open({bytes.data(), bytes.size()}, &view, nullptr).ok());
  TableEntryView found;
  REQUIRE(view.find(900, &found).ok());
  CHECK(found.tuned_ns == 60);
  CHECK(found.knobs.size == 2);
}

TEST_CASE("opening, looking up and planning allocate nothing") {
  const std::vector<uint8_t> bytes = written(some_entries());
  const temper_winners winners = winners_of(bytes);
  const temper_device device = this_device();
  temper_winners_view view;
  temper_plan plan;
  uint32_t index = 0;
  const size_t before = allocations;
  temper_status worst = temper_winners_open(&view, &winners, &device, nullptr);
  for (uint32_t i = 0; i < 1000 && worst == TEMPER_OK; ++i) {
    worst = temper_winners_find(&view, 900, &index);
    worst = worst != TEMPER_OK ? worst : temper_winners_find_name(&view, "conv_a", &index);
    worst = worst != TEMPER_OK ? worst : temper_winners_plan(&view, index, 1, &plan);
  }
  CHECK(allocations == before);
  CHECK(worst == TEMPER_OK);
  CHECK(before > 0);  // the counter counts
}

TEST_CASE("the self-check in C is that of the runtime") {
  float filled[40], expected[40];
  temper_check_fill(TEMPER_IN_B, filled, 40);
  fill_small_integers(TEMPER_IN_B, expected);
  CHECK(std::memcmp(filled, expected, sizeof filled) == 0);
  CHECK(temper_check_digest(filled, 40) == digest(Span<const float>(expected, 40)));
}

}  // namespace
}  // namespace temper::test
