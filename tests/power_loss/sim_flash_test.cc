#include <doctest/doctest.h>

#include <algorithm>

#include "tests/power_loss/history_reader.h"
#include "tests/power_loss/power_cut.h"
#include "tests/runtime/scanned_history.h"

namespace temper::test {
namespace {

constexpr StorageShape kShape{2048, 8, 512};

temper_status program(const SimFlash& flash, uint32_t offset, const std::vector<uint8_t>& bytes) {
  return flash.storage()->program(flash.storage()->self, offset, bytes.data(), static_cast<uint32_t>(bytes.size()));
}
temper_status erase(const SimFlash& flash, uint32_t offset) {
  return flash.storage()->erase(flash.storage()->self, offset);
}

TEST_CASE("what breaks the contract of a storage is a fault of its own") {
  const auto faults_of = [](auto use) {
    SimFlash flash(kShape, StorageImage(kShape), 1);
    REQUIRE(program(flash, 8, std::vector<uint8_t>(16, 0xFF)) == TEMPER_OK);
    REQUIRE(flash.faults().empty());
    CHECK(use(flash) == TEMPER_STORAGE_ERROR);
    return flash.faults().size();
  };
  const std::vector<uint8_t> unit(8, 0x11);
  CHECK(faults_of([&](const SimFlash& flash) { return program(flash, 4, unit); }) == 1);
  CHECK(faults_of([&](const SimFlash& flash) { return program(flash, 2048, unit); }) == 1);
  CHECK(faults_of([&](const SimFlash& flash) { return program(flash, 0, {1, 2, 3}); }) == 1);
  CHECK(faults_of([&](const SimFlash& flash) { return program(flash, 16, unit); }) == 1);
  CHECK(faults_of([&](const SimFlash& flash) { return erase(flash, 8); }) == 1);
  CHECK(faults_of([&](const SimFlash& flash) { return erase(flash, 2048); }) == 1);
  SimFlash flash(kShape, StorageImage(kShape), 1);
  CHECK(program(flash, 8, unit) == TEMPER_OK);
  CHECK(erase(flash, 0) == TEMPER_OK);
  CHECK(program(flash, 8, unit) == TEMPER_OK);
  CHECK(flash.faults().empty());
}

TEST_CASE("a torn unit holds some of its bits, a torn block has to be erased again") {
  SimFlash flash(kShape, StorageImage(kShape), 1);
  REQUIRE(program(flash, 0, std::vector<uint8_t>(8, 0x0F)) == TEMPER_OK);
  REQUIRE(erase(flash, 0) == TEMPER_OK);
  const StorageImage fresh(kShape);
  uint32_t partly = 0, unsteady = 0, old = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const StorageImage torn = cut_power(kShape, fresh, flash.operations(), 0, Tear::kUnsteady, seed);
    CHECK(std::all_of(torn.bytes.begin(), torn.bytes.begin() + 8, [](uint8_t byte) { return (byte & 0x0F) == 0x0F; }));
    partly += torn.programmed[0] && torn.bytes[0] != 0x0F ? 1 : 0;
    unsteady += std::count(torn.unsteady.begin(), torn.unsteady.end(), 0) != 2048 ? 1 : 0;
    const StorageImage half = cut_power(kShape, fresh, flash.operations(), 1, Tear::kBits, seed);
    old += half.bytes[0] != 0xFF ? 1 : 0;
    SimFlash next(kShape, half, seed);
    CHECK(program(next, 64, std::vector<uint8_t>(8, 0)) == TEMPER_STORAGE_ERROR);
  }
  CHECK(partly > 10);
  CHECK(unsteady > 10);
  CHECK(old > 10);
  CHECK(cut_power(kShape, fresh, flash.operations(), 1, Tear::kNotBegun, 1).bytes[0] == 0x0F);
  CHECK(cut_power(kShape, fresh, flash.operations(), 2, Tear::kNotBegun, 1).bytes == fresh.bytes);
}

TEST_CASE("of a cached flash what was not synced is there in any order, but nothing behind an erase that is not") {
  StorageShape cached = kShape;
  cached.cached = true;
  SimFlash flash(cached, StorageImage(cached), 1);
  REQUIRE(program(flash, 0, std::vector<uint8_t>(8, 1)) == TEMPER_OK);
  REQUIRE(flash.storage()->sync(flash.storage()->self) == TEMPER_OK);
  REQUIRE(program(flash, 512, std::vector<uint8_t>(8, 2)) == TEMPER_OK);
  REQUIRE(erase(flash, 0) == TEMPER_OK);
  REQUIRE(program(flash, 0, std::vector<uint8_t>(8, 3)) == TEMPER_OK);
  bool seen[2][2] = {};
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const StorageImage torn = cut_power(cached, StorageImage(cached), flash.operations(), 5, Tear::kNotBegun, seed);
    seen[torn.bytes[512] == 2][torn.bytes[0] == 3] = true;
    CHECK((torn.bytes[0] == 1 || torn.bytes[0] == 3 || torn.bytes[0] == 0xFF));
  }
  CHECK((seen[0][0] && seen[0][1] && seen[1][0] && seen[1][1]));
}

