// Borrowing: which shape lends, how far it is, what is refused, and what tables and histories offer.
#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "runtime/lookup.h"
#include "schedules/table_writer.h"
#include "tests/runtime/test_pack.h"

namespace temper::test {
namespace {

using Dims = std::vector<int32_t>;

constexpr uint64_t kKeyA = 100, kKeyB = 200, kKeyC = 300, kUnknownKey = 999;
constexpr uint32_t kA = 0, kB = 1, kC = 2;

/// Dims: two extents, a parameter, a stride. Knob 10: at most the first extent. Variants of knob 9: 1 and 2, not 3.
TestPack shapes_pack(const Dims& a, const Dims& b, const Dims& c) {
  TestPack pack;
  TestTemplate t;
  t.dim_count = 4;
  t.extents = 0b0011;
  t.parameters = 0b0100;
  t.knobs = {{9, KnobKind::kCompile, {1, 2, 3}, "tile"}, {10, KnobKind::kRun, {1, 8, 64}, "block"}};
  ProgramWriter w(&t, &t.constraint);
  w.output(w.op(Op::kLessEqual, w.knob(1), w.dim(0)));
  fill_programs(&t);
  pack.templates = {t};
  for (const auto& [key, dims] : {std::pair{kKeyA, a}, std::pair{kKeyB, b}, std::pair{kKeyC, c}}) {
    TestWorkload workload;
    workload.key = key;
    workload.name = "workload " + std::to_string(key);
    workload.dims = dims;
    workload.default_values = {1, 1};
    pack.workloads.push_back(workload);
  }
  pack.variants = {{0, {1}, 0}, {0, {2}, 0}};
  return pack;
}

struct Committed {
  uint64_t key;
  uint16_t tile, block;
  uint16_t ordinal = 0;
  uint64_t default_ns = 1000, tuned_ns = 500;
  Dims dims = {};
};

struct Shapes {
  /// The tables outlive it.
  explicit Shapes(const TestPack& pack, const std::vector<std::vector<uint8_t>>& table_bytes = {},
                  const temper_nearest_functions* nearest = &temper_nearest_shape)
      : open(pack), facts(test_facts()) {
    here = device(0);
    for (const std::vector<uint8_t>& bytes : table_bytes) {
      tables.push_back({bytes.data(), bytes.size()});
    }
    const Span<const temper_table> given{tables.data(), tables.size()};
    Arena counting;
    const Lookup counted(counting, open.view(), nullptr, nullptr, given, &temper_table_reader, nearest);
    memory.resize(counting.used / 8 + 1);
    Arena arena{reinterpret_cast<uint8_t*>(memory.data()), memory.size() * 8, 0};
    spaces = CurrentSpace(&open.view(), &facts, {open.values(), open.intervals()});
    lookup = Lookup(arena, open.view(), &spaces, &here, given, &temper_table_reader, nearest);
    REQUIRE_FALSE(arena.overflowed());
    lookup.offer_tables();
    lookup.set_history(false);
    fingerprint(device(0));
  }
  Shapes(const Shapes&) = delete;
  Shapes& operator=(const Shapes&) = delete;

  Fingerprint device(uint32_t driver, uint64_t target = 7) const {
    return make_fingerprint(target, test_facts(), 0, driver, 0x1234, 1);
  }
  void offer(FrameType type, const void* bytes, size_t size) {
    std::vector<uint64_t> payload(size / 8 + 1);
    std::memcpy(payload.data(), bytes, size);
    lookup.offer({type, 0, {reinterpret_cast<const uint8_t*>(payload.data()), size}});
  }
  void fingerprint(const Fingerprint& made) { offer(FrameType::kFingerprint, &made, sizeof made); }
  void commit(const Committed& c, uint16_t version = 1) {
    const format::Commit head(c.key, c.default_ns, c.tuned_ns, 1, version, c.ordinal, 2, 0);
    const format::KnobValue knobs[] = {format::KnobValue(9, c.tile), format::KnobValue(10, c.block)};
    std::vector<uint8_t> bytes(sizeof head + sizeof knobs + c.dims.size() * sizeof(int32_t));
    std::memcpy(bytes.data(), &head, sizeof head);
    std::memcpy(bytes.data() + sizeof head, knobs, sizeof knobs);
    if (!c.dims.empty()) {
      std::memcpy(bytes.data() + sizeof head + sizeof knobs, c.dims.data(), c.dims.size() * sizeof(int32_t));
    }
    offer(FrameType::kCommit, bytes.data(), bytes.size());
  }
  temper_answer answer(uint32_t workload) {
    temper_answer result;
    Config config;
    REQUIRE(lookup.find(workload, &config, &result).ok());
    return result;
  }
  uint32_t distance(uint32_t workload) {
    REQUIRE(lookup.note(workload).known == Known::kNearest);
    return lookup.note(workload).distance;
  }

