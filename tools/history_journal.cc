#include "tools/history_journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "tools/history_merge.h"
#include "tools/history_records.h"
#include "tools/whole_file.h"

namespace temper {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".journal";
constexpr uint32_t kMostJournals = 10000;
/// A reader on a board knows so many of the last fingerprints (kKnownFingerprints of runtime/lookup.h is 16).
constexpr size_t kRecentFingerprints = 8;

using Bytes = std::vector<uint8_t>;
/// A record as it is compared: its fingerprint's bytes, then its payload.
using RecordKey = std::pair<std::string, Bytes>;

/// N of FILE.N.journal; nothing for any other name.
std::optional<uint32_t> number_of(const std::string& name, const std::string& history) {
  if (name.size() <= history.size() + 1 + kEnding.size() || name.compare(0, history.size(), history) != 0 ||
      name[history.size()] != '.' || name.compare(name.size() - kEnding.size(), kEnding.size(), kEnding) != 0) {
    return std::nullopt;
  }
  const char* const first = name.data() + history.size() + 1;
  const char* const last = name.data() + name.size() - kEnding.size();
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(first, last, number);
  return error == std::errc() && end == last ? std::optional(number) : std::nullopt;
}

std::string journal_path(const std::string& history, uint32_t number) {
  return history + "." + std::to_string(number) + std::string(kEnding);
}

/// Whether somebody appends to the file now. Holds its lock for a moment, which temper_linux_file_open waits for.
bool held_elsewhere(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    return false;
  }
  const bool held = ::flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(descriptor);
  return held;
}

/// The history that a file is opened for appending of.
class Appender {
 public:
  explicit Appender(const temper_storage& storage) : storage_(storage), sync_(storage.sync) {
    storage_.sync = [](void*) { return TEMPER_OK; };  // once at the end is enough: the journal stays until then
    open();
  }

  Status status() const { return status_; }

  /// Fills a torn frame at the end up with zeros, which may make it whole. The records must be read after that.
  void settle() {
    uint8_t* payload;
    status_ = status_.ok() ? history_.reserve(&payload) : status_;
    if (status_.ok()) {
      open();
    }
  }

  void append(FrameType type, const void* head, size_t head_bytes, const void* tail = nullptr, size_t tail_bytes = 0) {
    if (status_.ok()) {
      status_ = history_.append(type, {static_cast<const uint8_t*>(head), head_bytes},
                                {static_cast<const uint8_t*>(tail), tail_bytes});
    }
  }

  Status finish() { return status_.ok() ? Status(sync_(storage_.self)) : status_; }

 private:
  void open() {
    ScanReport report{};
    status_ = history_.open(&storage_, {buffer_, sizeof buffer_}, nullptr, nullptr, &report);
  }

  temper_storage storage_;
  temper_status (*sync_)(void*);
  History history_;
  Status status_;
  alignas(8) uint8_t buffer_[kHistoryBufferBytes];
};

std::string bytes_of(const Fingerprint& fingerprint) {
  return {reinterpret_cast<const char*>(&fingerprint), sizeof fingerprint};
}

/// Appends records of journals to a history that lacks them.
class Joiner {
 public:
  Joiner(const HistoryRecords& main, const temper_storage& storage) : main_(main), to_(storage) {
    // Where frames are missing, only the fingerprint written last is certain to readers.
    const bool certain = main.lost_frames == 0 && main.unreadable == 0 && main.damaged_bytes == 0;
    ordinals_ = main.ordinals.size();
    const size_t first = ordinals_ > kRecentFingerprints ? ordinals_ - kRecentFingerprints : 0;
    for (size_t i = first; certain && i < ordinals_; ++i) {
      known_[bytes_of(main.fingerprints[main.ordinals[i]])] = i;
    }
    count(main, main.trials, &trials_);
    count(main, main.commits, &commits_);
    for (const auto& [key, named] : main.workloads) {
      names_.insert(key);
    }
  }

  Status status() const { return to_.status(); }
  Status finish() { return to_.finish(); }

  void join(const HistoryRecords& journal, JoinReport* report) {
    close_intent(report);
    for (const auto& [key, named] : journal.workloads) {
      if (names_.insert(key).second) {
        const format::WorkloadName head(key, named.flops, named.count, static_cast<uint16_t>(named.name.size()), 0);
        to_.append(FrameType::kWorkload, &head, sizeof head, named.name.data(), named.name.size());
      }
    }
    report->trials += add(FrameType::kTrial, journal, journal.trials, &trials_);
    report->commits += add(FrameType::kCommit, journal, journal.commits, &commits_);
  }

 private:
  using Counts = std::map<RecordKey, size_t>;

  static void count(const HistoryRecords& records, const std::vector<HistoryRecord>& of, Counts* to) {
    for (const HistoryRecord& record : of) {
      ++(*to)[{bytes_of(records.fingerprints[record.fingerprint]), record.payload}];
    }
  }

