#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

#include "temper/port_linux.h"

struct temper_linux_file {
  temper_storage storage;
  int descriptor;
  bool writable;
};

namespace {

constexpr uint32_t kMaxCapacity = 0x80000000u;  // what a history can address

temper_status status_of(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return TEMPER_STORAGE_FULL;
    case ENOENT:
    case ENOTDIR:
      return TEMPER_NOT_FOUND;
    case EWOULDBLOCK:
      return TEMPER_BUSY;
    case ENOMEM:
      return TEMPER_NO_MEMORY;
    default:
      return TEMPER_STORAGE_ERROR;
  }
}

temper_status read_file(void* self, uint32_t offset, void* to, uint32_t bytes) {
  const auto* file = static_cast<const temper_linux_file*>(self);
  uint8_t* at = static_cast<uint8_t*>(to);
  while (bytes != 0) {
    const ssize_t got = pread(file->descriptor, at, bytes, offset);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return TEMPER_STORAGE_ERROR;
    }
    if (got == 0) {
      return TEMPER_NOT_FOUND;
    }
    at += got;
    offset += static_cast<uint32_t>(got);
    bytes -= static_cast<uint32_t>(got);
  }
  return TEMPER_OK;
}

temper_status program_file(void* self, uint32_t offset, const void* from, uint32_t bytes) {
  const auto* file = static_cast<const temper_linux_file*>(self);
  struct stat info;
  if (!file->writable || fstat(file->descriptor, &info) != 0 || info.st_size != static_cast<off_t>(offset) ||
      info.st_nlink == 0) {
    return TEMPER_STORAGE_ERROR;  // not ours to write, changed by somebody without the lock, or deleted under us
  }
  const uint8_t* at = static_cast<const uint8_t*>(from);
  while (bytes != 0) {
    const ssize_t written = pwrite(file->descriptor, at, bytes, offset);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      return status_of(errno);
    }
    at += written;
    offset += static_cast<uint32_t>(written);
    bytes -= static_cast<uint32_t>(written);
  }
  return TEMPER_OK;
}

temper_status sync_file(void* self) {
  const auto* file = static_cast<const temper_linux_file*>(self);
  return fdatasync(file->descriptor) == 0 ? TEMPER_OK : status_of(errno);
}

// A new file survives a power loss only when its folder's entry does. File systems that cannot sync a folder are left
// alone.
void sync_folder(const char* path) {
  char* copy = strdup(path);
  if (copy == nullptr) {
    return;
  }
  char* const slash = strrchr(copy, '/');
  if (slash != nullptr) {
    slash[slash == copy ? 1 : 0] = '\0';
  }
  const int folder = open(slash != nullptr ? copy : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    (void)fsync(folder);
    close(folder);
  }
  free(copy);
}

// A reader that asks whether anybody appends holds the lock for a moment: that is no reason to give up.
temper_status lock(int descriptor) {
  constexpr int kTries = 5;
  constexpr long kPauseNs = 2000000;
  for (int i = 1; flock(descriptor, LOCK_EX | LOCK_NB) != 0; ++i) {
    if (errno != EINTR && (errno != EWOULDBLOCK || i == kTries)) {
      return status_of(errno);
    }
    const struct timespec pause = {0, kPauseNs};
    nanosleep(&pause, nullptr);
  }
  return TEMPER_OK;
}

// Checks what was opened and takes the lock. errno tells why it failed; ESTALE: the path names another file by now.
temper_status claim(int descriptor, const char* path, bool writable, struct stat* info) {
  if (fstat(descriptor, info) != 0) {
    return status_of(errno);
  }
  if (!S_ISREG(info->st_mode)) {
    errno = EINVAL;
    return TEMPER_STORAGE_ERROR;
  }
  if (!writable) {
    return TEMPER_OK;
  }
  const temper_status status = lock(descriptor);
  struct stat named;
  if (status == TEMPER_OK &&
      (stat(path, &named) != 0 || named.st_ino != info->st_ino || named.st_dev != info->st_dev)) {
    errno = ESTALE;
    return TEMPER_STORAGE_ERROR;
  }
  // What was there before the lock was ours may have grown since.
  return status == TEMPER_OK && fstat(descriptor, info) != 0 ? status_of(errno) : status;
}

// The descriptor, or -1 with *status and errno.
int open_and_claim(const char* path, bool writable, struct stat* info, temper_status* status) {
  constexpr int kTries = 100;  // replaced or deleted between open and lock: as often in a row as nobody does it
  for (int i = 0; i < kTries; ++i) {
    // O_NONBLOCK: opening a pipe by mistake must not hang.
    const int flags = O_CLOEXEC | O_NONBLOCK | (writable ? O_RDWR | O_CREAT : O_RDONLY);
    const int descriptor = open(path, flags, 0644);
    if (descriptor < 0) {
      *status = status_of(errno);
      return -1;
    }
    *status = claim(descriptor, path, writable, info);
    if (*status == TEMPER_OK) {
      return descriptor;
    }
    const int error = errno;
    close(descriptor);
    errno = error;
    if (error != ESTALE) {
      return -1;
    }
  }
  return -1;
}

}  // namespace

temper_status temper_linux_file_open(const char* path, temper_linux_access access, uint32_t capacity_bytes,
                                     temper_linux_file** out) {
  if (path == nullptr || out == nullptr || capacity_bytes == 0 || capacity_bytes > kMaxCapacity) {
    errno = EINVAL;
    return TEMPER_INVALID_ARGUMENT;
  }
  *out = nullptr;
  const bool writable = access == TEMPER_LINUX_APPEND;
  struct stat info;
  temper_status status = TEMPER_STORAGE_ERROR;
  const int descriptor = open_and_claim(path, writable, &info, &status);
  if (descriptor < 0) {
    return status;
  }
  auto* file = static_cast<temper_linux_file*>(malloc(sizeof(temper_linux_file)));
  if (file == nullptr) {
    close(descriptor);
    errno = ENOMEM;
    return TEMPER_NO_MEMORY;
  }
  if (writable && info.st_size == 0) {
    sync_folder(path);
  }
  file->storage = {file, capacity_bytes, 1, 0, read_file, program_file, nullptr, sync_file};
  file->descriptor = descriptor;
  file->writable = writable;
  *out = file;
  return TEMPER_OK;
}

const temper_storage* temper_linux_file_storage(const temper_linux_file* file) { return &file->storage; }

void temper_linux_file_close(temper_linux_file* file) {
  if (file != nullptr) {
    close(file->descriptor);
    free(file);
  }
}
