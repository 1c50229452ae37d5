#include "tools/history_file.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace temper {
namespace {

namespace fs = std::filesystem;

/// EINVAL is what the port answers for folders, pipes and devices.
std::string reason_of(temper_status status, int error) {
  return error == EINVAL ? "not a file" : error != 0 ? std::strerror(error) : temper_status_name(status);
}

std::string counted(size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::vector<std::string> notes_of(const std::string& path, JoinReport joined) {
  std::vector<std::string> notes = std::move(joined.remarks);
  if (joined.trials + joined.commits > 0) {
    notes.push_back(path + " was joined with " + counted(joined.journals, "journal") + ": " +
                    counted(joined.trials, "trial") + ", " + counted(joined.commits, "commit"));
  }
  return notes;
}

/// For a history that another process appends to.
Result<HistoryFile> open_journal(HistoryFile history) {
  Result<HistorySource> read = read_history(history.path);
  if (read) {
    read = known_beside(std::move(*read));
  }
  if (!read) {
    return read.error();
  }
  history.known = std::move(*read);
  history.known->remarks.clear();
  Result<Journal> journal = create_journal(history.path, *history.known);
  const std::string busy = "another process appends to " + history.path;
  if (!journal) {
    history.warning = busy + ", and no journal can be written beside it (" + journal.error().message +
                      "); what is known is used, new results are kept in memory only";
    return history;
  }
  history.file = std::move(journal->file);
  history.journal = journal->path;
  history.notes.push_back(busy + "; this run appends to " + history.journal +
                          ", which is joined with it when both have ended");
  return history;
}

}  // namespace

std::string default_history_path(const std::string& target) {
  const char* data = std::getenv("XDG_DATA_HOME");
  // The XDG base directory specification: relative paths are invalid and must be ignored.
  if (data != nullptr && data[0] == '/') {
    return (fs::path(data) / "temper" / (target + ".history")).string();
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || home[0] == '\0') {
    return "";
  }
  return (fs::path(home) / ".local" / "share" / "temper" / (target + ".history")).string();
}

Result<HistoryFile> open_history_to_append(const std::string& path) {
  HistoryFile history;
  history.path = path;
  if (path.empty()) {
    history.warning =
        "neither XDG_DATA_HOME nor HOME is set; results are kept in memory only (name a file with --history)";
    return history;
  }
  std::error_code error;
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty()) {
    fs::create_directories(folder, error);
  }
  temper_linux_file* file = nullptr;
  errno = 0;
  const temper_status status = temper_linux_file_open(path.c_str(), TEMPER_LINUX_APPEND, kHistoryCapacityBytes, &file);
  const std::string reason = error ? error.message() : reason_of(status, errno);
  if (status == TEMPER_OK) {
    history.file.reset(file);
    history.notes = notes_of(path, join_journals(path, file));
    return history;
  }
  if (status == TEMPER_BUSY) {
    return open_journal(std::move(history));
  }
  history.warning = path + " cannot be written (" + reason + "); ";
  if (temper_linux_file_open(path.c_str(), TEMPER_LINUX_READ, kHistoryCapacityBytes, &file) == TEMPER_OK) {
    history.file.reset(file);
    history.warning += "what it holds is used, new results are kept in memory only";
  } else {
    history.warning += "results are kept in memory only";
  }
  return history;
}

std::vector<std::string> close_history(HistoryFile* history) {
  const bool kept = history->file != nullptr && history->warning.empty();
  temper_linux_file* file = kept && history->journal.empty() ? history->file.release() : nullptr;
  history->file.reset();  // a journal that is held is not joined
  if (kept && file == nullptr) {
    static_cast<void>(temper_linux_file_open(history->path.c_str(), TEMPER_LINUX_APPEND, kHistoryCapacityBytes, &file));
  }
  std::vector<std::string> notes;
  if (file != nullptr) {
    notes = notes_of(history->path, join_journals(history->path, file));
    temper_linux_file_close(file);
  }
  return notes;
}

Result<HistoryFile> hold_history(const std::string& path) {
  HistoryFile history;
  history.path = path;
  std::error_code none;
  temper_linux_file* file = nullptr;
  if (!fs::is_regular_file(path, none)) {
    return history;
  }
  const temper_status status = temper_linux_file_open(path.c_str(), TEMPER_LINUX_APPEND, kHistoryCapacityBytes, &file);
  if (status == TEMPER_BUSY) {
    return Error{TEMPER_BUSY, path + ": another process appends to it; wait for it, or name another output"};
  }
  history.file.reset(file);
  return history;
}

Error history_error(const std::string& path, temper_status status) {
  switch (status) {
    case TEMPER_BAD_VERSION:
      return {status, path + ": a history of another version; it was left as it is. Start another with --history FILE"};
    case TEMPER_BAD_DATA:
      return {status, path +
                          ": not a history; it was left as it is. Name another with --history FILE (temper merge makes "
                          "one of a console log or a flash image)"};
    default:
      return {status, path + ": " + temper_status_name(status)};
  }
}

}  // namespace temper
