// The user's history: where it lies, and opening it. Folders are made; a history that cannot be written is read, or
// else kept in memory, with one warning: tuning goes on. Used by the commands that append; to read one, see
// tools/history_source.h.
#pragma once

#include <memory>
#include <string>

#include "schedules/result.h"
#include "temper/port_linux.h"

namespace temper {

struct HistoryFile {
  std::string path;
  std::string warning;  ///< one sentence for the user; empty when results will be kept
  std::unique_ptr<temper_linux_file, void (*)(temper_linux_file*)> file{nullptr, temper_linux_file_close};

  /// nullptr: there is none, or it is kept in memory only.
  const temper_storage* storage() const { return file ? temper_linux_file_storage(file.get()) : nullptr; }
};

/// $XDG_DATA_HOME/temper/TARGET.history, or below ~/.local/share. Empty when neither is set.
std::string default_history_path(const std::string& target);

/// To tune: made when absent. TEMPER_BUSY when another process appends to it.
Result<HistoryFile> open_history_to_append(const std::string& path);

/// What a status of History::open means for the user; the path is named.
Error history_error(const std::string& path, temper_status status);

}  // namespace temper
