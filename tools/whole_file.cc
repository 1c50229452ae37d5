#include "tools/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>

namespace temper {
namespace {

namespace fs = std::filesystem;

/// Histories end there too; tables and packs are a thousand times smaller.
constexpr std::streamoff kMostBytes = std::streamoff{1} << 30;

const char* way_out(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "; make room, or name another place";
    case EACCES:
    case EPERM:
    case EROFS:
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case EFBIG:
      return "; name another place";
    default:
      return "; see whether the device is sound, or name another place";
  }
}

Error failure(const std::string& path, int error) {
  return Error{error == ENOSPC || error == EDQUOT || error == EFBIG ? TEMPER_STORAGE_FULL : TEMPER_STORAGE_ERROR,
               path + ": cannot be written: " + std::strerror(error) + way_out(error)};
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

void sync_folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) {
    static_cast<void>(::fsync(fd));  // file systems that cannot are left alone
    ::close(fd);
  }
}

/// One file on its way: written beside its place, then renamed. What is left beside is removed with it.
class Replacement {
 public:
  explicit Replacement(const std::string& path)
      : path_(named_file(path)),
        part_(path_ + ".part" + std::to_string(::getpid())),
        old_(path_ + ".old" + std::to_string(::getpid())) {}
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;
  ~Replacement() {
    ::unlink(part_.c_str());
    if (kept_) {
      ::unlink(old_.c_str());
    }
  }

  int stage(std::string_view bytes) {
    struct stat old {};
    exists_ = ::stat(path_.c_str(), &old) == 0;
    if (exists_ && S_ISDIR(old.st_mode)) {
      return EISDIR;
    }
    const mode_t mode = exists_ ? old.st_mode & 0777 : 0644;
    const int fd = ::open(part_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    if (fd < 0) {
      return errno;
    }
    int error = write_all(fd, bytes);
    if (error == 0 && ::fsync(fd) != 0) {
      error = errno;
    }
    return ::close(fd) != 0 && error == 0 ? errno : error;
  }

  /// So that undo() can bring it back. Where the file system has no links it cannot, and leaves the new one.
  void keep_old() { kept_ = exists_ && ::link(path_.c_str(), old_.c_str()) == 0; }
  int put() const { return ::rename(part_.c_str(), path_.c_str()) != 0 ? errno : 0; }
  void undo() const {
    if (kept_) {
      static_cast<void>(::rename(old_.c_str(), path_.c_str()));
    } else if (!exists_) {
      ::unlink(path_.c_str());
    }
  }
  void sync_folder() const { sync_folder_of(path_); }

 private:
  std::string path_, part_, old_;
  bool exists_ = false;  ///< something is replaced
  bool kept_ = false;    ///< it is at old_ too
};

}  // namespace

std::string named_file(const std::string& path) {
  std::error_code ignored;
  const fs::path named = fs::is_symlink(path, ignored) ? fs::weakly_canonical(path, ignored) : fs::path(path);
  return named.empty() ? path : named.string();
}

Result<bool> write_whole_files(const std::vector<WholeFile>& files) {
  std::deque<Replacement> replacements;  // none is ever moved
  std::vector<const WholeFile*> of;
  for (const WholeFile& file : files) {
    const bool in_place = written_in_place(file.path);
    if (!in_place) {
      replacements.emplace_back(file.path);
      of.push_back(&file);
    }
    if (const int error = in_place ? write_in_place(file.path, file.bytes) : replacements.back().stage(file.bytes)) {
      return failure(file.path, error);
    }
  }
  for (size_t i = 0; i < replacements.size(); ++i) {
    if (replacements.size() > 1) {
      replacements[i].keep_old();
    }
    if (const int error = replacements[i].put()) {
      for (size_t done = 0; done < i; ++done) {
        replacements[done].undo();
      }
      return failure(of[i]->path, error);
    }
  }
  for (const Replacement& replacement : replacements) {
    replacement.sync_folder();
  }
  return true;
}

Result<bool> write_whole_file(const std::string& path, std::string_view bytes) {
  return write_whole_files({{path, bytes}});
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
