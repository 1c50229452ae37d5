#include "tools/history_file.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace temper {
namespace {

namespace fs = std::filesystem;

/// A history of a thousand trials takes some 100 KB; this is a bound against run-away growth, not a wish.
constexpr uint32_t kCapacityBytes = 1u << 30;

/// EINVAL is what the port answers for folders, pipes and devices.
std::string reason_of(temper_status status, int error) {
  return error == EINVAL ? "not a file" : error != 0 ? std::strerror(error) : temper_status_name(status);
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
  const temper_status status = temper_linux_file_open(path.c_str(), TEMPER_LINUX_APPEND, kCapacityBytes, &file);
  const std::string reason = error ? error.message() : reason_of(status, errno);
  if (status == TEMPER_OK) {
    history.file.reset(file);
    return history;
  }
  if (status == TEMPER_BUSY) {
    return Error{TEMPER_BUSY,
                 path + ": another temper is tuning with this history; wait for it, or use --history FILE"};
  }
  history.warning = path + " cannot be written (" + reason + "); ";
  if (temper_linux_file_open(path.c_str(), TEMPER_LINUX_READ, kCapacityBytes, &file) == TEMPER_OK) {
    history.file.reset(file);
    history.warning += "what it holds is used, new results are kept in memory only";
  } else {
    history.warning += "results are kept in memory only";
  }
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
