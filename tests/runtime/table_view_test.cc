#include "runtime/table_view.h"

#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "schedules/table_writer.h"

namespace temper {
namespace {

std::vector<TableEntry> some_entries() {
  return {{0xFFFFFFFFFFFFFFFFu, 2, 3, 900, 300, {{7, 8}, {1, 2}, {3, 65535}}, "last"},
          {5, 1, 1, 1000, 500, {}, "first"},
          {uint64_t{1} << 40, 1, 1, 70, 60, {{1, 4}}, "middle"}};
}

std::vector<uint8_t> some_table() {
  const Result<std::vector<uint8_t>> written = write_table(some_entries(), Fingerprint(), "some-target");
  REQUIRE(written.ok());
  return *written;
}

// A copy that ends where its memory ends, aligned as tables are: a read outside is seen by an address sanitizer.
struct ExactCopy {
  explicit ExactCopy(const std::vector<uint8_t>& bytes) : memory(new uint8_t[bytes.size()]), at(memory.get()) {
    if (!bytes.empty()) {
      std::memcpy(at, bytes.data(), bytes.size());
    }
  }
  std::unique_ptr<uint8_t[]> memory;
  uint8_t* at;
};

// Reads all that a table offers; the result only keeps the reads alive.
uint64_t read_everything(const TableView& view) {
  uint64_t sum = std::strlen(view.target()) + view.fingerprint().target_hash();
  for (uint32_t i = 0; i < view.count(); ++i) {
    const TableEntryView entry = view.entry(i);
    sum += entry.workload + entry.default_ns + entry.tuned_ns + entry.template_id + std::strlen(entry.name);
    for (const format::KnobValue& knob : entry.knobs) {
      sum += knob.id() + knob.value();
    }
    TableEntryView found;
    CHECK(view.find(entry.workload, &found).ok());
    CHECK(found.name == entry.name);
  }
  return sum;
}

TEST_CASE("a table finds each of its workloads and no other") {
  const std::vector<uint8_t> bytes = some_table();
  TableView view;
  const char* reason = nullptr;
  REQUIRE(TableView::open({bytes.data(), bytes.size()}, &view, &reason).ok());
  CHECK(view.count() == 3);
  CHECK(std::string(view.target()) == "some-target");
  TableEntryView entry;
  REQUIRE(view.find(0xFFFFFFFFFFFFFFFFu, &entry).ok());
  CHECK(std::string(entry.name) == "last");
  CHECK(entry.template_id == 2);
  CHECK(entry.template_version == 3);
  CHECK(entry.default_ns == 900);
  CHECK(entry.tuned_ns == 300);
  REQUIRE(entry.knobs.size == 3);
  CHECK(entry.knobs[0].id() == 1);
  CHECK(entry.knobs[2].id() == 7);
  CHECK(entry.knobs[1].value() == 65535);
  REQUIRE(view.find(5, &entry).ok());
  CHECK(entry.knobs.empty());
  CHECK(view.find(uint64_t{1} << 40, &entry).ok());
  for (const uint64_t absent : {uint64_t{0}, uint64_t{4}, uint64_t{6}, uint64_t{0xFFFFFFFFFFFFFFFEu}}) {
    CHECK(view.find(absent, &entry) == TEMPER_NOT_FOUND);
  }
}

TEST_CASE("an empty table and a closed view hold nothing") {
  const Result<std::vector<uint8_t>> bytes = write_table({}, Fingerprint(), "t");
  REQUIRE(bytes.ok());
  TableView view;
  TableEntryView entry;
  CHECK(view.count() == 0);
  CHECK(view.find(1, &entry) == TEMPER_NOT_FOUND);
  REQUIRE(TableView::open({bytes->data(), bytes->size()}, &view, nullptr).ok());
  CHECK(view.count() == 0);
  CHECK(view.find(1, &entry) == TEMPER_NOT_FOUND);
}

TEST_CASE("a flipped byte or bit of a table is refused, and says why") {
  const std::vector<uint8_t> bytes = some_table();
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (uint32_t flip = 1; flip < 256; ++flip) {
      ExactCopy copy(bytes);
      copy.at[at] ^= static_cast<uint8_t>(flip);
      TableView view;
      const char* reason = nullptr;
      REQUIRE_FALSE(TableView::open({copy.at, bytes.size()}, &view, &reason).ok());
      REQUIRE(reason != nullptr);
      REQUIRE(view.count() == 0);
    }
  }
}

TEST_CASE("a truncated table is refused") {
  const std::vector<uint8_t> bytes = some_table();
  for (size_t length = 0; length < bytes.size(); ++length) {
    std::vector<uint8_t> head(bytes.begin(), bytes.begin() + static_cast<long>(length));
    ExactCopy copy(head);
    TableView view;
    if (TableView::open({copy.at, length}, &view, nullptr).ok()) {
      read_everything(view);
      // FlatBuffers may end in padding that nothing refers to.
      CHECK(bytes.size() - length < 8);
    }
  }
  TableView view;
  CHECK(TableView::open({nullptr, 100}, &view, nullptr) == TEMPER_BAD_DATA);
  CHECK(TableView::open({bytes.data() + 4, bytes.size() - 4}, &view, nullptr) == TEMPER_BAD_DATA);
}

// Tables that the writer would not make.
std::vector<uint8_t> raw_table(uint16_t version, const std::vector<uint64_t>& workloads,
                               const std::vector<uint16_t>& ids) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<format::TableEntry>> entries;
  for (const uint64_t workload : workloads) {
    std::vector<format::KnobValue> knobs;
    for (const uint16_t id : ids) {
      knobs.emplace_back(id, uint16_t{1});
    }
    const auto vector = builder.CreateVectorOfStructs(knobs);
    entries.push_back(format::CreateTableEntry(builder, workload, 1, 1, 1, 1, vector, builder.CreateString("w")));
  }
  const auto vector = builder.CreateVector(entries);
  const Fingerprint fingerprint;
  const auto target = builder.CreateString("t");
  constexpr uint32_t kToBeFilledIn = 1;
  format::FinishTunedTableBuffer(
      builder, format::CreateTunedTable(builder, version, &fingerprint, target, vector, 0, kToBeFilledIn));
  std::vector<uint8_t> bytes(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
  uint32_t crc = 0;
  size_t at = 0;
  REQUIRE(table_crc({bytes.data(), bytes.size()}, &crc, &at));
  std::memcpy(bytes.data() + at, &crc, sizeof crc);
  return bytes;
}

Status open_status(const std::vector<uint8_t>& bytes) {
  TableView view;
  return TableView::open({bytes.data(), bytes.size()}, &view, nullptr);
}

TEST_CASE("a table without a checksum is refused by that; one without keys opens") {
  const std::vector<uint8_t> bytes = raw_table(kTableVersion, {3, 8, 9}, {1});
  TableView view;
  REQUIRE(TableView::open({bytes.data(), bytes.size()}, &view, nullptr).ok());
  TableEntryView found;
  CHECK(view.find(8, &found).ok());
  CHECK(found.workload == 8);
  CHECK(view.find(7, &found) == TEMPER_NOT_FOUND);

  std::vector<uint8_t> without = bytes;
  const uint32_t root = flatbuffers::ReadScalar<uint32_t>(without.data());
  const uint32_t vtable = root - flatbuffers::ReadScalar<uint32_t>(without.data() + root);
  without[vtable + format::TunedTable::VT_CRC] = 0;
  uint32_t crc = 0;
  size_t at = 0;
  REQUIRE_FALSE(table_crc({without.data(), without.size()}, &crc, &at));
  const char* reason = "";
  CHECK(TableView::open({without.data(), without.size()}, &view, &reason) == TEMPER_BAD_DATA);
  CHECK(std::string(reason).find("checksum") != std::string::npos);
}

TEST_CASE("tables of another version, unsorted ones and impossible knob lists are refused") {
  CHECK(open_status(raw_table(kTableVersion, {1, 2}, {1, 2})).ok());
  CHECK(open_status(raw_table(kTableVersion + 1, {1, 2}, {1, 2})) == TEMPER_BAD_VERSION);
  CHECK(open_status(raw_table(kTableVersion, {2, 1}, {1, 2})) == TEMPER_BAD_DATA);
  CHECK(open_status(raw_table(kTableVersion, {1, 1}, {1, 2})) == TEMPER_BAD_DATA);
  CHECK(open_status(raw_table(kTableVersion, {1}, {2, 1})) == TEMPER_BAD_DATA);
  CHECK(open_status(raw_table(kTableVersion, {1}, {1, 1})) == TEMPER_BAD_DATA);
  std::vector<uint16_t> ids;
  for (uint16_t id = 0; id < TEMPER_MAX_KNOBS; ++id) {
    ids.push_back(id);
  }
  CHECK(open_status(raw_table(kTableVersion, {1}, ids)).ok());
  ids.push_back(TEMPER_MAX_KNOBS);
  CHECK(open_status(raw_table(kTableVersion, {1}, ids)) == TEMPER_BAD_DATA);
}

}  // namespace
}  // namespace temper
