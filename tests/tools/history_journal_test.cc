#include "tools/history_journal.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "tests/tools/history_samples.h"
#include "tools/history_file.h"
#include "tools/history_merge.h"
#include "tools/history_records.h"

namespace temper {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<uint8_t>;
using test::sample_history;
using test::SampleSize;

std::string scratch(const std::string& name) {
  const fs::path folder = fs::path(TEMPER_SCRATCH) / name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  return (folder / "net.history").string();
}

void write(const std::string& path, const Bytes& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  REQUIRE(file.good());
}

Bytes read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

HistoryRecords records_in(const std::string& path) {
  const Result<HistorySource> source = read_history(path);
  REQUIRE(source);
  return read_records(*source);
}

Bytes merged(const std::vector<std::string>& paths) {
  std::vector<HistoryRecords> records;
  for (const std::string& path : paths) {
    records.push_back(records_in(path));
  }
  const Result<MergedHistory> result = merge_histories(records);
  REQUIRE(result);
  return result->bytes;
}

JoinReport join(const std::string& path) {
  const Result<HistoryFile> held = hold_history(path);
  REQUIRE(held);
  REQUIRE(held->file != nullptr);
  return join_journals(path, held->file.get());
}

/// One process that tunes: it appends trials of different times under a fingerprint of its own.
class Appending {
 public:
  Appending(const std::string& path, uint32_t core_type) {
    Result<HistoryFile> opened = open_history_to_append(path);
    REQUIRE(opened);
    file_ = std::move(*opened);
    REQUIRE(file_.storage() != nullptr);
    const Span<uint8_t> buffer{buffer_, sizeof buffer_};
    const auto visit = [](void* self, const FrameView& frame) {
      if (frame.type == FrameType::kFingerprint) {
        ++static_cast<Appending*>(self)->ordinal_;
      }
    };
    ScanReport report{};
    REQUIRE(history_.open(file_.storage(), buffer, this, visit, &report).ok());
    const Fingerprint fingerprint(77, core_type, 1, 1, 4, 8, 0, 0, 0, 25000, 50, 0, 0, 0, 0, 0);
    REQUIRE(append_fingerprint(history_, fingerprint).ok());
  }

  HistoryFile& file() { return file_; }

  bool trial(uint64_t median_ns) {
    const format::Trial trial(5, median_ns, 0, 0, 1, 1, ordinal_, TEMPER_OUTCOME_OK, 3, 0, 0, 0);
    return history_.append(FrameType::kTrial, {reinterpret_cast<const uint8_t*>(&trial), sizeof trial}).ok();
  }

  bool intent(uint64_t workload) {
    const format::Intent intent(workload, 1, 1, 0, 0, 0);
    return history_.append(FrameType::kIntent, {reinterpret_cast<const uint8_t*>(&intent), sizeof intent}).ok();
  }

