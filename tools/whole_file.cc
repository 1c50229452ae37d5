#include "tools/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace temper {
namespace {

namespace fs = std::filesystem;

/// Histories end there too; tables and packs are a thousand times smaller.
constexpr std::streamoff kMostBytes = std::streamoff{1} << 30;

Error failure(const std::string& path, int error) {
  return Error{error == ENOSPC || error == EDQUOT || error == EFBIG ? TEMPER_STORAGE_FULL : TEMPER_STORAGE_ERROR,
               path + ": cannot be written: " + std::strerror(error)};
}

/// 0, or errno.
int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      return errno;
    }
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return 0;
}

/// A device, a pipe or a name for an open file such as /dev/stdout: a file renamed over it would take its place.
bool written_in_place(const std::string& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  const bool open_file =
      path.rfind("/dev/std", 0) == 0 || path.rfind("/dev/fd/", 0) == 0 || path.rfind("/proc/", 0) == 0;
  return open_file || (fs::exists(status) && !fs::is_regular_file(status));
}

/// Also where it does not exist yet.
bool same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return !a.empty() && !b.empty() &&
         (fs::equivalent(a, b, ignored) || fs::weakly_canonical(a, ignored) == fs::weakly_canonical(b, ignored));
}

int write_in_place(const std::string& path, std::string_view bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) {
    return errno;
  }
  const int error = write_all(fd, bytes);
  return ::close(fd) != 0 && error == 0 ? errno : error;
}

int replace(const std::string& path, std::string_view bytes) {
  struct stat old {};
  const mode_t mode = ::stat(path.c_str(), &old) == 0 ? old.st_mode & 0777 : 0644;
  const std::string part = path + ".part" + std::to_string(::getpid());
  const int fd = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  if (fd < 0) {
    return errno;
  }
  int error = write_all(fd, bytes);
  if (error == 0 && ::fsync(fd) != 0) {
    error = errno;
  }
  if (::close(fd) != 0 && error == 0) {
    error = errno;
  }
  if (error == 0 && std::rename(part.c_str(), path.c_str()) != 0) {
    error = errno;
  }
  if (error != 0) {
    std::remove(part.c_str());
  }
  return error;
}

}  // namespace

Result<bool> write_whole_file(const std::string& path, std::string_view bytes) {
  int error = 0;
  if (written_in_place(path)) {
    error = write_in_place(path, bytes);
  } else {
    std::error_code ignored;
    const fs::path named = fs::is_symlink(path, ignored) ? fs::weakly_canonical(path, ignored) : fs::path(path);
    error = replace(named.empty() ? path : named.string(), bytes);
  }
  return error == 0 ? Result<bool>(true) : Result<bool>(failure(path, error));
}

Result<bool> write_whole_file(const std::string& path, const std::vector<uint8_t>& bytes) {
  return write_whole_file(path, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

Result<bool> can_write(const std::string& path) {
  const bool in_place = written_in_place(path);
  const std::string part = in_place ? path : path + ".part" + std::to_string(::getpid());
  const int fd =
      ::open(part.c_str(), in_place ? O_WRONLY | O_CLOEXEC | O_NONBLOCK : O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) {
    return in_place && errno == ENXIO ? Result<bool>(true) : Result<bool>(failure(path, errno));  // a pipe not yet read
  }
  ::close(fd);
  if (!in_place) {
    std::remove(part.c_str());
  }
  return true;
}

Result<bool> keep_apart(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].empty() || outputs[i] == "-" || written_in_place(outputs[i])) {
      continue;
    }
    for (const std::string& input : inputs) {
      std::error_code ignored;
      if (fs::equivalent(outputs[i], input, ignored)) {
        return Error{TEMPER_INVALID_ARGUMENT, outputs[i] + " would replace an input; name another output"};
      }
    }
    for (size_t other = 0; other < i; ++other) {
      if (outputs[other] != "-" && same_file(outputs[i], outputs[other])) {
        return Error{TEMPER_INVALID_ARGUMENT, outputs[i] + " is named for two outputs; name another for one of them"};
      }
    }
  }
  return true;
}

void make_folder_of(const std::string& path) {
  std::error_code ignored;
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty()) {
    fs::create_directories(folder, ignored);
  }
}

Result<std::vector<uint64_t>> read_whole_file(const std::string& path, size_t* bytes) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    return Error{TEMPER_NOT_FOUND, path + ": no such file"};
  }
  if (!fs::is_regular_file(path, error)) {
    return Error{TEMPER_BAD_DATA, path + ": not a file"};
  }
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  if (size > kMostBytes) {
    return Error{TEMPER_BAD_DATA, path + ": is larger than 1 GiB, which no file of ours is"};
  }
  std::vector<uint64_t> words;
  if (size >= 0) {
    words.resize((static_cast<size_t>(size) + 7) / 8);
    file.seekg(0);
    file.read(reinterpret_cast<char*>(words.data()), size);
  }
  if (size < 0 || !file) {
    return Error{TEMPER_STORAGE_ERROR, path + ": cannot be read"};
  }
  *bytes = static_cast<size_t>(size);
  return words;
}

}  // namespace temper
