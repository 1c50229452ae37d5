#include "tools/history_source.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/tools/history_samples.h"
#include "tools/history_records.h"
#include "tools/host_device.h"

namespace temper {
namespace {

namespace fs = std::filesystem;
using test::console_dump;
using test::sample_history;
using test::SampleSize;

struct Frame {
  FrameType type;
  uint32_t sequence;
  std::vector<uint8_t> payload;

  bool operator==(const Frame&) const = default;
};

std::vector<Frame> frames_of(const HistorySource& source) {
  std::vector<Frame> frames;
  const ScanReport report = scan_history(source, [&](const FrameView& frame) {
    frames.push_back({frame.type, frame.sequence, {frame.payload.begin(), frame.payload.end()}});
  });
  CHECK(report.frames == frames.size());
  return frames;
}

std::string text_of(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

/// Frames of a history as it lies in its file.
std::vector<Frame> frames_of(const std::vector<uint8_t>& history) {
  const Result<HistorySource> source = parse_history("F", text_of(history));
  REQUIRE(source);
  return frames_of(*source);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string all_remarks(const HistorySource& source) {
  std::string text;
  for (const std::string& remark : source.remarks) {
    text += remark + "\n";
  }
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines, size_t without = SIZE_MAX) {
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i) {
    text += i == without ? "" : lines[i] + "\n";
  }
  return text;
}

/// What was read out of a damaged form holds frames of the original only, in their order.
bool only_from(const std::vector<Frame>& original, const HistorySource& source) {
  size_t at = 0;
  for (const Frame& frame : frames_of(source)) {
    while (at < original.size() && original[at] != frame) {
      ++at;
    }
    if (at++ == original.size()) {
      return false;
    }
  }
  return true;
}

TEST_CASE("a history reads the same from its file, from a console log and from a flash image") {
  for (const uint32_t program_bytes : {1u, 8u, 256u}) {
    CAPTURE(program_bytes);
    SampleSize size;
    size.program_bytes = program_bytes;
    const std::vector<uint8_t> history = sample_history(1, size);
    const std::vector<Frame> frames = frames_of(history);
    CHECK(frames.size() > 30);
    const Result<HistorySource> log = parse_history("log", "boot 1\r\n" + console_dump(history, "\r\n") + "done\r\n");
    REQUIRE(log);
    CHECK(log->form == HistoryForm::kConsoleLog);
    CHECK(log->bytes == history);
    CHECK(log->remarks.empty());
    CHECK_FALSE(log->damaged);
    CHECK(frames_of(*log) == frames);
    std::string image = text_of(history) + std::string(5000, '\xFF');
    const Result<HistorySource> flash = parse_history("image", image);
    REQUIRE(flash);
    CHECK(flash->form == HistoryForm::kFlashImage);
    CHECK(frames_of(*flash) == frames);
    image = std::string(4096, '\x12') + image + "application";
    for (const std::optional<uint64_t> offset : {std::optional<uint64_t>(4096), std::optional<uint64_t>()}) {
      const Result<HistorySource> inside = parse_history("image", image, offset);
      REQUIRE(inside);
      CHECK(inside->form == HistoryForm::kFlashImage);
      CHECK(inside->offset == 4096);
      CHECK(frames_of(*inside) == frames);
      CHECK(has(all_remarks(*inside), "11 bytes behind its erased tail"));
      CHECK(has(all_remarks(*inside), "begins at offset 4096") == !offset);
    }
  }
}

TEST_CASE("a dump that announces more than any board holds is no dump, and one with nothing in it an empty history") {
  CHECK_FALSE(parse_history("log", "temper-history-begin 4000000000\n:00000001FF\ntemper-history-end\n").ok());
  CHECK_FALSE(parse_history("log", "temper-history-begin -1\n:00000001FF\ntemper-history-end\n").ok());
  const Result<HistorySource> empty = parse_history("log", "temper-history-begin 0\n:00000001FF\ntemper-history-end\n");
  REQUIRE(empty);
  CHECK(empty->bytes.empty());
  CHECK_FALSE(empty->damaged);
  // An address far behind what was announced costs nothing and is told.
  const Result<HistorySource> outside = parse_history(
      "log", "temper-history-begin 64\n:020000047FFF7C\n:0100000055AA\n:00000001FF\ntemper-history-end\n");
  REQUIRE(outside);
  CHECK(outside->bytes.empty());
  CHECK(has(all_remarks(*outside), "line 3 is no whole record"));
}

TEST_CASE("a history longer than 64 KiB comes through a console log whole") {
  SampleSize size;
  size.trials = 1500;
  size.program_bytes = 8;
  const std::vector<uint8_t> history = sample_history(2, size);
  REQUIRE(history.size() > 0x10000);
  const Result<HistorySource> log = parse_history("log", console_dump(history));
  REQUIRE(log);
  CHECK(log->bytes == history);
}

TEST_CASE("time stamps before records and marks, other text and blank lines do no harm") {
  const std::vector<uint8_t> history = sample_history(3);
  const std::string stamp = "[2026-11-30 12:34:56.789] board:0 ";
  std::vector<std::string> lines = lines_of(console_dump(history, "\n", stamp));
  lines.front() = stamp + lines.front();
  lines.back() = stamp + lines.back();
  lines.insert(lines.begin() + 5, "[12:00] watchdog: fed");
  lines.insert(lines.begin() + 9, "");
  const Result<HistorySource> log = parse_history("log", "noise: 12\n" + joined(lines));
  REQUIRE(log);
  CHECK(log->bytes == history);
  CHECK_FALSE(log->damaged);
  CHECK(has(all_remarks(*log), "line 7 is no whole record and was passed over; nothing is missing"));
}

TEST_CASE("of several dumps in a log the last whole one is read, and that is said") {
  const std::vector<uint8_t> first = sample_history(4), second = sample_history(5);
  std::vector<std::string> cut = lines_of(console_dump(first));
  cut.resize(cut.size() - 3);
  const Result<HistorySource> log =
      parse_history("log", console_dump(first) + "reset\n" + console_dump(second) + "reset\n" + joined(cut));
  REQUIRE(log);
  CHECK(log->bytes == second);
  CHECK(has(all_remarks(*log), "2 dumps; the last, lines "));
  CHECK(has(all_remarks(*log), "has no 'temper-history-end' and is not read"));
  const Result<HistorySource> begun_twice = parse_history("log", joined(cut) + console_dump(second));
  REQUIRE(begun_twice);
  CHECK(begun_twice->bytes == second);
}

TEST_CASE("a log whose dump does not end, or that only mentions one, is refused with the line") {
  std::vector<std::string> lines = lines_of("hello\n" + console_dump(sample_history(6)));
  lines.pop_back();
  const Result<HistorySource> cut = parse_history("some.log", joined(lines));
  REQUIRE_FALSE(cut.ok());
  CHECK(cut.error().code == TEMPER_BAD_DATA);
  CHECK(has(cut.error().message, "some.log: the dump that begins at line 2 has no 'temper-history-end'"));
  const Result<HistorySource> mention = parse_history("some.log", "the board prints temper-history-begin BYTES\n");
  REQUIRE_FALSE(mention.ok());
  CHECK(has(mention.error().message, "no line of it begins a dump"));
}

TEST_CASE("a dump without any one of its lines never yields a frame that was not written, and says what is missing") {
  const std::vector<uint8_t> history = sample_history(7, {1, 2, 6, 2, 1, 1, 4});
  const std::vector<Frame> frames = frames_of(history);
  const std::vector<std::string> lines = lines_of(console_dump(history));
  for (size_t without = 0; without < lines.size(); ++without) {
    CAPTURE(without);
    const Result<HistorySource> log = parse_history("log", joined(lines, without));
    const bool mark = without == 0 || without + 1 == lines.size();
    if (!log) {
      CHECK((mark || without == 1));  // the first record holds the history's header
      continue;
    }
    CHECK_FALSE(mark);
    CHECK(only_from(frames, *log));
    CHECK_FALSE(log->remarks.empty());
    const bool end_record = without + 2 == lines.size();
    CHECK(log->damaged == !end_record);
    CHECK(has(all_remarks(*log), end_record ? "has no end record" : "are in no record and count as erased"));
  }
}

TEST_CASE("a dump with any one character altered is read as it was, told to be damaged, or refused") {
  const std::vector<uint8_t> history = sample_history(8, {1, 1, 3, 1, 1, 1, 4});
  const std::vector<Frame> frames = frames_of(history);
  const std::string text = console_dump(history);
  uint32_t untold = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    for (const char altered : {'0', '7', 'F', ':', '\n', '\xFF', '\0'}) {
      std::string damaged = text;
      damaged[at] = altered;
      const Result<HistorySource> log = parse_history("log", damaged);
      if (altered == text[at] || !log) {
        continue;
      }
      const bool same = frames_of(*log) == frames;
      if (!same) {
        CHECK(only_from(frames, *log));
        CHECK(log->damaged);
        untold += log->remarks.empty() ? 1 : 0;
      }
    }
  }
  CHECK(untold == 0);
}

TEST_CASE("a file with any one byte altered, or cut anywhere, yields frames that were written") {
  const std::vector<uint8_t> history = sample_history(9, {1, 1, 3, 1, 1, 8, 4});
  const std::vector<Frame> frames = frames_of(history);
  for (size_t at = 0; at < history.size(); ++at) {
    std::vector<uint8_t> damaged = history;
    damaged[at] ^= 0x10;
    const Result<HistorySource> source = parse_history("F", text_of(damaged));
    CHECK((!source || only_from(frames, *source)));
    const Result<HistorySource> cut = parse_history("F", text_of({history.begin(), history.begin() + at}));
    CHECK((!cut || only_from(frames, *cut)));
  }
}

TEST_CASE("what holds no history is refused, an erased or empty storage is an empty history") {
  for (const std::string& text : {std::string("My notes.\nThey are precious.\n"), std::string(3000, '\x5A'),
                                  std::string("\x7E\x01\x08 and so on, but no header of ours")}) {
    const Result<HistorySource> source = parse_history("notes.txt", text);
    REQUIRE_FALSE(source.ok());
    CHECK(source.error().code == TEMPER_BAD_DATA);
    CHECK(has(source.error().message, "notes.txt"));
  }
  for (const std::string& text : {std::string(), std::string(70000, '\xFF')}) {
    const Result<HistorySource> source = parse_history("F", text);
    REQUIRE(source);
    CHECK(frames_of(*source).empty());
    CHECK(read_records(*source).trials.empty());
  }
  const Result<HistorySource> absent = read_history("no_such.history");
  REQUIRE_FALSE(absent.ok());
  CHECK(absent.error().code == TEMPER_NOT_FOUND);
  const Result<HistorySource> folder = read_history("/");
  REQUIRE_FALSE(folder.ok());
  CHECK(has(folder.error().message, "not a file"));
}

TEST_CASE("an image with several histories asks which, and an offset that holds none is refused") {
  const std::string one = text_of(sample_history(10)) + std::string(2000, '\xFF');
  const std::string image = std::string(64, 'x') + one + text_of(sample_history(11)) + std::string(100, '\xFF');
  const Result<HistorySource> source = parse_history("image", image);
  REQUIRE_FALSE(source.ok());
  CHECK(has(source.error().message, "2 histories lie in it, at offsets 64, " + std::to_string(64 + one.size())));
  CHECK(parse_history("image", image, 64).ok());
  const Result<HistorySource> elsewhere = parse_history("image", image, 66);
  REQUIRE_FALSE(elsewhere.ok());
  CHECK(has(elsewhere.error().message, "no history begins at offset 66"));
  CHECK(has(parse_history("image", image, 1u << 30).error().message, "ends before offset"));
}

TEST_CASE("the constant that firmware writes as header is not taken for a history") {
  const std::vector<uint8_t> header = sample_history(12, {1, 1, 1, 0, 0, 1, 1});
  const std::string firmware = std::string(100, 'c') + text_of({header.begin(), header.begin() + 20}) +
                               "more constants" + std::string(2000, '\xFF');
  CHECK_FALSE(parse_history("firmware.bin", firmware).ok());
  CHECK_FALSE(resembles_history(firmware));
  CHECK(parse_history("firmware.bin", firmware + text_of(sample_history(13)) + std::string(50, '\xFF')).ok());
}

TEST_CASE("records keep their fingerprint, and those whose fingerprint is lost are left out") {
  const std::vector<uint8_t> history = sample_history(14, {3, 3, 60, 9, 1, 1, 8});
  const Result<HistorySource> source = parse_history("F", text_of(history));
  REQUIRE(source);
  const HistoryRecords records = read_records(*source);
  CHECK(records.lost_frames == 0);
  CHECK(records.orphans == 0);
  CHECK(records.unreadable == 0);
  CHECK(records.open_intents == std::vector<size_t>{60});
  CHECK(records.trials.size() == 61);
  CHECK(records.commits.size() == 9);
  CHECK(records.used_bytes == history.size());
  CHECK(trial_of(records.trials.back()).trial.outcome() == TEMPER_OUTCOME_CRASHED);
  CHECK(records.workloads.at(0x1001).name == "workload 1");

  const std::vector<Frame> frames = frames_of(history);
  const std::vector<std::string> lines = lines_of(console_dump(history));
  for (size_t without = 2; without + 2 < lines.size(); ++without) {
    const Result<HistorySource> log = parse_history("log", joined(lines, without));
    REQUIRE(log);
    const HistoryRecords left = read_records(*log);
    CHECK(left.lost_frames + left.damaged_bytes > 0);
    for (const auto& [kept, all, fingerprints] :
         {std::tuple(&left.trials, &records.trials, &records), std::tuple(&left.commits, &records.commits, &records)}) {
      for (const HistoryRecord& record : *kept) {  // it was written, and under this fingerprint
        const auto same = [&](const HistoryRecord& other) {
          return other.payload == record.payload &&
                 std::memcmp(&fingerprints->fingerprints[other.fingerprint], &left.fingerprints[record.fingerprint],
                             sizeof(Fingerprint)) == 0;
        };
        CHECK(std::find_if(all->begin(), all->end(), same) != all->end());
      }
    }
  }
}

TEST_CASE("a history that a 32-bit board wrote into its flash and printed is read as it was measured") {
  // board_console.log: toolchains/firmware's first_boot for cortex-m7 on an emulated mps2-an500, ds_cnn, trials=9.
  const Result<HistorySource> source = read_history(TEMPER_BOARD_LOG);
  REQUIRE(source);
  CHECK(source->form == HistoryForm::kConsoleLog);
  CHECK(source->remarks.empty());
  const HistoryRecords records = read_records(*source);
  CHECK(records.damaged_bytes + records.lost_frames + records.orphans + records.unreadable == 0);
  CHECK(records.used_bytes == 1984);
  CHECK(records.trials.size() == 9);
  CHECK(records.commits.size() == 3);
  CHECK(records.open_intents.empty());
  REQUIRE(records.fingerprints.size() == 1);
  CHECK(target_name_of(records.fingerprints[0].target_hash()) == "cortex-m7");
  CHECK(records.fingerprints[0].clock_khz() == 25000);
  for (const HistoryRecord& record : records.commits) {
    const format::Commit& commit = commit_of(record).commit;
    CHECK(commit.kept_default() == 1);
    const std::string& name = records.workloads.at(commit.workload()).name;
    CHECK((name == "conv_1" || name == "depthwise_1" || name == "pointwise_1"));
    CHECK((name != "conv_1" || commit.default_ns() == 26108720));  // as the log says
  }
}

TEST_CASE("a program that prints dumps is told from what it printed") {
  const std::string program = std::string("\x7F", 1) + "ELF...temper-history-begin 16\ntemper-history-end\n";
  const Result<HistorySource> read = parse_history("first_boot.elf", program, std::nullopt);
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().code == TEMPER_BAD_DATA);
  CHECK(read.error().message.find("is a program") != std::string::npos);
}

TEST_CASE("objcopy makes the same bytes of a dump's records") {
  if (std::system("objcopy --version >/dev/null 2>&1") != 0) {
    MESSAGE("SKIPPED: no objcopy");
    return;
  }
  const fs::path folder = fs::path(TEMPER_SCRATCH) / "objcopy";
  fs::remove_all(folder);
  fs::create_directories(folder);
  SampleSize size;
  size.trials = 1500;
  size.program_bytes = 8;
  const std::vector<uint8_t> history = sample_history(15, size);
  std::ofstream(folder / "log") << "boot\n" << console_dump(history) << "done\n";
  const std::string in_folder = "cd '" + folder.string() + "' && ";
  REQUIRE(std::system(
              (in_folder + "grep '^:' log >records.hex && objcopy -I ihex -O binary records.hex bytes").c_str()) == 0);
  std::ifstream made(folder / "bytes", std::ios::binary);
  const std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(made), {}};
  CHECK(bytes == history);
  const Result<HistorySource> read = read_history((folder / "log").string());
  REQUIRE(read);
  CHECK(read->bytes == bytes);
}

}  // namespace
}  // namespace temper
