// Two regions in an image of flash or a dump of it: the newer counts, and nothing of the older is taken for it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "runtime/crc32.h"
#include "tests/runtime/moved_history.h"
#include "tests/runtime/ram_storage.h"
#include "tests/tools/history_samples.h"
#include "tools/history_records.h"

namespace temper {
namespace {

using Bytes = std::vector<uint8_t>;
constexpr size_t kRegionBytes = 4096;
constexpr size_t kHeaderBytes = sizeof(FrameHeader) + 8;

/// A history as a board keeps it in one of two regions.
Bytes region(uint64_t seed, uint16_t generation) {
  Bytes bytes = test::sample_history(seed);
  std::memcpy(bytes.data() + kHeaderBytes - 2, &generation, sizeof generation);
  const uint32_t crc = crc32(crc32(0, bytes.data() + 1, 7), bytes.data() + sizeof(FrameHeader), 8);
  std::memcpy(bytes.data() + 8, &crc, sizeof crc);
  REQUIRE(bytes.size() < kRegionBytes - 100);
  bytes.resize(kRegionBytes, 0xFF);
  return bytes;
}

/// A compaction that power ended: all frames are there, the header is not.
Bytes headless(Bytes bytes) {
  std::fill_n(bytes.begin(), kHeaderBytes, uint8_t{0xFF});
  return bytes;
}

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Result<HistorySource> parsed(const Bytes& bytes, std::optional<uint64_t> offset = std::nullopt) {
  return parse_history("F", {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, offset);
}

bool holds(const Result<HistorySource>& source, uint64_t seed) {
  REQUIRE(source);
  const HistoryRecords got = read_records(*source);
  const Result<HistorySource> sample = parsed(test::sample_history(seed));
  REQUIRE(sample);
  const HistoryRecords expected = read_records(*sample);
  const auto same = [](const std::vector<HistoryRecord>& a, const std::vector<HistoryRecord>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const HistoryRecord& x, const HistoryRecord& y) {
      return x.fingerprint == y.fingerprint && x.payload == y.payload;
    });
  };
  return same(got.trials, expected.trials) && same(got.commits, expected.commits) && got.lost_frames == 0 &&
         got.damaged_bytes == 0;
}

std::string remarks_of(const Result<HistorySource>& source) {
  std::string all;
  for (const std::string& remark : source->remarks) {
    all += remark + "\n";
  }
  return all;
}

TEST_CASE("of two regions the newer generation is read, wherever it lies, and the numbers start again behind 65535") {
  struct Pair {
    uint16_t first, second;
    uint64_t read;
  };
  for (const Pair& pair : {Pair{4, 5, 2}, Pair{5, 4, 1}, Pair{65535, 1, 2}, Pair{1, 65535, 1}, Pair{1, 2, 2}}) {
    CAPTURE(pair.first);
    const Bytes image = region(1, pair.first) + region(2, pair.second);
    const Bytes flash = Bytes(512, 'x') + image + Bytes(3000, 0xFF);
    const uint16_t newer = pair.read == 1 ? pair.first : pair.second;
    const size_t at = pair.read == 1 ? 0 : kRegionBytes;
    for (const Result<HistorySource>& source : {parsed(image), parsed(flash)}) {
      CHECK(holds(source, pair.read));
      CHECK(source->generation == newer);
      CHECK(source->form == HistoryForm::kFlashImage);
      CHECK(remarks_of(source).find("the newer, is read") != std::string::npos);
    }
    CHECK(parsed(image)->offset == at);
    CHECK(parsed(flash)->offset == 512 + at);
    const std::string log = "boot\n" + test::console_dump(image);
    const Result<HistorySource> dump = parse_history("F", log);
    CHECK(holds(dump, pair.read));
    CHECK(dump->form == HistoryForm::kConsoleLog);
    CHECK(holds(parsed(image, 0), 1));
    CHECK(holds(parsed(image, kRegionBytes), 2));
    CHECK(holds(parsed(flash, 512), 1));
  }
}

TEST_CASE("one region alone is read as it is") {
  CHECK(holds(parsed(region(1, 1)), 1));
  const Result<HistorySource> second = parsed(Bytes(kRegionBytes, 0xFF) + region(3, 2));
  CHECK(holds(second, 3));
  CHECK(second->generation == 2);
}

TEST_CASE("a compaction that power ended is not read, before or behind the region that counts") {
  const Result<HistorySource> behind = parsed(region(1, 1) + headless(region(2, 2)));
  CHECK(holds(behind, 1));
  CHECK(remarks_of(behind).find("a compaction that power ended") != std::string::npos);
  const Result<HistorySource> before = parsed(headless(region(1, 3)) + region(2, 2));
  CHECK(holds(before, 2));
  CHECK(before->offset == kRegionBytes);
}

TEST_CASE("a region that is full to its last byte ends where the other begins") {
  Bytes first = region(1, 7);
  while (first.back() == 0xFF) {
    first.pop_back();
  }
  const Result<HistorySource> source = parsed(first + region(2, 6));
  CHECK(holds(source, 1));
}

TEST_CASE("where the newer region is damaged, the older is offered, not mixed in") {
  Bytes image = region(1, 4) + region(2, 5);
  image[kRegionBytes + 500] ^= 0x55;
  const Result<HistorySource> source = parsed(image);
  REQUIRE(source);
  CHECK(source->generation == 5);
  CHECK(read_records(*source).damaged_bytes > 0);
  CHECK(remarks_of(source).find("is damaged; what was before it is read with --offset 0") != std::string::npos);
}

TEST_CASE("regions whose generations do not follow each other are of two storages: one has to be named") {
  const Bytes image = region(1, 4) + region(2, 9);
  const Result<HistorySource> source = parsed(image);
  REQUIRE_FALSE(source.ok());
  CHECK(source.error().message.find("2 histories lie in it, at offsets 0, 4096") != std::string::npos);
  CHECK(holds(parsed(image, 4096), 2));
}

using Frames = std::vector<std::pair<uint32_t, Bytes>>;

Frames frames_on_device(const Bytes& bytes, uint32_t program, uint32_t erase) {
  test::RamStorage flash(static_cast<uint32_t>(bytes.size()), program, erase);
  flash.set_bytes(bytes);
  Frames frames;
  alignas(8) uint8_t buffer[kHistoryBufferBytes];
  History history;
  ScanReport report{};
  const auto visit = [](void* self, const FrameView& frame) {
    static_cast<Frames*>(self)->push_back({frame.sequence, {frame.payload.begin(), frame.payload.end()}});
  };
  const Status opened = history.open(flash.storage(), {buffer, sizeof buffer}, &frames, visit, &report);
  REQUIRE((opened.ok() || frames.empty()));  // it cannot put a header where the test has filled the flash
  return frames;
}

Frames frames_on_host(const Bytes& bytes) {
  const Result<HistorySource> source = parsed(bytes);
  REQUIRE(source);
  Frames frames;
  scan_history(*source, [&](const FrameView& frame) {
    frames.push_back({frame.sequence, {frame.payload.begin(), frame.payload.end()}});
  });
  return frames;
}

TEST_CASE("host and device read the same out of a storage, wherever power failed in appends and compactions") {
  struct Geometry {
    uint32_t program, erase;
  };
  for (const Geometry& geometry : {Geometry{8, 1024}, Geometry{32, 2048}}) {
    uint32_t cuts = 0;
    for (uint32_t cut = 1;; cut += 1 + cut / 16) {
      CAPTURE(cut);
      test::RamStorage flash(8192, geometry.program, geometry.erase);
      flash.cut_power_after(cut);
      alignas(8) uint8_t buffer[kHistoryBufferBytes];
      History history;
      ScanReport report{};
      static_cast<void>(history.open(flash.storage(), {buffer, sizeof buffer}, nullptr, nullptr, &report));
      for (uint8_t i = 0; i < 3; ++i) {
        for (uint8_t k = 0; k < 20 && history.writable(); ++k) {
          const Bytes payload(24 + k % 5, static_cast<uint8_t>(100 * i + k));
          static_cast<void>(history.append(FrameType::kTrial, {payload.data(), payload.size()}));
        }
        if (history.writable()) {
          static_cast<void>(test::move_some(history, [](uint32_t index) { return index % 3 != 0; }));
        }
      }
      const bool whole = history.writable() && flash.operations() < cut;
      const Bytes left = flash.bytes();
      REQUIRE(frames_on_host(left) == frames_on_device(left, geometry.program, geometry.erase));
      ++cuts;
      if (whole) {
        break;
      }
    }
    CHECK(cuts > 40);
  }
}

}  // namespace
}  // namespace temper