  OpenPack open;
  temper_facts facts;
  Fingerprint here{};
  std::vector<temper_table> tables;
  std::vector<uint64_t> memory;
  Lookup lookup;
  CurrentSpace spaces;
};

std::vector<uint8_t> table_of(const Fingerprint& made_on, const std::vector<TableEntry>& entries) {
  const Result<std::vector<uint8_t>> bytes = write_table(entries, made_on, "test");
  REQUIRE(bytes.ok());
  return *bytes;
}

TableEntry entry(uint64_t key, uint16_t tile, uint16_t block, const Dims& dims) {
  TableEntry made;
  made.workload = key;
  made.template_id = made.template_version = 1;
  made.default_ns = 1000;
  made.tuned_ns = 500;
  made.knobs = {{9, tile}, {10, block}};
  made.name = "entry";
  made.dims = dims;
  return made;
}

Fingerprint made_on(uint32_t driver, uint64_t target = 7) {
  return make_fingerprint(target, test_facts(), 0, driver, 0x1234, 1);
}

const Dims kDims = {64, 32, 3, 32};

}  // namespace

TEST_CASE("the nearest of several shapes lends, and the same dims under another key are at distance 0") {
  Shapes s(shapes_pack(kDims, {128, 32, 3, 32}, {64, 32, 3, 32}));
  s.commit({kKeyB, 1, 64});
  CHECK(s.answer(kA).source == TEMPER_SOURCE_NEAREST);
  CHECK(s.answer(kA).value[0] == 1);
  CHECK(s.answer(kA).default_ns == 0);
  CHECK(s.answer(kA).missed[TEMPER_SOURCE_HISTORY] == TEMPER_MISS_UNKNOWN_WORKLOAD);
  CHECK(s.answer(kA).missed[TEMPER_SOURCE_TABLE] == TEMPER_MISS_ABSENT);
  CHECK(s.answer(kA).missed[TEMPER_SOURCE_NEAREST] == TEMPER_MISS_NONE);
  CHECK(s.distance(kA) == 4);  // one doubling
  s.commit({kKeyC, 2, 8});
  CHECK(s.distance(kA) == 0);
  CHECK(s.answer(kA).value[0] == 2);
  CHECK(s.answer(kA).value[1] == 8);
  s.commit({kKeyB, 1, 8});  // farther: it does not replace the nearer one
  CHECK(s.answer(kA).value[0] == 2);
}

TEST_CASE("the distance is the sum of the ratios of the extents, rounded up to a quarter of a doubling") {
  Shapes s(shapes_pack(kDims, {128, 64, 3, 64}, {65, 32, 3, 32}));
  s.commit({kKeyB, 1, 1});
  CHECK(s.distance(kA) == 8);
  s.commit({kKeyC, 1, 1});
  CHECK(s.distance(kA) == 1);
}

TEST_CASE("of shapes as near as each other the one offered last lends") {
  Shapes s(shapes_pack(kDims, {128, 32, 3, 32}, {32, 32, 3, 32}));
  s.commit({kKeyB, 1, 8});
  s.commit({kKeyC, 2, 8});
  CHECK(s.answer(kA).value[0] == 2);
  s.commit({kKeyB, 1, 1});
  CHECK(s.answer(kA).value[0] == 1);
}

TEST_CASE("a shape whose parameter, layout or template differs does not lend") {
  Shapes s(shapes_pack(kDims, {64, 32, 5, 32}, {64, 32, 3, 1}));
  s.commit({kKeyB, 1, 1});
  s.commit({kKeyC, 1, 1});
  s.commit({kUnknownKey, 1, 1, 0, 1000, 500, {64, 32, 3, 0}});
  s.commit({kUnknownKey, 1, 1, 0, 1000, 500, kDims}, 2);
  CHECK(s.answer(kA).source == TEMPER_SOURCE_DEFAULT);
  CHECK(s.answer(kA).missed[TEMPER_SOURCE_NEAREST] == TEMPER_MISS_UNKNOWN_WORKLOAD);
}

TEST_CASE("a config that breaks a constraint or has no kernel is not lent, and the next nearest is") {
  Shapes s(shapes_pack({8, 32, 3, 32}, {16, 32, 3, 32}, {64, 32, 3, 32}));
  s.commit({kKeyC, 1, 64});
  CHECK(s.answer(kA).missed[TEMPER_SOURCE_NEAREST] == TEMPER_MISS_ILLEGAL);
  s.commit({kUnknownKey, 3, 8, 0, 1000, 500, {8, 32, 3, 32}});
  CHECK(s.answer(kA).missed[TEMPER_SOURCE_NEAREST] == TEMPER_MISS_NO_VARIANT);
  CHECK(s.answer(kA).source == TEMPER_SOURCE_DEFAULT);
  s.commit({kKeyB, 2, 8});
  CHECK(s.answer(kA).source == TEMPER_SOURCE_NEAREST);
  CHECK(s.distance(kA) == 4);
}

TEST_CASE("a workload that the pack does not know lends by the dims in its commit, without them not") {
  Shapes s(shapes_pack(kDims, {8, 8, 9, 8}, {8, 8, 8, 8}));
  s.commit({kUnknownKey, 2, 8});
  s.commit({kUnknownKey, 2, 8, 0, 1000, 500, {64}});  // the second extent is missing
  CHECK(s.answer(kA).source == TEMPER_SOURCE_DEFAULT);
  s.commit({kUnknownKey, 2, 8, 0, 1000, 500, {64, 32}});  // what follows counts as equal
  CHECK(s.distance(kA) == 0);
}

TEST_CASE("a commit that kept its default lends nothing") {
  Shapes s(shapes_pack(kDims, kDims, kDims));
  s.commit({kKeyB, 2, 8, 0, 1000, 1000});
  CHECK(s.answer(kA).source == TEMPER_SOURCE_DEFAULT);
  s.commit({kKeyB, 2, 8, 0, 0, 1000});  // the default did not work there
  CHECK(s.answer(kA).source == TEMPER_SOURCE_NEAREST);
}

TEST_CASE("a device of the class lends, with the fields that differ; one of another target does not") {
  Shapes s(shapes_pack(kDims, kDims, {8, 8, 8, 8}));
  s.fingerprint(s.device(0, 8));
  s.fingerprint(s.device(5));
  s.commit({kKeyB, 1, 8, 1});
  CHECK(s.answer(kA).source == TEMPER_SOURCE_DEFAULT);
  s.commit({kKeyB, 2, 8, 2});
  CHECK(s.answer(kA).source == TEMPER_SOURCE_NEAREST);
  CHECK(s.answer(kA).fingerprint_fields[TEMPER_SOURCE_NEAREST] == kFingerprintDriver);
  CHECK(s.answer(kB).source == TEMPER_SOURCE_NEAREST);  // its own commit, of another device of the class
  CHECK(s.answer(kB).missed[TEMPER_SOURCE_HISTORY] == TEMPER_MISS_FINGERPRINT);
  CHECK(s.answer(kB).fingerprint_fields[TEMPER_SOURCE_HISTORY] == kFingerprintDriver);
}

TEST_CASE("a commit for the workload itself stands before what is borrowed, whichever comes first") {
  Shapes s(shapes_pack(kDims, kDims, kDims));
  s.commit({kKeyA, 1, 8});
  s.commit({kKeyB, 2, 64});
  CHECK(s.answer(kA).source == TEMPER_SOURCE_HISTORY);
  CHECK(s.answer(kA).value[0] == 1);
  CHECK(s.answer(kC).value[0] == 2);
  s.commit({kKeyC, 1, 1});
  CHECK(s.answer(kC).source == TEMPER_SOURCE_HISTORY);
}

TEST_CASE("what is committed in this run is lent at once") {
  Shapes s(shapes_pack(kDims, {128, 32, 3, 32}, {8, 8, 8, 8}));
  Config config;
  config.choice[0] = 1;
  config.choice[1] = 1;
  s.lookup.record(kB, config, 100, 60);
  CHECK(s.answer(kA).source == TEMPER_SOURCE_NEAREST);
  CHECK(s.answer(kA).value[0] == 2);
  CHECK(s.distance(kA) == 4);
  CHECK(s.answer(kC).source == TEMPER_SOURCE_DEFAULT);
}

TEST_CASE("entries of tables lend: the first table before later ones, the history before them where it is as near") {
  const std::vector<std::vector<uint8_t>> tables = {table_of(made_on(0), {entry(kUnknownKey, 1, 8, kDims)}),
                                                    table_of(made_on(5), {entry(kUnknownKey, 1, 64, kDims)}),
                                                    table_of(made_on(0, 8), {entry(kUnknownKey, 2, 64, kDims)})};
  Shapes s(shapes_pack(kDims, {128, 32, 3, 32}, {64, 32, 9, 32}), tables);
  CHECK(s.answer(kA).source == TEMPER_SOURCE_NEAREST);
  CHECK(s.answer(kA).value[1] == 8);
  CHECK(s.answer(kA).missed[TEMPER_SOURCE_TABLE] == TEMPER_MISS_UNKNOWN_WORKLOAD);
  CHECK(s.answer(kA).table == UINT32_MAX);
  CHECK(s.answer(kC).source == TEMPER_SOURCE_DEFAULT);
  s.commit({kUnknownKey, 2, 1, 0, 1000, 500, kDims});
  CHECK(s.answer(kA).value[0] == 2);
}

TEST_CASE("a table entry of a workload that the pack knows needs no dims, one of another workload does") {
  const std::vector<std::vector<uint8_t>> tables = {
      table_of(made_on(0), {entry(kKeyB, 2, 8, {}), entry(kUnknownKey, 1, 1, {})})};
  Shapes s(shapes_pack(kDims, kDims, kDims), tables);
  CHECK(s.answer(kB).source == TEMPER_SOURCE_TABLE);
  CHECK(s.answer(kA).source == TEMPER_SOURCE_NEAREST);
  CHECK(s.answer(kA).value[0] == 2);
}

TEST_CASE("nothing is borrowed without config.nearest or with a pack that does not tell what its dims mean") {
  Shapes without(shapes_pack(kDims, kDims, kDims), {}, nullptr);
  without.commit({kKeyB, 2, 8});
  CHECK(without.answer(kA).source == TEMPER_SOURCE_DEFAULT);
  CHECK(without.answer(kA).missed[TEMPER_SOURCE_NEAREST] == TEMPER_MISS_ABSENT);
  TestPack silent = shapes_pack(kDims, kDims, kDims);
  silent.dim_roles = false;
  Shapes s(silent);
  s.commit({kKeyB, 2, 8});
  CHECK(s.answer(kA).source == TEMPER_SOURCE_DEFAULT);
  CHECK(s.answer(kA).missed[TEMPER_SOURCE_NEAREST] == TEMPER_MISS_UNKNOWN_WORKLOAD);
}

TEST_CASE("tables of this device answer before those of its class, in the order given, whatever stands between") {
  const std::vector<std::vector<uint8_t>> tables = {
      table_of(made_on(5), {entry(kKeyA, 1, 1, {}), entry(kKeyB, 1, 1, {})}),
      table_of(made_on(0, 8), {entry(kKeyC, 1, 1, {})}), table_of(made_on(0), {entry(kKeyA, 2, 8, {})}),
      table_of(made_on(0), {entry(kKeyA, 2, 64, {})})};
  Shapes s(shapes_pack(kDims, kDims, {9, 9, 9, 9}), tables);
  const temper_answer of_device = s.answer(kA);
  CHECK(of_device.source == TEMPER_SOURCE_TABLE);
  CHECK(of_device.table == 2);
  CHECK(of_device.value[1] == 8);
  CHECK(of_device.tuned_ns == 500);
  CHECK(of_device.missed[TEMPER_SOURCE_CLASS_TABLE] == TEMPER_MISS_NONE);
  const temper_answer of_class = s.answer(kB);
  CHECK(of_class.source == TEMPER_SOURCE_CLASS_TABLE);
  CHECK(of_class.table == 0);
  CHECK(of_class.missed[TEMPER_SOURCE_TABLE] == TEMPER_MISS_FINGERPRINT);
  CHECK(of_class.fingerprint_fields[TEMPER_SOURCE_TABLE] == kFingerprintDriver);
  CHECK(of_class.fingerprint_fields[TEMPER_SOURCE_CLASS_TABLE] == kFingerprintDriver);
  const temper_answer of_none = s.answer(kC);
  CHECK(of_none.source == TEMPER_SOURCE_DEFAULT);
  CHECK(of_none.missed[TEMPER_SOURCE_TABLE] == TEMPER_MISS_FINGERPRINT);
  CHECK(of_none.missed[TEMPER_SOURCE_CLASS_TABLE] == TEMPER_MISS_FINGERPRINT);
  CHECK(of_none.fingerprint_fields[TEMPER_SOURCE_CLASS_TABLE] == kFingerprintTarget);
}

TEST_CASE("a miss of the tables tells the reason of the most hopeful one") {
  const Dims small = {8, 32, 3, 32};
  const std::vector<uint8_t> illegal = table_of(made_on(5), {entry(kKeyA, 1, 64, {})});
  const std::vector<uint8_t> unserved = table_of(made_on(5), {entry(kKeyA, 3, 8, {})});
  const std::vector<uint8_t> foreign = table_of(made_on(5, 8), {entry(kKeyA, 1, 8, {})});
  const std::vector<uint8_t> empty = table_of(made_on(0), {});
  std::vector<uint8_t> damaged = illegal;
  damaged[damaged.size() / 2] ^= 0x10;
  const auto missed = [&](const std::vector<std::vector<uint8_t>>& tables, temper_source source) {
    Shapes s(shapes_pack(small, {9, 9, 9, 9}, {9, 9, 9, 9}), tables, nullptr);
    CHECK(s.answer(kA).source == TEMPER_SOURCE_DEFAULT);
    return s.answer(kA).missed[source];
  };
  CHECK(missed({}, TEMPER_SOURCE_CLASS_TABLE) == TEMPER_MISS_ABSENT);
  CHECK(missed({empty}, TEMPER_SOURCE_TABLE) == TEMPER_MISS_UNKNOWN_WORKLOAD);
  CHECK(missed({empty}, TEMPER_SOURCE_CLASS_TABLE) == TEMPER_MISS_ABSENT);  // it is of this device
  CHECK(missed({empty, foreign}, TEMPER_SOURCE_CLASS_TABLE) == TEMPER_MISS_FINGERPRINT);
  CHECK(missed({foreign, illegal}, TEMPER_SOURCE_CLASS_TABLE) == TEMPER_MISS_ILLEGAL);
  CHECK(missed({foreign, illegal, unserved}, TEMPER_SOURCE_CLASS_TABLE) == TEMPER_MISS_NO_VARIANT);
  CHECK(missed({damaged, unserved}, TEMPER_SOURCE_CLASS_TABLE) == TEMPER_MISS_DAMAGED);
  CHECK(missed({illegal, unserved}, TEMPER_SOURCE_TABLE) == TEMPER_MISS_FINGERPRINT);
  const std::vector<std::vector<uint8_t>> both = {foreign, illegal};
  Shapes s(shapes_pack(small, {9, 9, 9, 9}, {9, 9, 9, 9}), both, nullptr);
  CHECK(s.answer(kA).fingerprint_fields[TEMPER_SOURCE_TABLE] == kFingerprintDriver);  // the fewest differ
}

}  // namespace temper::test
