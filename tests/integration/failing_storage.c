// Loaded before the C library (LD_PRELOAD) by storage_failure_test: the FAIL_AT-th call that changes something below
// the folder FAIL_UNDER fails with the errno FAIL_WITH, and with FAIL_ON=1 every later one too; removing and truncating
// never fail. The file FAIL_MARK says that one did. Never part of the product.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum { kDescriptors = 1024 };
static bool below[kDescriptors];
static int calls;

static bool is_below(const char* path) {
  const char* const under = getenv("FAIL_UNDER");
  return under != NULL && path != NULL && strncmp(path, under, strlen(under)) == 0;
}

static bool is_open_below(int fd) { return fd >= 0 && fd < kDescriptors && below[fd]; }

static bool fails(void) {
  const char* const at = getenv("FAIL_AT");
  const char* const on = getenv("FAIL_ON");
  ++calls;
  if (at == NULL || calls < atoi(at) || (calls > atoi(at) && on == NULL)) {
    return false;
  }
  const char* const mark = getenv("FAIL_MARK");
  if (mark != NULL) {
    syscall(SYS_openat, AT_FDCWD, mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  }
  errno = atoi(getenv("FAIL_WITH"));
  return true;
}

static int open_through(const char* name, const char* path, int flags, mode_t mode) {
  const bool counts = is_below(path) && (flags & (O_WRONLY | O_RDWR)) != 0;
  if (counts && fails()) {
    return -1;
  }
  int (*const next)(const char*, int, ...) = (int (*)(const char*, int, ...))dlsym(RTLD_NEXT, name);
  const int fd = next(path, flags, mode);
  if (fd >= 0 && fd < kDescriptors) {
    below[fd] = counts;
  }
  return fd;
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_through("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_through("open64", path, flags, mode);
}

ssize_t write(int fd, const void* from, size_t bytes) {
  if (is_open_below(fd) && fails()) {
    return -1;
  }
  return ((ssize_t(*)(int, const void*, size_t))dlsym(RTLD_NEXT, "write"))(fd, from, bytes);
}

ssize_t pwrite(int fd, const void* from, size_t bytes, off_t offset) {
  if (is_open_below(fd) && fails()) {
    return -1;
  }
  return ((ssize_t(*)(int, const void*, size_t, off_t))dlsym(RTLD_NEXT, "pwrite"))(fd, from, bytes, offset);
}

ssize_t pwrite64(int fd, const void* from, size_t bytes, off64_t offset) {
  if (is_open_below(fd) && fails()) {
    return -1;
  }
  return ((ssize_t(*)(int, const void*, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64"))(fd, from, bytes, offset);
}

int fsync(int fd) {
  if (is_open_below(fd) && fails()) {
    return -1;
  }
  return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}

int fdatasync(int fd) {
  if (is_open_below(fd) && fails()) {
    return -1;
  }
  return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(fd);
}

int rename(const char* from, const char* to) {
  if (is_below(to) && fails()) {
    return -1;
  }
  return ((int (*)(const char*, const char*))dlsym(RTLD_NEXT, "rename"))(from, to);
}

int link(const char* from, const char* to) {
  if (is_below(to) && fails()) {
    return -1;
  }
  return ((int (*)(const char*, const char*))dlsym(RTLD_NEXT, "link"))(from, to);
}

int mkdir(const char* path, mode_t mode) {
  if (is_below(path) && fails()) {
    return -1;
  }
  return ((int (*)(const char*, mode_t))dlsym(RTLD_NEXT, "mkdir"))(path, mode);
}

int close(int fd) {
  if (fd >= 0 && fd < kDescriptors) {
    below[fd] = false;
  }
  return ((int (*)(int))dlsym(RTLD_NEXT, "close"))(fd);
}
