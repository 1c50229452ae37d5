// Journals: while one process appends to a history, each other one appends to a journal of its own beside it,
// FILE.N.journal, a history by itself. Called where histories are opened (tools/history_file.h) and read. A journal is
// deleted only by the holder of the history's lock, when nobody holds the journal and the history has all of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "schedules/result.h"
#include "temper/port_linux.h"
#include "tools/history_source.h"

namespace temper {

using LinuxFile = std::unique_ptr<temper_linux_file, void (*)(temper_linux_file*)>;

/// Those that lie beside the history, by their numbers. A link counts as the file that it names.
std::vector<std::string> journal_paths(const std::string& history);

struct Journal {
  std::string path;
  LinuxFile file{nullptr, temper_linux_file_close};
};

/// A new one, locked, which begins with the fingerprints of `known` in their order, so that ordinals mean the same in
/// both. Statuses as temper_linux_file_open and History::append; nothing is left behind then.
Result<Journal> create_journal(const std::string& history, const HistorySource& known);

struct JoinReport {
  size_t journals = 0, trials = 0, commits = 0;  ///< what the history has now that it had not before
  std::vector<std::string> remarks;              ///< journals that were left, and why
};

/// Appends to the history what it lacks of every journal that nobody holds, then deletes those. The caller holds the
/// history's lock: `file` is that. Joined twice is joined once, so a crash in between is harmless. Anything that fails
/// leaves the journal where it is.
JoinReport join_journals(const std::string& history, const temper_linux_file* file);

enum class HistoryLock { kElsewhere, kOurs };  ///< who would be the one that appends, where somebody does

/// For readers: the history file together with its journals, in the canonical form of tools/history_merge.h, with a
/// remark; or as it was where it has none, or is no history file. `lock` kOurs: this process holds the lock.
Result<HistorySource> with_journals(HistorySource history, HistoryLock lock = HistoryLock::kElsewhere);

/// As read_history, then that.
Result<HistorySource> read_history_and_journals(const std::string& path);

/// The same for who appends to a journal: always in the canonical form, so that no intent is in it.
Result<HistorySource> known_beside(HistorySource history);

}  // namespace temper
