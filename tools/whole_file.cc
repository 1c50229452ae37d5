#include "tools/whole_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace temper {
namespace {

namespace fs = std::filesystem;

Error failure(const std::string& path, int error) {
  return Error{error == ENOSPC || error == EDQUOT || error == EFBIG ? TEMPER_STORAGE_FULL : TEMPER_STORAGE_ERROR,
               path + ": cannot be written: " + std::strerror(error)};
}

/// 0, or errno.
int write_and_sync(int fd, const std::vector<uint8_t>& bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      return errno;
    }
    done += static_cast<size_t>(n);
  }
  return ::fsync(fd) == 0 ? 0 : errno;
}

}  // namespace

Result<bool> write_whole_file(const std::string& path, const std::vector<uint8_t>& bytes) {
  std::error_code ignored;
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty()) {
    fs::create_directories(folder, ignored);
  }
  const std::string part = path + ".part" + std::to_string(::getpid());
  const int fd = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) {
    return failure(path, errno);
  }
  int error = write_and_sync(fd, bytes);
  if (::close(fd) != 0 && error == 0) {
    error = errno;
  }
  if (error == 0 && std::rename(part.c_str(), path.c_str()) != 0) {
    error = errno;
  }
  if (error != 0) {
    std::remove(part.c_str());
    return failure(path, error);
  }
  return true;
}

Result<std::vector<uint64_t>> read_whole_file(const std::string& path, size_t* bytes) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    return Error{TEMPER_NOT_FOUND, path + ": no such file"};
  }
  if (!fs::is_regular_file(path, error)) {
    return Error{TEMPER_STORAGE_ERROR, path + ": not a file"};
  }
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
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
