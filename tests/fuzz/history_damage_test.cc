// A history under every damage of one place: what is read back was written, in order, and nothing beside the place is
// lost. The expectation comes from a reader of its own (frames_in), never from the code under test.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>

#include "tests/fuzz/damage.h"
#include "tests/fuzz/first_boot.h"
#include "tests/fuzz/loaders.h"
#include "tests/fuzz/repair.h"
#include "tests/fuzz/samples.h"
#include "tests/runtime/ram_storage.h"
#include "tests/runtime/scanned_history.h"

namespace temper::test {
namespace {

using Frames = std::vector<Bytes>;  // each with its padding

constexpr const Geometry* kGeometries[] = {&kFileGeometry, &kFlashGeometry};
const char* name_of(const Geometry& geometry) { return geometry.erase_bytes == 0 ? "file" : "flash"; }

/// Frame by frame, the header first.
Frames frames_of(const Bytes& bytes, const Geometry& geometry) {
  Frames frames;
  for (const FramePlace place : frames_in(bytes, geometry.program_bytes)) {
    const uint32_t unit = geometry.program_bytes;
    const size_t end = std::min<size_t>(place.offset + (place.bytes + unit - 1) / unit * unit, bytes.size());
    frames.emplace_back(bytes.begin() + place.offset, bytes.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return frames;
}

Bytes joined(const Frames& frames) {
  Bytes bytes;
  for (const Bytes& frame : frames) {
    bytes.insert(bytes.end(), frame.begin(), frame.end());
  }
  return bytes;
}

bool shows(const ScannedFrame& shown, const Bytes& frame) {
  constexpr size_t kHeader = sizeof(FrameHeader);
  const size_t payload = frame[2] + 256u * frame[3];
  return static_cast<uint8_t>(shown.type) == frame[1] && shown.payload.size() == payload &&
         std::equal(shown.payload.begin(), shown.payload.end(), frame.begin() + kHeader);
}

struct Reading {
  Status status;
  ScanReport report;
  std::vector<ScannedFrame> frames;
};

Reading read(const Bytes& bytes, const Geometry& geometry) {
  RamStorage storage(geometry.size_bytes, geometry.program_bytes, geometry.erase_bytes);
  storage.set_bytes(bytes);
  const ScannedHistory scanned(storage.storage());
  return {scanned.status, scanned.report, scanned.frames};
}

/// `expected` without the header.
bool holds_exactly(const Reading& reading, const Frames& expected) {
  return reading.status.ok() &&
         std::equal(reading.frames.begin(), reading.frames.end(), expected.begin(), expected.end(), shows);
}

Frames without_header(Frames frames) {
  frames.erase(frames.begin());
  return frames;
}

}  // namespace

TEST_CASE("the sample holds what it should") {
  for (const Geometry* geometry : kGeometries) {
    const Bytes bytes = sample_boots(*geometry);
    const Reading reading = read(bytes, *geometry);
    std::map<FrameType, int> counts;
    int crashed = 0;
    for (const ScannedFrame& frame : reading.frames) {
      ++counts[frame.type];
      TrialView trial{};
      const FrameView view{frame.type, 0, {frame.payload.data(), frame.payload.size()}};
      crashed += read_trial(view, &trial).ok() && trial.trial.outcome() == TEMPER_OUTCOME_CRASHED ? 1 : 0;
    }
    CHECK(counts[FrameType::kFingerprint] >= 3);
    CHECK(counts[FrameType::kWorkload] >= 3);
    CHECK(counts[FrameType::kCommit] >= 3);
    CHECK(counts[FrameType::kTrial] >= 10);
    CHECK(crashed >= 1);
    CHECK(reading.frames.back().type == FrameType::kIntent);
    CHECK(holds_exactly(reading, without_header(frames_of(bytes, *geometry))));
  }
}

TEST_CASE("a flipped byte of a history loses the frame that it hits and no other, and is told") {
  for (const Geometry* geometry : kGeometries) {
    const Bytes bytes = sample_boots(*geometry);
    const std::vector<FramePlace> places = frames_in(bytes, geometry->program_bytes);
    const Frames frames = without_header(frames_of(bytes, *geometry));
    for (size_t at = 0; at < bytes.size(); ++at) {
      Frames expected = frames;
      bool hit = false;
      for (size_t i = 0; i < places.size(); ++i) {
        if (at >= places[i].offset && at < places[i].offset + places[i].bytes) {
          hit = true;
          expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(i) - (i == 0 ? 0 : 1),
                         expected.begin() + static_cast<std::ptrdiff_t>(i));
        }
      }
      for (const uint8_t mask : kEachBit) {
        CAPTURE(std::string(name_of(*geometry)));
        CAPTURE(at);
        CAPTURE(unsigned{mask});
        const Reading reading = read(flipped(bytes, at, mask), *geometry);
        REQUIRE(holds_exactly(reading, expected));
        REQUIRE((!hit || reading.report.damaged_bytes > 0));
      }
    }
  }
}

TEST_CASE("a flipped byte of two regions loses the frame that it hits where it counts, and no region") {
  const Geometry& geometry = kSmallFlashGeometry;
  const Bytes bytes = sample_two_regions();
  const size_t half = geometry.size_bytes / 2;
  const Bytes second(bytes.begin() + static_cast<std::ptrdiff_t>(half), bytes.end());
  const std::vector<FramePlace> places = frames_in(second, geometry.program_bytes);
  Frames frames = frames_of(second, geometry);
  frames.pop_back();  // the second header
  REQUIRE(holds_exactly(read(bytes, geometry), without_header(frames)));
  REQUIRE(read(bytes, geometry).report.generation == 2);
  for (size_t at = 0; at < bytes.size(); ++at) {
    Frames expected = without_header(frames);
    for (size_t i = 1; i < frames.size(); ++i) {
      if (at >= half + places[i].offset && at < half + places[i].offset + places[i].bytes) {
        expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(i) - 1);
      }
    }
    for (const uint8_t mask : kEachBit) {
      CAPTURE(at);
      CAPTURE(unsigned{mask});
      REQUIRE(holds_exactly(read(flipped(bytes, at, mask), geometry), expected));
    }
  }
}

TEST_CASE("a history that ends anywhere keeps every frame before") {
  for (const Geometry* geometry : kGeometries) {
    const Bytes bytes = sample_boots(*geometry);
    const std::vector<FramePlace> places = frames_in(bytes, geometry->program_bytes);
    const Frames frames = frames_of(bytes, *geometry);
    for (size_t length = 0; length <= bytes.size(); ++length) {
      CAPTURE(std::string(name_of(*geometry)));
      CAPTURE(length);
      // What flash lost reads as erased; that may be just what stood there.
      const auto erased = [&](size_t from, size_t to) {
        return from >= to ||
               (geometry->erase_bytes != 0 && std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(from),
                                                          bytes.begin() + static_cast<std::ptrdiff_t>(to),
                                                          [](uint8_t byte) { return byte == 0xFF; }));
      };
      Frames expected;
      for (size_t i = 1; i < places.size(); ++i) {
        if (erased(std::max<size_t>(length, places[i].offset), places[i].offset + places[i].bytes)) {
          expected.push_back(frames[i]);
        }
      }
      REQUIRE(holds_exactly(read(first_bytes(bytes, length), *geometry), expected));
    }
  }
}