TEST_CASE("a worn out block fails, or keeps bits") {
  for (const WornOut how : {WornOut::kEraseFails, WornOut::kProgramFails, WornOut::kBitsStick}) {
    SimFlash flash(kShape, StorageImage(kShape), 1);
    flash.wear_out_after(3, how, 1);
    uint32_t erases = 0;
    for (; erases < 10 && !flash.has_failed(); ++erases) {
      const temper_status erased = erase(flash, 512);
      CHECK((erased == TEMPER_OK || how == WornOut::kEraseFails));
      if (erased == TEMPER_OK) {
        const temper_status programmed = program(flash, 512, std::vector<uint8_t>(512, 0xF0));
        CHECK((programmed == TEMPER_OK || how == WornOut::kProgramFails));
      }
    }
    CHECK(erases >= 4);
    CHECK(erases <= 7);
    CHECK(flash.has_failed());
    CHECK(flash.faults().empty());
    CHECK(erase(flash, 1024) == TEMPER_OK);
  }
}

TEST_CASE("a file takes bytes at its end alone, and loses unsynced ones or finds zeros in their place") {
  const StorageShape file{4096, 1, 0};
  SimFlash flash(file, StorageImage(file), 1);
  REQUIRE(program(flash, 0, {1, 2, 3, 4}) == TEMPER_OK);
  CHECK(program(flash, 2, {1}) == TEMPER_STORAGE_ERROR);
  CHECK(flash.faults().size() == 1);
  bool shorter = false, zeros = false;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    for (uint8_t tear = 0; tear < static_cast<uint8_t>(Tear::kCount); ++tear) {
      const StorageImage torn =
          cut_power(file, StorageImage(file), flash.operations(), 0, static_cast<Tear>(tear), seed);
      CHECK(torn.bytes.size() <= 4);
      shorter = shorter || torn.bytes.size() == 2;
      zeros = zeros || (torn.bytes.size() == 4 && torn.bytes[0] == 1 && torn.bytes[3] == 0);
    }
  }
  CHECK(shorter);
  CHECK(zeros);
}

TEST_CASE("the reader of the suites finds what the runtime wrote") {
  SimFlash flash(kShape, StorageImage(kShape), 1);
  {
    ScannedHistory history(flash.storage());
    REQUIRE(history.status.ok());
    std::vector<uint8_t> fingerprint(56, 0), trial(44, 0), intent(20, 0);
    fingerprint[8] = 9;
    trial[0] = intent[0] = 77;
    trial[8] = 55;                // median
    trial[32] = intent[12] = 1;   // knobs
    trial[40] = intent[16] = 3;   // id
    trial[42] = intent[18] = 12;  // value
    REQUIRE(history.append(FrameType::kFingerprint, fingerprint).ok());
    REQUIRE(history.append(FrameType::kIntent, intent).ok());
    REQUIRE(history.append(FrameType::kTrial, trial).ok());
    intent[18] = 13;
    REQUIRE(history.append(FrameType::kIntent, intent).ok());
  }
  const ReadHistory read = read_history(kShape, flash.image());
  CHECK(read.present);
  CHECK(read.frames == 4);
  REQUIRE(read.trials.size() == 1);
  CHECK(read.trials[0].device == 9);
  CHECK(read.trials[0].workload == 77);
  CHECK(read.trials[0].median_ns == 55);
  CHECK(read.trials[0].knobs == ReadKnobs{{3, 12}});
  REQUIRE(read.open_intents().size() == 1);
  CHECK(read.open_intents()[0].knobs == ReadKnobs{{3, 13}});
  CHECK(flash.faults().empty());
}

}  // namespace
}  // namespace temper::test
