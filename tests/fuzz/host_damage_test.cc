// What the command reads, under every damage of one place: a console's log, a history file, a .workloads file.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "tests/fuzz/damage.h"
#include "tests/fuzz/loaders.h"
#include "tests/fuzz/repair.h"
#include "tests/fuzz/samples.h"
#include "tests/tools/history_samples.h"
#include "tools/history_source.h"

namespace temper::test {
namespace {

constexpr size_t kPerRecord = 32;  // bytes of a line of a dump

Bytes bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

std::vector<Bytes> payloads_of(const HistorySource& source) {
  std::vector<Bytes> payloads;
  scan_history(source,
               [&](const FrameView& frame) { payloads.emplace_back(frame.payload.begin(), frame.payload.end()); });
  return payloads;
}

}  // namespace

TEST_CASE("a character of a dump that changed costs the frames of its line and no other") {
  const Bytes history = sample_history(7, {.trials = 8});
  const std::string log = console_dump(history, "\r\n", "[00:12] ");
  const std::vector<FramePlace> places = frames_in(history, 1);
  size_t line = 0, begin = log.find('\n') + 1;
  for (; line * kPerRecord < history.size(); ++line) {
    const size_t end = log.find('\n', begin) + 1;
    std::vector<Bytes> expected;
    for (const FramePlace place : places) {
      const bool touched = place.offset < (line + 1) * kPerRecord && place.offset + place.bytes > line * kPerRecord;
      if (!touched) {
        expected.emplace_back(history.begin() + place.offset + sizeof(FrameHeader),
                              history.begin() + place.offset + place.bytes);
      }
    }
    for (size_t at = begin; at < end; ++at) {
      std::string damaged = log;
      damaged[at] = static_cast<char>(damaged[at] ^ some_bit(at));
      const Result<HistorySource> source = parse_history("log", damaged);
      CAPTURE(damaged.substr(begin, end - begin));
      REQUIRE(source.ok());
      const std::vector<Bytes> found = payloads_of(*source);
      // All of the others, in order; and of those that the line holds a part of, none that was not written.
      auto next = found.begin();
      for (const Bytes& payload : expected) {
        next = std::find(next, found.end(), payload);
        REQUIRE(next != found.end());
        ++next;
      }
      REQUIRE(found.size() <= places.size());
      REQUIRE((found.size() == places.size() || !source->remarks.empty()));
    }
    begin = end;
  }
  CHECK(line > 20);
}

TEST_CASE(
    "a changed character of a log, and a changed byte of a file, are read without lies or refused with a message") {
  const Bytes log = bytes_of(sample_console_log()), file = sample_boots(kFileGeometry);
  for (const Bytes& bytes : {log, file}) {
    for (size_t at = 0; at < bytes.size(); at += 3) {
      Bytes damaged = flipped(bytes, at, some_bit(at));
      fuzz_history_source(damaged.data(), damaged.size());
      repair_source(&damaged, 0);
      fuzz_history_source(damaged.data(), damaged.size());
    }
    for (size_t length = 0; length < bytes.size(); length += 5) {
      fuzz_history_source(bytes.data(), length);
    }
  }
}

TEST_CASE("a changed character of a .workloads file gives a network that can be written, or a message") {
  const Bytes bytes = bytes_of(sample_workloads());
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (const uint8_t mask : {some_bit(at), uint8_t{255}}) {
      const Bytes damaged = flipped(bytes, at, mask);
      fuzz_workloads(damaged.data(), damaged.size());
    }
    fuzz_workloads(bytes.data(), at);
  }
}

}  // namespace temper::test
