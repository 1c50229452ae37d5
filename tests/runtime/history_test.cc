#include "runtime/history.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "runtime/crc32.h"
#include "runtime/random.h"
#include "tests/runtime/ram_storage.h"
#include "tests/runtime/scanned_history.h"

namespace temper::test {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr uint32_t kHeaderBytes = 20;

// Payloads that try the scanner: empty, of 0xFF (looks erased), of magic bytes, of odd lengths, the longest.
Bytes payload_of(uint32_t index) {
  switch (index % 6) {
    case 0:
      return Bytes(37 + index, static_cast<uint8_t>(index));
    case 1:
      return Bytes(9, 0xFF);
    case 2:
      return Bytes(21, kFrameMagic);
    case 3:
      return {};
    case 4:
      return Bytes(kMaxPayload - 1, 0xFF);
    default:
      return Bytes(64, static_cast<uint8_t>(0x80 + index));
  }
}

std::vector<Bytes> fill(RamStorage& ram, uint32_t frame_count) {
  std::vector<Bytes> written;
  ScannedHistory scanned(ram.storage());
  REQUIRE(scanned.status.ok());
  for (uint32_t i = 0; i < frame_count; ++i) {
    written.push_back(payload_of(i));
    REQUIRE(scanned.append(FrameType::kTrial, written.back()).ok());
  }
  return written;
}

struct Frame {
  uint32_t offset, bytes;
};

// Where the frames of an undamaged file lie, header included.
std::vector<Frame> frames_of(const Bytes& file) {
  std::vector<Frame> frames;
  for (uint32_t offset = 0; offset < file.size();) {
    FrameHeader header;
    std::memcpy(&header, file.data() + offset, sizeof header);
    const uint32_t bytes = static_cast<uint32_t>(sizeof header) + header.bytes;
    frames.push_back({offset, bytes});
    offset += bytes;
  }
  return frames;
}

constexpr uint8_t kFlips[] = {0x01, 0x80, 0xFF};

Bytes joined(const Bytes& first, const Bytes& second) {
  Bytes both(first.size() + second.size());
  std::copy(first.begin(), first.end(), both.begin());
  std::copy(second.begin(), second.end(), both.begin() + static_cast<long>(first.size()));
  return both;
}

Bytes frame_bytes(uint8_t type, uint32_t sequence, const Bytes& payload) {
  Bytes frame(sizeof(FrameHeader));
  FrameHeader header{kFrameMagic, type, static_cast<uint16_t>(payload.size()), sequence, 0};
  std::memcpy(frame.data(), &header, sizeof header);
  header.crc = crc32(crc32(0, frame.data() + 1, 7), payload.data(), payload.size());
  std::memcpy(frame.data(), &header, sizeof header);
  return joined(frame, payload);
}

bool holds_in_order(const std::vector<Bytes>& all, const std::vector<Bytes>& some) {
  size_t next = 0;
  for (const Bytes& payload : all) {
    next += next < some.size() && payload == some[next] ? 1 : 0;
  }
  return next == some.size();
}

// A foreign storage is refused, and not a byte of it changes.
void check_refused(const Bytes& content, temper_status expected) {
  RamStorage ram(1 << 16, 1, 0);
  ram.set_bytes(content);
  ScannedHistory scanned(ram.storage());
  CHECK(scanned.status == expected);
  CHECK_FALSE(scanned.history.writable());
  CHECK(scanned.append(FrameType::kTrial, {1}) == expected);
  CHECK(ram.program_calls() == 0);
  CHECK(ram.bytes() == content);
}

struct Geometry {
  uint32_t size, program, erase;
};
constexpr Geometry kGeometries[] = {{1 << 15, 1, 0},    {1 << 14, 1, 4096},  {1 << 14, 4, 4096},
                                    {1 << 14, 8, 2048}, {1 << 14, 32, 4096}, {1 << 15, 256, 4096}};

TEST_CASE("an empty storage gets a header, and frames come back in order") {
  for (const Geometry& geometry : kGeometries) {
    CAPTURE(geometry.program);
    RamStorage ram(geometry.size, geometry.program, geometry.erase);
    const std::vector<Bytes> written = fill(ram, 12);
    ScannedHistory again(ram.storage());
    CHECK(again.status.ok());
    CHECK(again.aligned);
    CHECK(again.payloads() == written);
    CHECK(again.report.frames == written.size() + 1);
    CHECK(again.report.damaged_bytes == 0);
    CHECK(again.frames.front().sequence == 1);
    CHECK(again.frames.back().sequence == 12);
    CHECK(again.append(FrameType::kCommit, {1, 2, 3}).ok());
    CHECK_FALSE(ram.misused());
    CHECK(ScannedHistory(ram.storage()).frames.back() == ScannedFrame{FrameType::kCommit, 13, {1, 2, 3}});
  }
}

TEST_CASE("the header frame is the magic text and the version under a sound CRC") {
  RamStorage ram(4096, 1, 0);
  ScannedHistory scanned(ram.storage());
  CHECK(scanned.report.frames == 0);
  CHECK(scanned.report.end_offset == kHeaderBytes);
  CHECK(ram.bytes() == frame_bytes(1, 0, {'T', 'M', 'P', 'H', kHistoryVersion & 0xFF, kHistoryVersion >> 8, 0, 0}));
}

TEST_CASE("every append is synced") {
  RamStorage ram(4096, 1, 0);
  fill(ram, 5);
  CHECK(ram.syncs() == 6);
}

TEST_CASE("every whole frame survives a power cut at every program operation, and the history goes on behind it") {
  for (const Geometry& geometry : kGeometries) {
    CAPTURE(geometry.program);
    RamStorage whole(geometry.size, geometry.program, geometry.erase);
    fill(whole, 7);
    for (uint32_t cut = 0; cut < whole.operations(); ++cut) {
      CAPTURE(cut);
      RamStorage ram(geometry.size, geometry.program, geometry.erase);
      ram.cut_power_after(cut);
      std::vector<Bytes> kept;
      {
        ScannedHistory first(ram.storage());
        for (uint32_t i = 0; i < 7 && first.append(FrameType::kTrial, payload_of(i)).ok(); ++i) {
          kept.push_back(payload_of(i));
        }
        CHECK_FALSE(first.history.writable());
      }
      // A second cut, soon after the restart, falls into the recovery's own writing.
      ram.restore_power();
      ram.cut_power_after(3);
      {
        ScannedHistory second(ram.storage());
        if (second.append(FrameType::kIntent, payload_of(3)).ok()) {
          kept.push_back(payload_of(3));
        }
      }
      ram.restore_power();
      ScannedHistory third(ram.storage());
      REQUIRE(third.status.ok());
      REQUIRE(third.append(FrameType::kTrial, payload_of(5)).ok());
      REQUIRE_FALSE(ram.misused());
      ScannedHistory fourth(ram.storage());
      const std::vector<Bytes> found = fourth.payloads();
      // The frame that was cut may have become whole with its last byte; then it is kept although its append failed.
      REQUIRE(found.size() >= kept.size() + 1);
      REQUIRE(found.size() <= kept.size() + 3);
      CHECK(holds_in_order(found, kept));
      CHECK(found.back() == payload_of(5));
    }
  }
}

TEST_CASE("a flipped byte loses the frame it hits and no other") {
  RamStorage source(1 << 15, 1, 0);
  const std::vector<Bytes> written = fill(source, 12);
  const Bytes file = source.bytes();
  const std::vector<Frame> frames = frames_of(file);
  REQUIRE(frames.size() == written.size() + 1);
  for (uint32_t hit = 0; hit < frames.size(); ++hit) {
    for (uint32_t at = frames[hit].offset; at < frames[hit].offset + frames[hit].bytes; ++at) {
      for (const uint8_t flip : kFlips) {
        CAPTURE(at);
        RamStorage ram(1 << 15, 1, 0);
        Bytes damaged = file;
        damaged[at] ^= flip;
        ram.set_bytes(damaged);
        ScannedHistory scanned(ram.storage());
        std::vector<Bytes> expected = written;
        if (hit != 0) {
          expected.erase(expected.begin() + hit - 1);
        }
        REQUIRE(scanned.status.ok());
        REQUIRE(scanned.payloads() == expected);
        REQUIRE(scanned.aligned);
        REQUIRE(scanned.report.end_offset >= file.size());
        REQUIRE(scanned.history.writable());
      }
    }
  }
}

TEST_CASE("a file truncated anywhere keeps the frames before, and the next append loses nothing") {
  RamStorage source(1 << 15, 1, 0);
  const std::vector<Bytes> written = fill(source, 12);
  const Bytes file = source.bytes();
  const std::vector<Frame> frames = frames_of(file);
  for (uint32_t length = 0; length <= file.size(); ++length) {
    CAPTURE(length);
    RamStorage ram(1 << 15, 1, 0);
    const Bytes tail(file.begin(), file.begin() + length);
    ram.set_bytes(tail);
    std::vector<Bytes> expected;
    for (uint32_t i = 1; i < frames.size() && frames[i].offset + frames[i].bytes <= length; ++i) {
      expected.push_back(written[i - 1]);
    }
    ScannedHistory scanned(ram.storage());
    REQUIRE(scanned.status.ok());
    REQUIRE(scanned.payloads() == expected);
    REQUIRE(scanned.append(FrameType::kTrial, {7, 7}).ok());
    REQUIRE(Bytes(ram.bytes().begin(), ram.bytes().begin() + length) == tail);
    std::vector<Bytes> found = ScannedHistory(ram.storage()).payloads();
    REQUIRE(found.back() == Bytes{7, 7});
    found.pop_back();
    // What is filled up behind a torn frame may happen to be what it lacked; then it is whole.
    if (found.size() == expected.size() + 1) {
      expected.push_back(written[expected.size()]);
    }
    REQUIRE(found == expected);
  }
}

TEST_CASE("what a torn frame becomes when it is filled up has no number of another frame") {
  RamStorage ram(4096, 1, 0);
  {
    ScannedHistory scanned(ram.storage());
    REQUIRE(scanned.append(FrameType::kTrial, {1, 2, 3, 0, 0}).ok());
  }
  for (int cut = 0; cut < 3; ++cut) {
    Bytes torn = ram.bytes();
    torn.resize(torn.size() - 2);  // zeros, which the next append fills in again
    ram.set_bytes(torn);
    ScannedHistory scanned(ram.storage());
    REQUIRE(scanned.append(FrameType::kTrial, {1, 2, 3, 0, 0}).ok());
  }
  const ScannedHistory all(ram.storage());
  REQUIRE(all.frames.size() == 4);
  for (size_t i = 1; i < all.frames.size(); ++i) {
    CHECK(all.frames[i].sequence > all.frames[i - 1].sequence);
  }
}

TEST_CASE("whatever is damaged, nothing is written over, and what is appended afterwards is found") {
  constexpr uint32_t kSeed = 2024;
  INFO("seed " << kSeed);
  Random random(kSeed);
  uint32_t went_on = 0;
  for (uint32_t round = 0; round < 1500; ++round) {
    const Geometry& geometry = kGeometries[round % 4];
    RamStorage ram(geometry.size, geometry.program, geometry.erase);
    fill(ram, 6);
    Bytes& bytes = ram.bytes();
    const uint32_t used = ScannedHistory(ram.storage()).report.end_offset;
    for (uint32_t hits = 1 + random.below(40); hits > 0; --hits) {
      bytes[random.below(used)] = static_cast<uint8_t>(random.below(4) == 0 ? kFrameMagic : random.next());
    }
    if (geometry.erase == 0) {
      bytes.resize(random.below(2) == 0 ? used : random.below(used));
      ram.set_bytes(Bytes(bytes));
    }
    const Bytes before = bytes;
    ScannedHistory scanned(ram.storage());
    REQUIRE((scanned.status.ok() || scanned.status == TEMPER_BAD_DATA || scanned.status == TEMPER_BAD_VERSION));
    if (!scanned.status.ok()) {
      REQUIRE(bytes == before);
      continue;
    }
    ++went_on;
    REQUIRE(scanned.append(FrameType::kCommit, {4, 2}).ok());
    REQUIRE_FALSE(ram.misused());
    REQUIRE(ScannedHistory(ram.storage()).frames.back().payload == Bytes{4, 2});
  }
  CHECK(went_on > 500);
}

TEST_CASE("a history of another version is refused and left alone") {
  const Bytes content =
      joined(frame_bytes(1, 0, {'T', 'M', 'P', 'H', kHistoryVersion + 1, 0, 0, 0}), frame_bytes(5, 1, {1, 2, 3}));
  check_refused(content, TEMPER_BAD_VERSION);
}

TEST_CASE("foreign bytes are refused and left alone") {
  const std::string text = "PNG, a letter, or whatever a mistyped path names";
  check_refused(Bytes(text.begin(), text.end()), TEMPER_BAD_DATA);
  check_refused({'T'}, TEMPER_BAD_DATA);
  check_refused(Bytes(300, 0x00), TEMPER_BAD_DATA);
  check_refused(Bytes(5000, 0xFF), TEMPER_BAD_DATA);
  check_refused(Bytes(5000, kFrameMagic), TEMPER_BAD_DATA);
  RamStorage inner(4096, 1, 0);
  fill(inner, 4);
  check_refused(joined(Bytes(512, 'a'), inner.bytes()), TEMPER_BAD_DATA);
  // A first frame that says it is a header, but is none of ours.
  check_refused(frame_bytes(1, 0, {'T', 'M', 'P', 'X', 1, 0, 0, 0}), TEMPER_BAD_DATA);
}

TEST_CASE("flash that holds something else is refused and left alone") {
  for (const uint32_t offset : {0u, 64u, 8191u}) {
    RamStorage ram(8192, 8, 4096);
    ram.bytes()[offset] = 0x5A;
    const Bytes before = ram.bytes();
    ScannedHistory scanned(ram.storage());
    CHECK(scanned.status == TEMPER_BAD_DATA);
    CHECK(ram.bytes() == before);
  }
}

TEST_CASE("a half-programmed header on flash is taken for one") {
  RamStorage ram(8192, 8, 4096);
  ram.bytes()[0] = kFrameMagic | 0x81;  // two bits not programmed yet
  ScannedHistory scanned(ram.storage());
  CHECK(scanned.status.ok());
  CHECK(scanned.append(FrameType::kTrial, {1}).ok());
  CHECK(ScannedHistory(ram.storage()).payloads() == std::vector<Bytes>{{1}});
}

TEST_CASE("a header on flash of which any byte is missing is taken for a torn one, not for foreign data") {
  for (uint32_t kept = 1; kept < 8; ++kept) {  // a bit for each unit: cached flash persists them in any order
    RamStorage ram(8192, 8, 4096);
    const Bytes header = [] {
      RamStorage whole(8192, 8, 4096);
      return ScannedHistory(whole.storage()).status.ok() ? whole.bytes() : Bytes();
    }();
    for (uint32_t i = 0; i < 24; ++i) {
      ram.bytes()[i] = (kept >> i / 8 & 1u) != 0 && i % 3 != 0 ? header[i] : uint8_t{0xFF};
    }
    ScannedHistory scanned(ram.storage());
    CHECK(scanned.status.ok());
    CHECK(scanned.append(FrameType::kTrial, {1}).ok());
    CHECK(ScannedHistory(ram.storage()).payloads() == std::vector<Bytes>{{1}});
  }
}

TEST_CASE("zeros that a file system left in place of the header are taken for one") {
  for (const uint32_t length : {1u, 19u, 20u}) {
    RamStorage ram(8192, 1, 0);
    ram.set_bytes(Bytes(length, 0));
    ScannedHistory scanned(ram.storage());
    CHECK(scanned.status.ok());
    CHECK(scanned.append(FrameType::kTrial, {1}).ok());
    CHECK(ScannedHistory(ram.storage()).payloads() == std::vector<Bytes>{{1}});
  }
  check_refused(Bytes(21, 0), TEMPER_BAD_DATA);
}

TEST_CASE("a frame type of a later build is kept, shown and appended behind") {
  RamStorage ram(4096, 1, 0);
  fill(ram, 1);
  ram.set_bytes(joined(ram.bytes(), frame_bytes(200, 2, {9, 9, 9})));
  ScannedHistory scanned(ram.storage());
  CHECK(scanned.status.ok());
  REQUIRE(scanned.frames.size() == 2);
  CHECK(static_cast<int>(scanned.frames[1].type) == 200);
  CHECK(scanned.append(FrameType::kTrial, {1}).ok());
  CHECK(ScannedHistory(ram.storage()).frames.size() == 3);
}

TEST_CASE("a frame of the header's type that bears another name is passed over, behind the first frame") {
  RamStorage ram(1 << 15, 1, 0);
  {
    ScannedHistory scanned(ram.storage());
    REQUIRE(scanned.append(FrameType::kTrial, payload_of(1)).ok());
    REQUIRE(scanned.append(FrameType::kHeader, Bytes(28, 3)).ok());
    REQUIRE(scanned.append(FrameType::kTrial, payload_of(2)).ok());
  }
  ScannedHistory scanned(ram.storage());
  REQUIRE(scanned.status.ok());
  CHECK(scanned.payloads() == std::vector<Bytes>{payload_of(1), payload_of(2)});
  CHECK(scanned.append(FrameType::kTrial, payload_of(3)).ok());
}

TEST_CASE("after the first failed append the history is memory-only") {
  RamStorage ram(4096, 1, 0);
  ScannedHistory scanned(ram.storage());
  SUBCASE("read-only") {
    ram.read_only = true;
    CHECK(scanned.append(FrameType::kTrial, {1}) == TEMPER_STORAGE_ERROR);
    ram.read_only = false;
    CHECK(scanned.append(FrameType::kTrial, {1}) == TEMPER_STORAGE_ERROR);
    CHECK(scanned.history.failure() == TEMPER_STORAGE_ERROR);
    CHECK(ram.program_calls() == 2);  // the header's and the one that failed
  }
  SUBCASE("full in the middle of a frame") {
    ram.room_bytes = 7;
    CHECK(scanned.append(FrameType::kTrial, Bytes(50, 1)) == TEMPER_STORAGE_FULL);
    ram.room_bytes = UINT32_MAX;
    CHECK(scanned.append(FrameType::kTrial, {1}) == TEMPER_STORAGE_FULL);
    CHECK(ScannedHistory(ram.storage()).frames.empty());
  }
  SUBCASE("sync fails") {
    ram.sync_fails = true;
    CHECK(scanned.append(FrameType::kTrial, {1}) == TEMPER_STORAGE_ERROR);
  }
  SUBCASE("the storage does not keep what was written") {
    ram.stuck_offset = kHeaderBytes + sizeof(FrameHeader) + 40;
    CHECK(scanned.append(FrameType::kTrial, Bytes(50, 0xFF)) == TEMPER_STORAGE_ERROR);
  }
  CHECK_FALSE(scanned.history.writable());
}

TEST_CASE("a history takes frames until its capacity is reached") {
  RamStorage ram(2048, 8, 2048);
  ScannedHistory scanned(ram.storage());
  uint32_t kept = 0;
  while (scanned.append(FrameType::kTrial, Bytes(100, 3)).ok()) {
    ++kept;
  }
  CHECK(scanned.history.failure() == TEMPER_STORAGE_FULL);
  CHECK(kept == (2048 - 24) / 112);
  CHECK_FALSE(ram.misused());
  CHECK(ScannedHistory(ram.storage()).frames.size() == kept);
}

TEST_CASE("a payload that is too long is refused and the history stays writable") {
  RamStorage ram(1 << 14, 1, 0);
  ScannedHistory scanned(ram.storage());
  CHECK(scanned.append(FrameType::kTrial, Bytes(kMaxPayload + 1, 1)) == TEMPER_INVALID_ARGUMENT);
  CHECK(scanned.append(FrameType::kTrial, Bytes(kMaxPayload, 1)).ok());
  CHECK(ScannedHistory(ram.storage()).payloads() == std::vector<Bytes>{Bytes(kMaxPayload, 1)});
}

TEST_CASE("a storage that cannot be read, and a new one that cannot be written, say so at once") {
  RamStorage unreadable(4096, 8, 4096);
  unreadable.read_fails = true;
  ScannedHistory first(unreadable.storage());
  CHECK(first.status == TEMPER_STORAGE_ERROR);
  CHECK(first.append(FrameType::kTrial, {1}) == TEMPER_STORAGE_ERROR);
  RamStorage unwritable(4096, 8, 4096);
  unwritable.read_only = true;
  ScannedHistory second(unwritable.storage());
  CHECK(second.status == TEMPER_STORAGE_ERROR);
  CHECK_FALSE(second.history.writable());
}

TEST_CASE("a storage or buffer that breaks its contract is refused") {
  RamStorage ram(4096, 8, 4096);
  temper_storage broken = *ram.storage();
  SUBCASE("program size of 0") { broken.program_bytes = 0; }
  SUBCASE("program size that is no power of two") { broken.program_bytes = 24; }
  SUBCASE("program size too large") { broken.program_bytes = 512; }
  SUBCASE("capacity that is no multiple") { broken.size_bytes = 4097; }
  SUBCASE("capacity beyond 2^31") { broken.size_bytes = 0x80000100u; }
  SUBCASE("no read") { broken.read = nullptr; }
  SUBCASE("no program") { broken.program = nullptr; }
  SUBCASE("no sync") { broken.sync = nullptr; }
  CHECK(ScannedHistory(&broken).status == TEMPER_INVALID_ARGUMENT);
  uint8_t small[history_buffer_bytes(8) - 1];
  History history;
  ScanReport report;
  CHECK(history.open(ram.storage(), small, nullptr, nullptr, &report) == TEMPER_INVALID_ARGUMENT);
  CHECK(history.open(nullptr, small, nullptr, nullptr, &report) == TEMPER_INVALID_ARGUMENT);
}

TEST_CASE("a rescan shows what was there and what was appended since, and appending goes on behind it") {
  RamStorage flash(4096, 8, 1024), file(4096, 1, 0);
  for (RamStorage* ram : {&flash, &file}) {
    CHECK(ScannedHistory(ram->storage()).append(FrameType::kTrial, {1, 2, 3}).ok());
    std::vector<uint8_t> torn = ram->bytes();
    if (ram == &file) {
      torn.insert(torn.end(), {0x7E, 5, 9, 0, 0});  // of a frame that a power cut tore
      ram->set_bytes(torn);
    }
    ScannedHistory scanned(ram->storage());
    std::vector<Bytes> seen;
    const auto visit = [](void* context, const FrameView& frame) {
      if (frame.type != FrameType::kHeader) {
        static_cast<std::vector<Bytes>*>(context)->emplace_back(frame.payload.begin(), frame.payload.end());
      }
    };
    CHECK(scanned.history.rescan(&seen, visit).ok());
    CHECK(seen == std::vector<Bytes>{{1, 2, 3}});
    CHECK(scanned.append(FrameType::kTrial, {4}).ok());
    seen.clear();
    CHECK(scanned.history.rescan(&seen, visit).ok());
    CHECK(seen == std::vector<Bytes>{{1, 2, 3}, {4}});
    CHECK(scanned.append(FrameType::kTrial, {5}).ok());
    CHECK(ScannedHistory(ram->storage()).payloads() == std::vector<Bytes>{{1, 2, 3}, {4}, {5}});
    CHECK_FALSE(ram->misused());
  }
  History none;
  CHECK(none.rescan(nullptr, nullptr).ok());
}

TEST_CASE("a history without storage keeps nothing and says so") {
  History history;
  CHECK_FALSE(history.writable());
  const uint8_t byte = 1;
  CHECK(history.append(FrameType::kTrial, {&byte, 1}) == TEMPER_NOT_FOUND);
}

}  // namespace
}  // namespace temper::test
