#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/crc32.h"
#include "runtime/history.h"
#include "tests/runtime/moved_history.h"
#include "tests/runtime/ram_storage.h"
#include "tests/runtime/scanned_history.h"

namespace temper::test {
namespace {

using Bytes = std::vector<uint8_t>;

struct Geometry {
  uint32_t size, program, erase;
};
constexpr Geometry kGeometries[] = {{8192, 1, 1024}, {8192, 8, 2048}, {8192, 32, 4096}, {16384, 256, 4096}};

// Moves every second of the history's frames to the other region.
Status move_half(History& history) {
  return move_some(history, [](uint32_t index) { return index % 2 == 0; });
}

Bytes payload_of(uint32_t index) { return Bytes(20 + index % 30, static_cast<uint8_t>(index)); }

// `count` frames, numbered from `first` on.
std::vector<Bytes> fill(History& history, uint32_t first, uint32_t count) {
  std::vector<Bytes> written;
  for (uint32_t i = first; i < first + count; ++i) {
    written.push_back(payload_of(i));
    REQUIRE(history.append(FrameType::kTrial, {written.back().data(), written.back().size()}).ok());
  }
  return written;
}

std::vector<Bytes> halved(const std::vector<Bytes>& all) {
  std::vector<Bytes> some;
  for (size_t i = 0; i < all.size(); i += 2) {
    some.push_back(all[i]);
  }
  return some;
}

Bytes header_frame(uint16_t version, uint16_t generation) {
  const uint8_t payload[8] = {'T',
                              'M',
                              'P',
                              'H',
                              static_cast<uint8_t>(version),
                              0,
                              static_cast<uint8_t>(generation),
                              static_cast<uint8_t>(generation >> 8)};
  FrameHeader header{kFrameMagic, 1, sizeof payload, 0, 0};
  Bytes frame(sizeof header + sizeof payload);
  std::memcpy(frame.data(), &header, sizeof header);
  header.crc = crc32(crc32(0, frame.data() + 1, 7), payload, sizeof payload);
  std::memcpy(frame.data(), &header, sizeof header);
  std::copy(std::begin(payload), std::end(payload), frame.begin() + sizeof header);
  return frame;
}

TEST_CASE("flash of two erase blocks or more has two regions, and one block, a file or flash without erase has one") {
  RamStorage two(8192, 8, 4096), odd(5 * 1024, 8, 1024), one(4096, 8, 4096), file(8192, 1, 0), other(8192, 8, 4096);
  const auto region_of = [](const temper_storage* storage) {
    const ScannedHistory scanned(storage);
    CHECK(scanned.status.ok());
    CHECK(scanned.history.generation() == (scanned.history.has_other_region() ? 1 : 0));
    return scanned.history.has_other_region() ? scanned.history.region_bytes() : 0;
  };
  CHECK(region_of(two.storage()) == 4096);
  CHECK(region_of(odd.storage()) == 2048);
  CHECK(region_of(one.storage()) == 0);
  CHECK(region_of(file.storage()) == 0);
  temper_storage fixed = *other.storage();
  fixed.erase = nullptr;
  CHECK(region_of(&fixed) == 0);
}

TEST_CASE("a region takes frames until it is full, and never touches the other") {
  RamStorage ram(8192, 8, 2048);
  ScannedHistory scanned(ram.storage());
  while (scanned.append(FrameType::kTrial, Bytes(100, 3)).ok()) {
  }
  CHECK(scanned.history.failure() == TEMPER_STORAGE_FULL);
  CHECK(scanned.history.room_bytes() < 112);
  CHECK(std::all_of(ram.bytes().begin() + 4096, ram.bytes().end(), [](uint8_t byte) { return byte == 0xFF; }));
}

TEST_CASE("what was moved is the history, numbered anew, and appending goes on behind it") {
  for (const Geometry& geometry : kGeometries) {
    CAPTURE(geometry.program);
    RamStorage ram(geometry.size, geometry.program, geometry.erase);
    std::vector<Bytes> expected;
    for (uint16_t generation = 1; generation < 7; ++generation) {
      CAPTURE(generation);
      ScannedHistory scanned(ram.storage());
      REQUIRE(scanned.status.ok());
      CHECK(scanned.payloads() == expected);
      CHECK(scanned.history.generation() == generation);
      CHECK(scanned.history.place().begin == (generation % 2 == 1 ? 0 : geometry.size / 2));
      const std::vector<Bytes> more = fill(scanned.history, generation * 10u, 6);
      expected.insert(expected.end(), more.begin(), more.end());
      REQUIRE(move_half(scanned.history).ok());
      expected = halved(expected);
      const std::vector<Bytes> behind = fill(scanned.history, generation * 10u + 6, 1);
      expected.insert(expected.end(), behind.begin(), behind.end());
      CHECK(ram.erases() == generation * (geometry.size / 2 / geometry.erase));
    }
    CHECK(ScannedHistory(ram.storage()).frames.front().sequence == 1);
    CHECK_FALSE(ram.misused());
  }
}

TEST_CASE("generations go on behind 65535 with 1") {
  RamStorage ram(8192, 8, 4096);
  Bytes header = header_frame(1, 0xFFFF);
  header.resize(24, 0);
  ram.set_bytes(header);
  for (const uint16_t generation : {uint16_t{0xFFFF}, uint16_t{1}, uint16_t{2}}) {
    ScannedHistory scanned(ram.storage());
    CHECK(scanned.history.generation() == generation);
    CHECK(scanned.history.append(FrameType::kTrial, {}).ok());
    REQUIRE(move_half(scanned.history).ok());
    CHECK(scanned.history.generation() == (generation == 0xFFFF ? 1 : generation + 1));
  }
}

TEST_CASE("power cut at every operation of a move leaves the old frames or the moved ones, whole") {
  for (const Geometry& geometry : kGeometries) {
    CAPTURE(geometry.program);
    for (uint32_t moves = 0; moves < 2; ++moves) {  // into a new region, and into one that was used
      uint32_t old_kept = 0, cuts = 0;
      for (bool cut = true; cut; ++cuts) {
        CAPTURE(cuts);
        RamStorage ram(geometry.size, geometry.program, geometry.erase);
        std::vector<Bytes> before;
        {
          ScannedHistory first(ram.storage());
          before = fill(first.history, 0, 12);
          for (uint32_t i = 0; i < moves; ++i) {
            REQUIRE(move_half(first.history).ok());
            before = halved(before);
          }
          ram.cut_power_after(cuts);
          cut = !move_half(first.history).ok() || !first.history.writable();
        }
        ram.restore_power();
        ScannedHistory second(ram.storage());
        REQUIRE(second.status.ok());
        const bool is_old = second.payloads() == before;
        old_kept += is_old ? 1 : 0;
        REQUIRE((is_old || second.payloads() == halved(before)));
        REQUIRE((cut || !is_old));
        // The next move starts over, whatever the cut one left.
        REQUIRE(second.append(FrameType::kCommit, {1, 2}).ok());
        REQUIRE(move_half(second.history).ok());
        REQUIRE_FALSE(ram.misused());
        REQUIRE(ScannedHistory(ram.storage()).frames.size() ==
                ((is_old ? before.size() : halved(before).size()) + 2) / 2);
      }
      CHECK(old_kept > 5);
      CHECK(old_kept < cuts);
    }
  }
}

TEST_CASE("a header that power cut counts always or never, also where it reads in another way at each boot") {
  RamStorage ram(8192, 8, 2048);
  std::vector<Bytes> before;
  uint32_t programs = 0;
  {
    ScannedHistory scanned(ram.storage());
    before = fill(scanned.history, 0, 8);
    programs = ram.operations();
    REQUIRE(move_half(scanned.history).ok());
    programs = ram.operations() - programs;
  }
  // The header is three units, the second header the last three: cut inside either.
  for (const bool first : {true, false}) {
    for (const bool seen_at_first : {true, false}) {
      CAPTURE(first);
      CAPTURE(seen_at_first);
      RamStorage flash(8192, 8, 2048);
      {
        ScannedHistory scanned(flash.storage());
        fill(scanned.history, 0, 8);
        flash.cut_power_after(programs - (first ? 5 : 2));
        (void)move_half(scanned.history);
      }
      flash.restore_power();
      const Bytes whole = header_frame(1, 2), torn(flash.bytes().begin() + 4096, flash.bytes().begin() + 4116);
      const auto read_as = [&](bool is_whole) {
        if (first && flash.bytes()[4096] != 0xFF) {
          const Bytes& header = is_whole ? whole : torn;
          std::copy(header.begin(), header.end(), flash.bytes().begin() + 4096);
        }
      };
      read_as(seen_at_first);
      std::vector<Bytes> expected;
      {
        ScannedHistory second(flash.storage());
        REQUIRE(second.status.ok());
        expected = second.payloads();
        CHECK(expected == (seen_at_first || !first ? halved(before) : before));
        REQUIRE(second.append(FrameType::kCommit, {1, 2}).ok());
        expected.push_back({1, 2});
      }
      read_as(!seen_at_first);
      CHECK(ScannedHistory(flash.storage()).payloads() == expected);
    }
  }
}

TEST_CASE("a damaged header costs no frame: neither before the first move nor behind one") {
  for (uint32_t moves = 0; moves < 3; ++moves) {
    for (uint32_t at = 0; at < 24; ++at) {
      CAPTURE(moves);
      CAPTURE(at);
      RamStorage ram(8192, 8, 2048);
      std::vector<Bytes> expected;
      uint32_t begin = 0;
      {
        ScannedHistory scanned(ram.storage());
        expected = fill(scanned.history, 0, 12);
        for (uint32_t i = 0; i < moves; ++i) {
          REQUIRE(move_half(scanned.history).ok());
          expected = halved(expected);
        }
        begin = scanned.history.place().begin;
      }
      ram.bytes()[begin + at] ^= 0x10;
      ScannedHistory again(ram.storage());
      REQUIRE(again.status.ok());
      CHECK(again.payloads() == expected);
      REQUIRE(move_half(again.history).ok());
      CHECK(ScannedHistory(ram.storage()).payloads() == halved(expected));
    }
  }
}

TEST_CASE("where power failed between the two headers the next start writes the second, which is then relied on") {
  constexpr uint32_t kHeaderUnits = 3;
  uint32_t operations = 0;
  for (const bool cut : {false, true}) {
    RamStorage ram(8192, 8, 2048);
    std::vector<Bytes> expected;
    {
      ScannedHistory scanned(ram.storage());
      expected = halved(fill(scanned.history, 0, 12));
      const uint32_t before = ram.operations();
      if (cut) {
        ram.cut_power_after(operations - kHeaderUnits);
      }
      CHECK(move_half(scanned.history).ok() == !cut);
      operations = ram.operations() - before;
    }
    ram.restore_power();
    const uint32_t written = ram.operations();
    CHECK(ScannedHistory(ram.storage()).payloads() == expected);
    CHECK(ram.operations() - written == (cut ? kHeaderUnits : 0));
    CHECK(ScannedHistory(ram.storage()).payloads() == expected);
    CHECK(ram.operations() - written == (cut ? kHeaderUnits : 0));
    ram.bytes()[4096] ^= 0x10;  // the first header no longer reads as whole
    ScannedHistory again(ram.storage());
    CHECK(again.payloads() == expected);
    CHECK(again.history.generation() == 2);
    CHECK_FALSE(ram.misused());
  }
}

TEST_CASE("a move that cannot erase, or whose frames are not kept, leaves the old region in use, for reading alone") {
  for (const bool erase : {true, false}) {
    RamStorage ram(8192, 8, 2048);
    ScannedHistory scanned(ram.storage());
    const std::vector<Bytes> written = fill(scanned.history, 0, 12);
    if (erase) {
      ram.unerasable_offset = 6144;
    } else {
      ram.stuck_offset = 4096 + 24 + 1;  // the type of the first frame that is moved: it is odd
    }
    CHECK(move_half(scanned.history) == TEMPER_STORAGE_ERROR);
    CHECK_FALSE(scanned.history.writable());
    uint32_t seen = 0;
    CHECK(scanned.history.rescan(&seen, [](void* self, const FrameView&) { ++*static_cast<uint32_t*>(self); }).ok());
    CHECK(seen == written.size() + 1);
    CHECK(ScannedHistory(ram.storage()).payloads() == written);
  }
}

TEST_CASE("a history from before there were regions is read to its end, wherever that is, and stays in one") {
  RamStorage ram(8192, 8, 2048);
  temper_storage without_regions = *ram.storage();
  without_regions.erase = nullptr;
  std::vector<Bytes> written;
  {
    ScannedHistory old(&without_regions);
    written = fill(old.history, 0, 120);
    REQUIRE(old.history.place().end > 4096);
  }
  ScannedHistory scanned(ram.storage());
  CHECK(scanned.status.ok());
  CHECK(scanned.payloads() == written);
  CHECK_FALSE(scanned.history.has_other_region());
  CHECK(scanned.history.region_bytes() == 8192);
}

TEST_CASE("a header of another version in either region is left alone, with all that is there") {
  for (const uint32_t offset : {0u, 4096u}) {
    RamStorage ram(8192, 8, 4096);
    REQUIRE(ScannedHistory(ram.storage()).append(FrameType::kTrial, {1}).ok());
    const Bytes header = header_frame(2, 9);
    std::copy(header.begin(), header.end(), ram.bytes().begin() + offset);
    const Bytes before = ram.bytes();
    ScannedHistory scanned(ram.storage());
    CHECK(scanned.status == TEMPER_BAD_VERSION);
    CHECK_FALSE(scanned.history.writable());
    CHECK(ram.bytes() == before);
  }
}

}  // namespace
}  // namespace temper::test