  /// What the history's last holder would write at its next start: other frames must not stand between.
  void close_intent(JoinReport* report) {
    if (main_.open_at_end && !intent_closed_) {
      write(FrameType::kTrial, main_, main_.trials[main_.open_intents.back()]);
      ++report->trials;
    }
    intent_closed_ = true;
  }

  /// Each is kept as often as the one that holds it most often does.
  size_t add(FrameType type, const HistoryRecords& journal, const std::vector<HistoryRecord>& of, Counts* have) {
    Counts seen;
    size_t added = 0;
    for (const HistoryRecord& record : of) {
      const RecordKey key{bytes_of(journal.fingerprints[record.fingerprint]), record.payload};
      size_t& here = (*have)[key];
      if (++seen[key] > here) {
        write(type, journal, record);
        ++here;
        ++added;
      }
    }
    return added;
  }

  void write(FrameType type, const HistoryRecords& records, const HistoryRecord& record) {
    const std::string fingerprint = bytes_of(records.fingerprints[record.fingerprint]);
    const auto [at, fresh] = known_.emplace(fingerprint, ordinals_);
    if (fresh) {
      to_.append(FrameType::kFingerprint, fingerprint.data(), fingerprint.size());
      ++ordinals_;
    }
    Bytes payload = record.payload;
    payload[kFingerprintInResult] = static_cast<uint8_t>(at->second & 0xFF);
    payload[kFingerprintInResult + 1] = static_cast<uint8_t>(at->second >> 8 & 0xFF);
    to_.append(type, payload.data(), payload.size());
  }

  const HistoryRecords& main_;
  Appender to_;
  std::map<std::string, size_t> known_;  ///< fingerprint -> ordinal
  size_t ordinals_ = 0;
  Counts trials_, commits_;
  std::set<uint64_t> names_;  ///< of workloads
  bool intent_closed_ = false;
};

struct DeadJournal {
  Journal journal;
  HistoryRecords records;
};

/// Held now, so that it stays what it is.
std::vector<DeadJournal> hold_dead_journals(const std::string& history, std::vector<std::string>* remarks) {
  std::vector<DeadJournal> dead;
  for (const std::string& path : journal_paths(history)) {
    DeadJournal found;
    found.journal.path = path;
    temper_linux_file* file = nullptr;
    if (temper_linux_file_open(path.c_str(), TEMPER_LINUX_APPEND, kHistoryCapacityBytes, &file) != TEMPER_OK) {
      continue;  // in use, or not ours to write: readers see it all the same
    }
    found.journal.file.reset(file);
    const Result<HistorySource> source = read_history(path);
    if (!source || source->form != HistoryForm::kFile) {
      remarks->push_back(path + " is no history and was left as it is");
      continue;
    }
    found.records = read_records(*source);
    if (found.records.unreadable > 0) {
      remarks->push_back(path + " holds records of a later version of temper and was left as it is");
      continue;
    }
    dead.push_back(std::move(found));
  }
  return dead;
}

/// What may still be made of it besides its records is told by their counts.
void add_losses(const HistoryRecords& records, bool in_use, JoinLosses* to) {
  to->damaged_bytes += in_use ? 0 : records.damaged_bytes;  // a frame that is being written looks torn
  to->lost_frames += records.lost_frames;
  to->unreadable += records.unreadable;
  to->orphans += records.orphans;
}

Result<HistorySource> joined_source(HistorySource history, HistoryRecords records,
                                    const std::vector<std::string>& journals) {
  std::vector<HistoryRecords> parts;
  add_losses(records, history.in_use, &history.joined);
  parts.push_back(std::move(records));
  size_t trials = 0, commits = 0;
  for (const std::string& path : journals) {
    Result<HistorySource> journal = read_history(path);
    if (!journal || journal->form != HistoryForm::kFile) {
      if (!journal && journal.error().code == TEMPER_NOT_FOUND) {
        continue;  // joined and deleted in this moment
      }
      history.remarks.push_back(path + " beside it is no history and was passed over");
      continue;
    }
    journal->in_use = held_elsewhere(path);
    parts.push_back(read_records(*journal));
    add_losses(parts.back(), journal->in_use, &history.joined);
    trials += parts.back().trials.size();
    commits += parts.back().commits.size();
  }
  const Result<MergedHistory> merged = merge_histories(parts);
  if (!merged) {
    return Error{merged.error().code, history.path + ": with its journals: " + merged.error().message};
  }
  if (parts.size() > 1) {
    history.remarks.push_back(std::to_string(parts.size() - 1) +
                              (parts.size() == 2 ? " journal beside it is" : " journals beside it are") +
                              " read with it: " + std::to_string(trials) + " trials and " + std::to_string(commits) +
                              " commits of other processes; the next temper tune joins what nobody appends to");
  }
  history.bytes = merged->bytes;
  history.in_use = false;
  return history;
}

}  // namespace

