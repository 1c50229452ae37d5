#include "tools/build_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>

#include "tools/whole_file.h"

namespace temper {
namespace {

namespace fs = std::filesystem;

/// "NAME:TYPE=VALUE" lines of a CMake cache.
std::map<std::string, std::string> read_cache(const fs::path& path) {
  std::map<std::string, std::string> values;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    const size_t equals = line.find('=');
    if (colon != std::string::npos && equals != std::string::npos && colon < equals) {
      values[line.substr(0, colon)] = line.substr(equals + 1);
    }
  }
  return values;
}

bool same_place(const std::string& a, const fs::path& b) {
  std::error_code ignored;
  return fs::equivalent(a, b, ignored);
}

Error failure(const fs::path& path, const std::error_code& error) {
  return {TEMPER_STORAGE_ERROR, path.string() + ": cannot be removed: " + error.message()};
}

/// CMake keeps the compiler that it found first, whatever toolchain file it is given later.
Result<bool> clear_cmake(const BuildKit& kit, const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder / "CMakeCache.txt", error)) {
    return true;
  }
  std::map<std::string, std::string> cache = read_cache(folder / "CMakeCache.txt");
  const std::string project = cache["CMAKE_PROJECT_NAME"];
  if (!project.empty() && project != "temper_firmware") {
    return Error{TEMPER_INVALID_ARGUMENT, folder.string() + ": is the CMake build of another project, " + project +
                                              "; name another folder with -o"};
  }
  if (same_place(cache["CMAKE_HOME_DIRECTORY"], kit.firmware()) &&
      same_place(cache["CMAKE_TOOLCHAIN_FILE"], kit.toolchain) && same_place(cache["CMAKE_CACHEFILE_DIR"], folder)) {
    return true;
  }
  fs::remove_all(folder, error);
  return error ? Result<bool>(failure(folder, error)) : Result<bool>(true);
}

}  // namespace

std::vector<std::string> firmware_programs() { return {"first_boot", "collect_boot", "winners_boot"}; }

BuildFolder::BuildFolder(BuildFolder&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

BuildFolder& BuildFolder::operator=(BuildFolder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(lock_, other.lock_);
  return *this;
}

BuildFolder::~BuildFolder() {
  if (lock_ >= 0) {
    close(lock_);
  }
}

Result<BuildFolder> BuildFolder::open(const std::string& path) {
  std::error_code error;
  const std::string whole = fs::absolute(path, error).string();
  if (const size_t bad = whole.find_first_of("\";\\$\n"); bad != std::string::npos) {
    return Error{TEMPER_INVALID_ARGUMENT, whole + ": CMake cannot work in a folder whose path holds " +
                                              (whole[bad] == '\n' ? "a new line" : whole.substr(bad, 1)) +
                                              "; name another folder"};
  }
  fs::create_directories(path, error);
  if (error) {
    return Error{TEMPER_STORAGE_ERROR, path + ": no folder can be made there: " + error.message()};
  }
  if (Result<bool> writable = can_write(path + "/build.json"); !writable) {
    return writable.error();
  }
  BuildFolder folder;
  folder.path_ = path;
  folder.lock_ = ::open(path.c_str(), O_RDONLY | O_DIRECTORY);  // kept by the programs that are started
  if (folder.lock_ >= 0 && flock(folder.lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return Error{TEMPER_BUSY, path + ": another temper build is at work there; wait for it or name another folder"};
  }
  return folder;
}

Result<bool> BuildFolder::clear(const BuildKit& kit, const std::string& name) const {
  const fs::path folder = path_;
  std::vector<fs::path> files = {"build.json", "size_report.json", "emulate", "lib/libtemper_runtime.a",
                                 "lib/libtemper_port_linux.a"};
  for (const std::string& program : firmware_programs()) {
    for (const char* ending : {"", ".elf", ".map"}) {
      files.push_back(program + ending);
    }
  }
  for (const char* ending : {".pack", "_pack.o", "_pack.so"}) {
    if (!name.empty()) {
      files.push_back(name + ending);
    }
  }
  for (const fs::path& file : files) {
    std::error_code error;
    const fs::file_status status = fs::symlink_status(folder / file, error);
    if (fs::exists(status) && !fs::is_directory(status)) {
      fs::remove(folder / file, error);
      if (error) {
        return failure(folder / file, error);
      }
    }
  }
  return clear_cmake(kit, folder / "cmake");
}

}  // namespace temper
