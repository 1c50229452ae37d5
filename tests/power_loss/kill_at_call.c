// Loaded before a program (LD_PRELOAD): kills it at its Nth call that changes a file, before the call, in the middle of
// it or behind it. TEMPER_KILL_AT is N, TEMPER_KILL_HOW is "before", "half" or "after"; TEMPER_KILL_COUNT names a file
// that gets the number of such calls when the program ends by itself. Programs that it starts are left alone.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static long kill_at = -1, calls = 0;
static char how = 'b';
static char count_path[1024];

__attribute__((constructor)) static void begin(void) {
  const char* at = getenv("TEMPER_KILL_AT");
  const char* when = getenv("TEMPER_KILL_HOW");
  const char* path = getenv("TEMPER_KILL_COUNT");
  kill_at = at == NULL ? -1 : atol(at);
  how = when == NULL ? 'b' : when[0];
  snprintf(count_path, sizeof count_path, "%s", path == NULL ? "" : path);
  unsetenv("TEMPER_KILL_AT");
  unsetenv("TEMPER_KILL_COUNT");
  unsetenv("LD_PRELOAD");
}

__attribute__((destructor)) static void end(void) {
  FILE* file = count_path[0] == '\0' ? NULL : fopen(count_path, "w");
  if (file != NULL) {
    fprintf(file, "%ld\n", calls);
    fclose(file);
  }
}

static int its_turn(void) { return ++calls == kill_at; }
static void die(void) {
  kill(getpid(), SIGKILL);
  pause();
}
static int is_file(int fd) {
  struct stat status;
  return fd > 2 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}
static void* next(const char* name) { return dlsym(RTLD_NEXT, name); }

// What is left of `bytes` is never written when half of them are.
#define DYING(turn, half_call, whole_call) \
  if (turn && how == 'b') {                \
    die();                                 \
  }                                        \
  if (turn && how == 'h') {                \
    half_call;                             \
    die();                                 \
  }                                        \
  whole_call;                              \
  if (turn) {                              \
    die();                                 \
  }

ssize_t write(int fd, const void* from, size_t bytes) {
  ssize_t (*real)(int, const void*, size_t) = (ssize_t(*)(int, const void*, size_t))next("write");
  const int turn = is_file(fd) && its_turn();
  ssize_t result;
  DYING(turn, (void)!real(fd, from, bytes / 2), result = real(fd, from, bytes))
  return result;
}

ssize_t pwrite(int fd, const void* from, size_t bytes, off_t offset) {
  ssize_t (*real)(int, const void*, size_t, off_t) = (ssize_t(*)(int, const void*, size_t, off_t))next("pwrite");
  const int turn = is_file(fd) && its_turn();
  ssize_t result;
  DYING(turn, (void)!real(fd, from, bytes / 2, offset), result = real(fd, from, bytes, offset))
  return result;
}

ssize_t pwrite64(int fd, const void* from, size_t bytes, off_t offset) { return pwrite(fd, from, bytes, offset); }

int ftruncate(int fd, off_t bytes) {
  int (*real)(int, off_t) = (int (*)(int, off_t))next("ftruncate");
  const int turn = its_turn();
  int result;
  DYING(turn, (void)0, result = real(fd, bytes))
  return result;
}

int fsync(int fd) {
  int (*real)(int) = (int (*)(int))next("fsync");
  const int turn = its_turn();
  int result;
  DYING(turn, (void)0, result = real(fd))
  return result;
}

int fdatasync(int fd) {
  int (*real)(int) = (int (*)(int))next("fdatasync");
  const int turn = its_turn();
  int result;
  DYING(turn, (void)0, result = real(fd))
  return result;
}

int rename(const char* from, const char* to) {
  int (*real)(const char*, const char*) = (int (*)(const char*, const char*))next("rename");
  const int turn = its_turn();
  int result;
  DYING(turn, (void)0, result = real(from, to))
  return result;
}

int unlink(const char* path) {
  int (*real)(const char*) = (int (*)(const char*))next("unlink");
  const int turn = its_turn();
  int result;
  DYING(turn, (void)0, result = real(path))
  return result;
}