TEST_CASE("frames doubled, swapped or left out are shown as they lie") {
  for (const Geometry* geometry : kGeometries) {
    const Frames frames = frames_of(sample_boots(*geometry), *geometry);
    const auto check = [&](const Frames& changed) {
      REQUIRE(holds_exactly(read(joined(changed), *geometry), without_header(changed)));
    };
    for (size_t i = 1; i < frames.size(); ++i) {
      Frames without = frames;
      without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
      check(without);
      for (size_t to = 1; to < frames.size(); ++to) {
        Frames doubled = frames;
        doubled.insert(doubled.begin() + static_cast<std::ptrdiff_t>(to), frames[i]);
        check(doubled);
        Frames swapped = frames;
        std::swap(swapped[i], swapped[to]);
        check(swapped);
      }
    }
  }
}

TEST_CASE("foreign bytes between frames cost no frame") {
  std::minstd_rand random(1);
  for (const Geometry* geometry : kGeometries) {
    const Frames frames = frames_of(sample_boots(*geometry), *geometry);
    for (size_t i = 1; i <= frames.size(); ++i) {
      for (const uint32_t count : {1u, 2u, 3u, 13u, 40u, 250u}) {
        Bytes foreign(count * geometry->program_bytes);
        for (uint8_t& byte : foreign) {
          byte = random() % 3 == 0 ? kFrameMagic : static_cast<uint8_t>(random());
        }
        Frames changed = frames;
        changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(i), foreign);
        const Bytes bytes = joined(changed);
        CAPTURE(i);
        CAPTURE(count);
        REQUIRE(holds_exactly(read(bytes, *geometry), without_header(frames)));
      }
    }
  }
}

TEST_CASE("a device boots, looks up, resumes and boots again over any flipped byte") {
  for (const Geometry* geometry : kGeometries) {
    const Bytes bytes = sample_boots(*geometry);
    constexpr size_t kStride = 7;  // prime to the sizes of frames and units
    for (size_t at = 0; at < bytes.size(); at += kStride) {
      Bytes damaged = flipped(bytes, at, some_bit(at));
      fuzz_history(damaged.data(), damaged.size());
      repair_history(&damaged, 0);  // as if it had been written so
      fuzz_history(damaged.data(), damaged.size());
    }
  }
}

}  // namespace temper::test