std::vector<std::string> journal_paths(const std::string& history) {
  const std::string path = named_file(history);
  const fs::path named = path;
  const fs::path folder = named.has_parent_path() ? named.parent_path() : fs::path(".");
  const std::string name = named.filename().string();
  std::map<uint32_t, std::string> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (const std::optional<uint32_t> number = number_of(at->path().filename().string(), name)) {
      found[*number] = journal_path(path, *number);
    }
  }
  std::vector<std::string> paths;
  for (auto& [number, journal] : found) {
    paths.push_back(std::move(journal));
  }
  return paths;
}

Result<Journal> create_journal(const std::string& history, const HistorySource& known) {
  const std::string named = named_file(history);
  for (uint32_t number = 1; number <= kMostJournals; ++number) {
    Journal journal;
    journal.path = journal_path(named, number);
    temper_linux_file* file = nullptr;
    errno = 0;
    const temper_status status =
        temper_linux_file_open(journal.path.c_str(), TEMPER_LINUX_APPEND, kHistoryCapacityBytes, &file);
    if (status == TEMPER_BUSY) {
      continue;
    }
    if (status != TEMPER_OK) {
      return Error{status, errno != 0 ? std::strerror(errno) : temper_status_name(status)};
    }
    journal.file.reset(file);
    uint8_t byte;
    const temper_storage* const storage = temper_linux_file_storage(file);
    if (storage->read(storage->self, 0, &byte, 1) != TEMPER_NOT_FOUND) {
      continue;  // left by one that was killed: it is not ours to extend
    }
    Appender appender(*storage);
    const HistoryRecords records = read_records(known);
    for (const size_t index : records.ordinals) {
      if (index != HistoryRecords::kUnreadable) {
        appender.append(FrameType::kFingerprint, &records.fingerprints[index], sizeof(Fingerprint));
      }
    }
    if (const Status written = appender.finish(); !written.ok()) {
      std::error_code ignored;
      fs::remove(journal.path, ignored);
      return Error{written.code(), temper_status_name(written.code())};
    }
    return journal;
  }
  return Error{TEMPER_BUSY, "too many journals lie beside it"};
}

JoinReport join_journals(const std::string& history, const temper_linux_file* file) {
  JoinReport report;
  const std::vector<DeadJournal> dead = hold_dead_journals(history, &report.remarks);
  if (dead.empty()) {
    return report;
  }
  Appender(*temper_linux_file_storage(file)).settle();
  const Result<HistorySource> main = read_history(history);
  if (!main || main->form != HistoryForm::kFile) {
    return report;  // who opens the history next says what is wrong with it
  }
  const HistoryRecords records = read_records(*main);
  const size_t fingerprints = records.ordinals.size();
  size_t most = fingerprints;
  for (const DeadJournal& each : dead) {
    most += each.records.fingerprints.size();
  }
  if (most > UINT16_MAX) {
    report.remarks.push_back(history + " holds too many fingerprints for what lies beside it; temper merge " + history +
                             " -o " + history + " makes room");
    return report;
  }
  Joiner joiner(records, *temper_linux_file_storage(file));
  for (const DeadJournal& each : dead) {
    joiner.join(each.records, &report);
  }
  if (const Status status = joiner.finish(); !status.ok()) {
    report = JoinReport{0, 0, 0, std::move(report.remarks)};
    report.remarks.push_back("what lies in the journals beside " + history + " cannot be joined now (" +
                             temper_status_name(status.code()) + ") and stays there");
    return report;
  }
  report.journals = dead.size();
  for (const DeadJournal& each : dead) {
    std::error_code ignored;
    fs::remove(each.journal.path, ignored);
  }
  return report;
}

Result<HistorySource> with_journals(HistorySource history, HistoryLock lock) {
  if (history.form != HistoryForm::kFile) {
    return history;
  }
  const std::vector<std::string> journals = journal_paths(history.path);
  HistoryRecords records = read_records(history);
  history.in_use = lock == HistoryLock::kElsewhere && records.open_at_end && held_elsewhere(history.path);
  if (journals.empty()) {
    return history;
  }
  if (history.in_use) {
    records = read_records(history);
  }
  return joined_source(std::move(history), std::move(records), journals);
}

Result<HistorySource> read_history_and_journals(const std::string& path) {
  Result<HistorySource> history = read_history(path);
  return history ? with_journals(std::move(*history)) : history;
}

Result<HistorySource> known_beside(HistorySource history) {
  history.in_use = held_elsewhere(history.path);
  HistoryRecords records = read_records(history);
  const std::vector<std::string> journals = journal_paths(history.path);
  return joined_source(std::move(history), std::move(records), journals);
}

}  // namespace temper
