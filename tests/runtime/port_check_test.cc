#include "temper/port_check.h"

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/random.h"
#include "tests/runtime/ram_storage.h"
#include "tests/runtime/scanned_history.h"

namespace temper::test {
namespace {

/// A port whose clock and storage can be given any fault.
struct TestPort {
  std::function<uint64_t(uint64_t reading)> clock = [](uint64_t reading) { return reading * 400; };
  uint64_t readings = 0;
  RamStorage ram{64 * 1024, 8, 4096};
  temper_storage storage = *ram.storage();
  temper_port port{};
  temper_port_report report{};
  alignas(4) uint8_t memory[TEMPER_PORT_CHECK_BYTES];

  TestPort() {
    port.self = this;
    port.now_ns = [](void* self) {
      TestPort* const test = static_cast<TestPort*>(self);
      return test->clock(test->readings++);
    };
    port.storage = &storage;
  }
  temper_status check(uint32_t block = TEMPER_PORT_FREE_BLOCK) {
    return temper_check_port(&port, block, memory, &report);
  }
  std::string reason() const { return report.reason; }
};

bool mentions(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

// Of one region, so that it may end anywhere.
std::vector<uint8_t> history_bytes(RamStorage& ram, uint32_t frames) {
  temper_storage without_regions = *ram.storage();
  without_regions.erase = nullptr;
  ScannedHistory scanned(&without_regions);
  REQUIRE(scanned.status.ok());
  for (uint32_t i = 0; i < frames; ++i) {
    REQUIRE(scanned.append(FrameType::kTrial, std::vector<uint8_t>(60, static_cast<uint8_t>(i))).ok());
  }
  return ram.bytes();
}

TEST_CASE("a sound port passes, its clock's resolution is told, its storage is left erased") {
  TestPort test;
  REQUIRE(test.check() == TEMPER_OK);
  CHECK(test.reason() == "ok");
  CHECK(test.report.clock_resolution_ns == 400);
  CHECK(test.report.written_block == 60 * 1024);
  CHECK(test.ram.bytes() == std::vector<uint8_t>(64 * 1024, 0xFF));
  CHECK_FALSE(test.ram.misused());
}

TEST_CASE("missing arguments are refused") {
  TestPort test;
  CHECK(temper_check_port(nullptr, 0, test.memory, &test.report) == TEMPER_INVALID_ARGUMENT);
  CHECK(temper_check_port(&test.port, 0, nullptr, &test.report) == TEMPER_INVALID_ARGUMENT);
  CHECK(temper_check_port(&test.port, 0, test.memory, nullptr) == TEMPER_INVALID_ARGUMENT);
  test.port.now_ns = nullptr;
  CHECK(test.check() == TEMPER_PORT_ERROR);
  CHECK(mentions(test.reason(), "now_ns"));
}

TEST_CASE("a clock that stands still is refused after a bounded number of reads") {
  TestPort test;
  test.clock = [](uint64_t) { return uint64_t{12345}; };
  CHECK(test.check() == TEMPER_PORT_ERROR);
  CHECK(mentions(test.reason(), "stands still"));
  CHECK(test.readings < (1u << 20) + 2);
}

TEST_CASE("a clock that runs backwards is refused, at once or where its counter wraps") {
  TestPort test;
  test.clock = [](uint64_t reading) { return 1000000 - reading; };
  CHECK(test.check() == TEMPER_PORT_ERROR);
  CHECK(mentions(test.reason(), "backwards"));

  TestPort wrapping;  // a 10 ms counter whose wrap is counted one reading late
  wrapping.clock = [](uint64_t reading) {
    const uint64_t now = reading * 400, late = (reading == 0 ? 0 : reading - 1) * 400;
    return late / 10000000 * 10000000 + now % 10000000;
  };
  CHECK(wrapping.check() == TEMPER_PORT_ERROR);
  CHECK(mentions(wrapping.reason(), "backwards"));
}

TEST_CASE("a clock that jumps is refused") {
  TestPort test;
  test.clock = [](uint64_t reading) { return reading * 400 + (reading > 1000 ? uint64_t{1} << 32 : 0); };
  CHECK(test.check() == TEMPER_PORT_ERROR);
  CHECK(mentions(test.reason(), "jumped"));
}

TEST_CASE("a clock as coarse as a scheduler's tick is refused and its resolution told") {
  TestPort test;
  test.clock = [](uint64_t reading) { return reading * 400 / 1000000 * 1000000; };
  CHECK(test.check() == TEMPER_PORT_ERROR);
  CHECK(mentions(test.reason(), "too coarse"));
  CHECK(test.report.clock_resolution_ns == 1000000);

  TestPort watch_crystal;  // 32,768 Hz
  watch_crystal.clock = [](uint64_t reading) { return reading * 400 / 30518 * 30518; };
  CHECK(watch_crystal.check() == TEMPER_OK);
  CHECK(watch_crystal.report.clock_resolution_ns == 30518);
}

TEST_CASE("sizes that break the contract are named") {
  struct Case {
    const char* words;
    void (*plant)(temper_storage* storage);
  };
  const Case cases[] = {
      {"program_bytes", [](temper_storage* s) { s->program_bytes = 0; }},
      {"program_bytes", [](temper_storage* s) { s->program_bytes = 24; }},
      {"program_bytes", [](temper_storage* s) { s->program_bytes = 512; }},
      {"size_bytes is 0", [](temper_storage* s) { s->size_bytes = 0; }},
      {"erase_bytes", [](temper_storage* s) { s->erase_bytes = 3000; }},
      {"erase_bytes", [](temper_storage* s) { s->erase_bytes = 4; }},
      {"erase_bytes", [](temper_storage* s) { s->size_bytes = 5000; }},
      {"erase is NULL", [](temper_storage* s) { s->erase = nullptr; }},
      {"must not be NULL", [](temper_storage* s) { s->read = nullptr; }},
      {"must not be NULL", [](temper_storage* s) { s->program = nullptr; }},
      {"must not be NULL", [](temper_storage* s) { s->sync = nullptr; }},
  };
  for (const Case& planted : cases) {
    TestPort test;
    planted.plant(&test.storage);
    CAPTURE(planted.words);
    CHECK(test.check() == TEMPER_PORT_ERROR);
    CHECK(mentions(test.reason(), planted.words));
    CHECK(test.ram.operations() == 0);
  }
}

TEST_CASE("a storage that does not keep what was written is refused") {
  TestPort test;
  test.ram.stuck_offset = 60 * 1024 + 1;  // a bit of the pattern's second byte is lost
  CHECK(test.check() == TEMPER_STORAGE_ERROR);
  CHECK(mentions(test.reason(), "does not keep"));

  TestPort read_only;
  read_only.ram.read_only = true;
  CHECK(read_only.check() == TEMPER_STORAGE_ERROR);
  CHECK(mentions(read_only.reason(), "cannot be programmed"));

  TestPort forgetful;  // programming reports success and does nothing
  forgetful.storage.program = [](void*, uint32_t, const void*, uint32_t) { return TEMPER_OK; };
  CHECK(forgetful.check() == TEMPER_STORAGE_ERROR);
  CHECK(mentions(forgetful.reason(), "does not keep"));

  TestPort unreadable;
  unreadable.ram.read_fails = true;
  CHECK(unreadable.check() == TEMPER_STORAGE_ERROR);
  CHECK(mentions(unreadable.reason(), "cannot be read"));

  TestPort unsynced;
  unsynced.ram.sync_fails = true;
  CHECK(unsynced.check() == TEMPER_STORAGE_ERROR);
  CHECK(mentions(unsynced.reason(), "sync"));
}

/// RamStorage with a fault around one of its calls.
struct FaultyStorage {
  RamStorage* ram;
  uint32_t mirror_bytes = 0;  ///< the part is only so large
  uint32_t real_erase_bytes = 0;
  uint8_t erased_value = 0xFF;
};

TestPort& with_faults(TestPort& test, FaultyStorage& faulty) {
  faulty.ram = &test.ram;
  test.storage.self = &faulty;
  test.storage.read = [](void* self, uint32_t offset, void* to, uint32_t bytes) {
    const FaultyStorage& f = *static_cast<FaultyStorage*>(self);
    const temper_storage& s = *f.ram->storage();
    const uint32_t at = f.mirror_bytes == 0 ? offset : offset % f.mirror_bytes;
    const temper_status status = s.read(s.self, at, to, bytes);
    for (uint32_t i = 0; i < bytes; ++i) {
      uint8_t& byte = static_cast<uint8_t*>(to)[i];
      byte = byte == 0xFF ? f.erased_value : byte;
    }
    return status;
  };
  test.storage.program = [](void* self, uint32_t offset, const void* from, uint32_t bytes) {
    const FaultyStorage& f = *static_cast<FaultyStorage*>(self);
    const temper_storage& s = *f.ram->storage();
    return s.program(s.self, f.mirror_bytes == 0 ? offset : offset % f.mirror_bytes, from, bytes);
  };
  test.storage.erase = [](void* self, uint32_t offset) {
    const FaultyStorage& f = *static_cast<FaultyStorage*>(self);
    const temper_storage& s = *f.ram->storage();
    const uint32_t bytes = f.real_erase_bytes == 0 ? s.erase_bytes : f.real_erase_bytes;
    uint32_t at = (f.mirror_bytes == 0 ? offset : offset % f.mirror_bytes) / bytes * bytes;
    for (const uint32_t end = at + bytes; at < end; at += s.erase_bytes) {
      (void)s.erase(s.self, at);
    }
    return TEMPER_OK;
  };
  test.storage.sync = [](void*) { return TEMPER_OK; };
  return test;
}

TEST_CASE("a part that is smaller, erases more or erases to another value than it says is refused") {
  TestPort small;
  FaultyStorage mirrored{nullptr};
  mirrored.mirror_bytes = 16 * 1024;
  CHECK(with_faults(small, mirrored).check() == TEMPER_STORAGE_ERROR);
  CHECK(mentions(small.reason(), "appears in another"));

  TestPort coarse;
  FaultyStorage large_blocks{nullptr};
  large_blocks.real_erase_bytes = 16 * 1024;
  CHECK(with_faults(coarse, large_blocks).check() == TEMPER_STORAGE_ERROR);
  CHECK(mentions(coarse.reason(), "erasing a block changed the one before it"));

  TestPort zeros;
  FaultyStorage erased_to_zero{nullptr};
  erased_to_zero.erased_value = 0;
  CHECK(with_faults(zeros, erased_to_zero).check(8192) == TEMPER_STORAGE_ERROR);
  CHECK(mentions(zeros.reason(), "must read 0xFF"));
}

TEST_CASE("a history that is there survives, wherever it ends") {
  for (const uint32_t frames : {0u, 1u, 40u, 300u, 640u}) {
    TestPort test;
    const std::vector<uint8_t> before = history_bytes(test.ram, frames);
    CHECK(test.check() == TEMPER_OK);
    CHECK(test.ram.bytes() == before);
  }
  TestPort full;  // no free block: only read
  full.ram.set_bytes(std::vector<uint8_t>(64 * 1024, 0x5A));
  CHECK(full.check() == TEMPER_OK);
  CHECK(full.report.written_block == TEMPER_PORT_READ_STORAGE);
  CHECK(full.ram.operations() == 0);

  TestPort reading;
  CHECK(reading.check(TEMPER_PORT_READ_STORAGE) == TEMPER_OK);
  CHECK(reading.ram.operations() == 0);
}

TEST_CASE("a block given by the caller is erased and used, another is refused") {
  TestPort test;
  test.ram.set_bytes(std::vector<uint8_t>(64 * 1024, 0x5A));
  CHECK(test.check(8192) == TEMPER_OK);
  CHECK(test.report.written_block == 8192);
  for (uint32_t i = 0; i < 64 * 1024; ++i) {
    REQUIRE(test.ram.bytes()[i] == (i / 4096 == 2 ? 0xFF : 0x5A));
  }
  CHECK(test.check(100) == TEMPER_INVALID_ARGUMENT);
  CHECK(test.check(64 * 1024) == TEMPER_INVALID_ARGUMENT);
}

TEST_CASE("power that fails during the test costs nothing: the next test cleans up, and a history finds its place") {
  TestPort whole;
  REQUIRE(whole.check() == TEMPER_OK);
  const uint32_t operations = whole.ram.operations();
  REQUIRE(operations > 4);
  for (uint32_t cut = 0; cut < operations; ++cut) {
    TestPort test;
    const std::vector<uint8_t> before = history_bytes(test.ram, 20);
    test.ram.cut_power_after(cut);
    CHECK(test.check() != TEMPER_OK);
    test.ram.restore_power();
    CAPTURE(cut);
    CHECK(test.check() == TEMPER_OK);
    CHECK(test.ram.bytes() == before);
  }
}

TEST_CASE("every legal pair of sizes passes") {
  for (const uint32_t program : {1u, 2u, 8u, 64u, 256u}) {
    for (const uint32_t erase : {256u, 1024u, 32768u}) {
      TestPort test;
      RamStorage ram(65536, program, erase);
      test.port.storage = ram.storage();
      CAPTURE(program);
      CAPTURE(erase);
      CHECK(test.check() == TEMPER_OK);
      CHECK_FALSE(ram.misused());
      CHECK(ram.bytes() == std::vector<uint8_t>(65536, 0xFF));
    }
  }
  TestPort eeprom;  // blocks smaller than what is usually written at once
  RamStorage ram(4096, 4, 16);
  eeprom.port.storage = ram.storage();
  CHECK(eeprom.check() == TEMPER_OK);
}

TEST_CASE("a file is only read, and a port without storage passes") {
  TestPort test;
  RamStorage file(1 << 16, 1, 0);
  test.port.storage = file.storage();
  CHECK(test.check() == TEMPER_OK);
  CHECK(file.operations() == 0);
  file.read_fails = true;
  CHECK(test.check() == TEMPER_STORAGE_ERROR);
  test.port.storage = nullptr;
  CHECK(test.check() == TEMPER_OK);
}

TEST_CASE("threads that leave an index out or repeat one are refused") {
  TestPort test;
  test.port.parallel_for = [](void*, uint32_t count, void (*body)(void*, uint32_t), void* context) {
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < count; ++i) {
      threads.emplace_back(body, context, i);
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  };
  CHECK(test.check() == TEMPER_OK);
  test.port.parallel_for = [](void*, uint32_t count, void (*body)(void*, uint32_t), void* context) {
    for (uint32_t i = 0; i + 1 < count; ++i) {
      body(context, i);
    }
  };
  CHECK(test.check() == TEMPER_PORT_ERROR);
  CHECK(mentions(test.reason(), "parallel_for"));
}

}  // namespace
}  // namespace temper::test
