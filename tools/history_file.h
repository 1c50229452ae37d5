// The user's history: where it lies, and opening it to append. Folders are made; where another process appends to it, a
// journal beside it takes what is new (tools/history_journal.h); one that cannot be written is read, or else kept in
// memory, with one warning: tuning goes on. To read one, see tools/history_source.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedules/result.h"
#include "temper/port_linux.h"
#include "tools/history_journal.h"
#include "tools/history_source.h"

namespace temper {

struct HistoryFile {
  std::string path;
  std::string warning;                 ///< one sentence for the user; empty when results will be kept
  std::vector<std::string> notes;      ///< sentences for the user: what other processes have to do with it
  std::string journal;                 ///< path of the journal that takes what is new; empty: the history itself does
  std::optional<HistorySource> known;  ///< with a journal: what was known before it, in the place of what `file` holds
  LinuxFile file{nullptr, temper_linux_file_close};

  /// What is appended to. nullptr: there is none, or it is kept in memory only.
  const temper_storage* storage() const { return file ? temper_linux_file_storage(file.get()) : nullptr; }
};

/// $XDG_DATA_HOME/temper/TARGET.history, or below ~/.local/share. Empty when neither is set.
std::string default_history_path(const std::string& target);

/// To tune: made when absent; what others left in journals is joined first. TEMPER_BAD_DATA or TEMPER_BAD_VERSION where
/// another process appends to something that is no history.
Result<HistoryFile> open_history_to_append(const std::string& path);

/// Closes it and joins what lies beside it, unless another process still appends. Notes for the user are returned.
std::vector<std::string> close_history(HistoryFile* history);

/// Holds a file against everybody who would append to it; nothing where there is none or it cannot be written.
/// TEMPER_BUSY when somebody does.
Result<HistoryFile> hold_history(const std::string& path);

/// What a status of History::open means for the user; the path is named.
Error history_error(const std::string& path, temper_status status);

}  // namespace temper
