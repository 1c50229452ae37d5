#include "tools/table_merge.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "schedules/table_writer.h"

namespace temper {
namespace {

using Bytes = std::vector<uint8_t>;

Fingerprint device(uint32_t core_type, uint32_t clock_khz = 25000) {
  return Fingerprint(1, core_type, 1, 1, 4, 8, 0, 0, 0, clock_khz, 50, 0, 0, 0, 0, 0);
}

TableEntry entry(uint64_t workload, uint64_t default_ns, uint64_t tuned_ns, uint16_t knob = 1) {
  TableEntry made;
  made.workload = workload;
  made.default_ns = default_ns;
  made.tuned_ns = tuned_ns;
  made.knobs = {{1, knob}};
  made.name = "workload " + std::to_string(workload);
  return made;
}

Bytes table_of(std::vector<TableEntry> entries, const Fingerprint& fingerprint = device(1)) {
  const Result<Bytes> bytes = write_table(std::move(entries), fingerprint, "board");
  REQUIRE(bytes);
  return *bytes;
}

Result<MergedTable> merge(const std::vector<Bytes>& tables) {
  std::vector<NamedTable> named;
  for (const Bytes& bytes : tables) {
    NamedTable table{"table " + std::to_string(named.size()), {}, false};
    REQUIRE(TableView::open({bytes.data(), bytes.size()}, &table.view, nullptr).ok());
    named.push_back(std::move(table));
  }
  return merge_tables(named);
}

Bytes merged(const std::vector<Bytes>& tables) {
  const Result<MergedTable> result = merge(tables);
  REQUIRE(result);
  return result->bytes;
}

TEST_CASE("tables of one device join to the union of their workloads, the greater gain standing") {
  const Bytes a = table_of({entry(1, 1000, 900), entry(2, 1000, 1000)}),
              b = table_of({entry(2, 500, 400), entry(3, 10, 10)}, device(1, 26000));
  const Result<MergedTable> result = merge({a, b});
  REQUIRE(result);
  CHECK(result->entries == 3);
  CHECK(result->replaced == 1);
  TableView view;
  REQUIRE(TableView::open({result->bytes.data(), result->bytes.size()}, &view, nullptr).ok());
  TableEntryView found;
  REQUIRE(view.find(2, &found).ok());
  CHECK(found.tuned_ns == 400);
  CHECK(std::string(view.target()) == "board");
}

TEST_CASE("merging tables is commutative, associative and idempotent to the byte") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 40; ++round) {
    std::vector<Bytes> tables;
    for (uint32_t i = 0; i < 3; ++i) {
      std::vector<TableEntry> entries;
      for (uint64_t workload = 0; workload < 4; ++workload) {
        if (random() % 2 == 0) {
          entries.push_back(
              entry(workload, 10 + random() % 2, 8 + random() % 3, static_cast<uint16_t>(1 + random() % 2)));
        }
      }
      tables.push_back(table_of(std::move(entries), device(1, 25000 + static_cast<uint32_t>(random() % 3))));
    }
    const Bytes all = merged(tables);
    CHECK(merged({tables[2], tables[0], tables[1]}) == all);
    CHECK(merged({merged({tables[1], tables[2]}), tables[0]}) == all);
    CHECK(merged({all, tables[1], all}) == all);
    CHECK(merged({merged({tables[0]}), merged({tables[1]}), tables[2]}) == all);
  }
}

TEST_CASE("tables of different devices and tables baked with kernels are refused by name") {
  const Result<MergedTable> devices = merge({table_of({entry(1, 2, 1)}), table_of({entry(1, 2, 1)}, device(2))});
  REQUIRE_FALSE(devices.ok());
  CHECK(devices.error().message.find("table 1 was made on another device than table 0 (differs in core type)") !=
        std::string::npos);
  const Bytes bytes = table_of({entry(1, 2, 1)});
  NamedTable baked{"baked.table", {}, true};
  REQUIRE(TableView::open({bytes.data(), bytes.size()}, &baked.view, nullptr).ok());
  const Result<MergedTable> refused = merge_tables({baked});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.find("baked.table: was baked with its kernels") != std::string::npos);
}

}  // namespace
}  // namespace temper