 private:
  HistoryFile file_;
  History history_;
  uint16_t ordinal_ = 0;
  alignas(8) uint8_t buffer_[kHistoryBufferBytes];
};

std::multiset<uint64_t> times_in(const HistoryRecords& records) {
  std::multiset<uint64_t> times;
  for (const HistoryRecord& record : records.trials) {
    times.insert(trial_of(record).trial.median_ns());
  }
  return times;
}

TEST_CASE("a second and a third process append to journals of their own, and the last to end joins all") {
  const std::string path = scratch("three");
  auto first = std::make_unique<Appending>(path, 1);
  auto second = std::make_unique<Appending>(path, 1);
  auto third = std::make_unique<Appending>(path, 2);
  CHECK(first->file().journal.empty());
  CHECK(second->file().journal == path + ".1.journal");
  CHECK(third->file().journal == path + ".2.journal");
  CHECK(second->file().warning.empty());
  REQUIRE(second->file().notes.size() == 1);
  CHECK(second->file().notes[0].find(path + ".1.journal") != std::string::npos);
  for (uint64_t i = 0; i < 5; ++i) {
    CHECK(first->trial(100 + i));
    CHECK(second->trial(200 + i));
    CHECK(third->trial(300 + i));
  }
  const Result<HistorySource> seen = read_history_and_journals(path);
  REQUIRE(seen);
  CHECK(read_records(*seen).trials.size() == 15);
  REQUIRE(seen->remarks.size() == 1);
  CHECK(seen->remarks[0].find("2 journals beside it are read with it: 10 trials") != std::string::npos);

  CHECK(close_history(&second->file()).empty());  // the first still appends
  CHECK(fs::exists(path + ".1.journal"));
  REQUIRE(close_history(&first->file()).size() == 1);
  CHECK_FALSE(fs::exists(path + ".1.journal"));
  CHECK(fs::exists(path + ".2.journal"));  // held
  REQUIRE(close_history(&third->file()).size() == 1);
  CHECK(journal_paths(path).empty());
  const HistoryRecords all = records_in(path);
  CHECK(all.trials.size() == 15);
  CHECK(all.damaged_bytes + all.lost_frames + all.orphans == 0);
  for (const HistoryRecord& record : all.trials) {
    const uint32_t core_type = trial_of(record).trial.median_ns() >= 300 ? 2 : 1;
    CHECK(all.fingerprints[record.fingerprint].core_type() == core_type);
  }
  CHECK(all.ordinals.size() == 2);  // a fingerprint that the history knows is not written again
}

TEST_CASE("joining keeps every record of random journals, and joining again changes no byte") {
  std::mt19937_64 random(1);
  for (uint64_t round = 0; round < 60; ++round) {
    CAPTURE(round);
    const std::string path = scratch("random");
    const auto size = [&] {
      return SampleSize{static_cast<uint32_t>(1 + random() % 3),
                        2,
                        static_cast<uint32_t>(3 + random() % 30),
                        static_cast<uint32_t>(random() % 8),
                        static_cast<uint32_t>(random() % 2),
                        1,
                        2};
    };
    const std::string first = path + ".1.journal", second = path + ".7.journal";
    write(path, sample_history(3 * round, size()));
    write(first, sample_history(3 * round + 1, size()));
    write(second, sample_history(3 * round + 2, size()));
    const Bytes expected = merged({path, first, second}), left = read(second);
    const Bytes before = read(path);
    CHECK(join(path).journals == 2);
    CHECK(journal_paths(path).empty());
    const Bytes after = read(path);
    CHECK(merged({path}) == expected);
    CHECK(records_in(path).orphans == 0);
    REQUIRE(after.size() >= before.size());
    CHECK(std::equal(before.begin(), before.end(), after.begin()));  // appended to, not written anew
    write(second, left);                                             // as after a crash right before it was deleted
    const JoinReport again = join(path);
    CHECK(again.trials + again.commits == 0);
    CHECK(read(path) == after);
    CHECK_FALSE(fs::exists(second));
  }
}

TEST_CASE("a crash at any byte of joining loses nothing and doubles nothing") {
  const std::string path = scratch("cut"), journal = path + ".1.journal";
  SampleSize size{2, 2, 8, 3, 1, 1, 4};
  const Bytes main = sample_history(1, size), other = sample_history(2, size);
  write(path, main);
  write(journal, other);
  const Bytes expected = merged({path, journal});
  join(path);
  const Bytes joined = read(path);
  REQUIRE(joined.size() > main.size());
  for (size_t cut = main.size(); cut < joined.size(); ++cut) {
    CAPTURE(cut);
    write(path, Bytes(joined.begin(), joined.begin() + static_cast<std::ptrdiff_t>(cut)));
    write(journal, other);
    join(path);
    REQUIRE(merged({path}) == expected);
    REQUIRE(records_in(path).lost_frames == 0);
  }
}

TEST_CASE(
    "what was begun and never ended is a crash in a journal that nobody holds, and none in one that somebody does") {
  const std::string path = scratch("intents");
  auto first = std::make_unique<Appending>(path, 1);
  auto second = std::make_unique<Appending>(path, 1);
  REQUIRE(first->intent(5));
  REQUIRE(second->intent(6));
  Result<HistorySource> seen = read_history_and_journals(path);
  REQUIRE(seen);
  CHECK(read_records(*seen).trials.empty());
  auto third = std::make_unique<Appending>(path, 1);
  CHECK(read_records(*third->file().known).trials.empty());
  second->file().file.reset();  // dies
  seen = read_history_and_journals(path);
  REQUIRE(seen);
  HistoryRecords records = read_records(*seen);
  REQUIRE(records.trials.size() == 1);
  CHECK(trial_of(records.trials[0]).trial.workload() == 6);
  first->file().file.reset();  // dies too
  close_history(&third->file());
  records = records_in(path);
  CHECK(records.open_intents.empty());
  REQUIRE(records.trials.size() == 2);
  for (const HistoryRecord& record : records.trials) {
    CHECK(trial_of(record).trial.outcome() == TEMPER_OUTCOME_CRASHED);
  }
}

TEST_CASE("a journal that is none, or of a later version, stays as it is and is told") {
  const std::string path = scratch("foreign");
  write(path, sample_history(1));
  const std::string text = "My notes, which happen to be named like that.\n";
  const Bytes notes(text.begin(), text.end());
  write(path + ".1.journal", notes);
  Bytes later;
  {
    Appending writer(path + ".later", 1);
    REQUIRE(writer.trial(1));
  }
  later = read(path + ".later");
  {
    Result<HistoryFile> file = hold_history(path + ".later");
    REQUIRE(file);
    alignas(8) uint8_t buffer[kHistoryBufferBytes];
    History history;
    ScanReport report{};
    REQUIRE(history.open(file->storage(), {buffer, sizeof buffer}, nullptr, nullptr, &report).ok());
    REQUIRE(history.append(static_cast<FrameType>(99), {buffer, 4}).ok());
  }
  later = read(path + ".later");
  write(path + ".2.journal", later);
  write(path + ".3.journal", {});
  write(path + ".03x.journal", {});
  write(path + ".journal", {});
  const JoinReport report = join(path);
  CHECK(report.journals == 1);
  REQUIRE(report.remarks.size() == 2);
  CHECK(report.remarks[0].find("net.history.1.journal is no history") != std::string::npos);
  CHECK(report.remarks[1].find("net.history.2.journal holds records of a later version") != std::string::npos);
  CHECK(read(path + ".1.journal") == notes);
  CHECK(read(path + ".2.journal") == later);
  CHECK_FALSE(fs::exists(path + ".3.journal"));
  CHECK(fs::exists(path + ".03x.journal"));
  CHECK(fs::exists(path + ".journal"));
}

TEST_CASE("where no journal can be written what is known is used, and that is said in one sentence") {
  const std::string path = scratch("no_journal");
  auto first = std::make_unique<Appending>(path, 1);
  REQUIRE(first->trial(7));
  for (uint32_t number = 1; number <= 3; ++number) {
    fs::create_directory(path + "." + std::to_string(number) + ".journal");  // in the way
  }
  const Result<HistoryFile> second = open_history_to_append(path);
  REQUIRE(second);
  CHECK(second->storage() == nullptr);
  CHECK(second->warning.find("memory only") != std::string::npos);
  REQUIRE(second->known);
  CHECK(read_records(*second->known).trials.size() == 1);
}

TEST_CASE("a link and what it names share their journals") {
  const std::string path = scratch("link"), link = path + ".link";
  fs::create_symlink(path, link);
  Appending first(path, 1), second(link, 1);
  REQUIRE(second.trial(5));
  CHECK(second.file().journal == path + ".1.journal");
  CHECK(journal_paths(link) == journal_paths(path));
}

/// Appends trials until it has all, or is killed; each that is on storage is told through the pipe.
[[noreturn]] void append_as_child(const std::string& path, uint64_t first_time, uint32_t trials, int pipe) {
  Appending appending(path, 1);
  for (uint64_t time = first_time; time < first_time + trials; ++time) {
    if (!appending.trial(time) || ::write(pipe, &time, sizeof time) != sizeof time) {
      _exit(1);
    }
  }
  close_history(&appending.file());
  _exit(0);
}

TEST_CASE("many short processes on one history, some killed: every trial that was written is there, once") {
  const std::string path = scratch("stress");
  const char* const longer = std::getenv("TEMPER_LONG");
  const uint32_t rounds = longer != nullptr ? 200 : 12;
  std::mt19937_64 random(5);
  MESSAGE("seed 5, " << rounds << " rounds of 6 processes");
  std::multiset<uint64_t> written;
  uint64_t next = 1;
  for (uint32_t round = 0; round < rounds; ++round) {
    struct Child {
      pid_t pid;
      int pipe;
    };
    std::vector<Child> children;
    for (uint32_t i = 0; i < 6; ++i) {
      int ends[2];
      REQUIRE(::pipe(ends) == 0);
      const auto trials = static_cast<uint32_t>(1 + random() % 40);
      const pid_t pid = ::fork();
      REQUIRE(pid >= 0);
      if (pid == 0) {
        append_as_child(path, next, trials, ends[1]);
      }
      ::close(ends[1]);
      children.push_back({pid, ends[0]});
      next += trials;
    }
    for (const Child& child : children) {
      if (random() % 3 == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 4000));
        ::kill(child.pid, SIGKILL);
      }
      uint64_t time = 0;
      while (::read(child.pipe, &time, sizeof time) == sizeof time) {
        written.insert(time);
      }
      ::close(child.pipe);
      int status = 0;
      REQUIRE(::waitpid(child.pid, &status, 0) == child.pid);
      CHECK((WIFSIGNALED(status) || WEXITSTATUS(status) == 0));
    }
  }
  Appending last(path, 1);
  close_history(&last.file());
  CHECK(journal_paths(path).empty());
  const HistoryRecords all = records_in(path);
  const std::multiset<uint64_t> kept = times_in(all);
  CHECK(std::includes(kept.begin(), kept.end(), written.begin(), written.end()));
  CHECK(kept.size() <= written.size() + 6 * rounds);  // one that was killed between writing and telling
  CHECK(std::set<uint64_t>(kept.begin(), kept.end()).size() == kept.size());
  CHECK(all.orphans + all.lost_frames == 0);
  MESSAGE(written.size() << " trials written, " << kept.size() << " kept");
}

}  // namespace
}  // namespace temper
