#include "codegen/worker_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace temper {
namespace {

constexpr int kWorkerFd = 3;

/// Owns the two attribute objects of posix_spawn.
struct SpawnSettings {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;

  SpawnSettings() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
};

void set_up(SpawnSettings* settings, int child_fd) {
  posix_spawn_file_actions_adddup2(&settings->actions, child_fd, kWorkerFd);
  posix_spawn_file_actions_addopen(&settings->actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&settings->actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&settings->actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&settings->actions, kWorkerFd + 1);
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (const int signal_number : {SIGINT, SIGTERM, SIGPIPE, SIGSEGV, SIGABRT, SIGILL, SIGFPE, SIGBUS, SIGALRM}) {
    sigaddset(&defaults, signal_number);
  }
  posix_spawnattr_setsigmask(&settings->attributes, &none);
  posix_spawnattr_setsigdefault(&settings->attributes, &defaults);
  posix_spawnattr_setpgroup(&settings->attributes, 0);
  posix_spawnattr_setflags(&settings->attributes,
                           static_cast<short>(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
}

}  // namespace

Result<bool> WorkerProcess::start(const WorkerCommand& command) {
  stop();
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return Error{TEMPER_PORT_ERROR, std::string("cannot make a socket for a worker: ") + std::strerror(errno)};
  }
  // dup2 onto the same number would keep the close-on-exec flag, so the child's end must lie elsewhere.
  if (ends[1] == kWorkerFd) {
    const int moved = ::fcntl(ends[1], F_DUPFD_CLOEXEC, kWorkerFd + 1);
    ::close(ends[1]);
    ends[1] = moved;
  }
  SpawnSettings settings;
  set_up(&settings, ends[1]);

  std::vector<std::string> words = {command.path};
  words.insert(words.end(), command.arguments.begin(), command.arguments.end());
  words.insert(words.end(), {"--fd", std::to_string(kWorkerFd)});
  std::vector<char*> argv;
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);

  pid_t pid = -1;
  const int failure =
      ::posix_spawn(&pid, command.path.c_str(), &settings.actions, &settings.attributes, argv.data(), environ);
  ::close(ends[1]);
  if (failure != 0) {
    ::close(ends[0]);
    return Error{TEMPER_PORT_ERROR, "cannot start the worker " + command.path + ": " + std::strerror(failure)};
  }
  pid_ = pid;
  fd_ = ends[0];
  queue_ = MessageQueue();
  return true;
}

void WorkerProcess::stop() {
  if (!running()) {
    return;
  }
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  ::close(fd_);
  pid_ = -1;
  fd_ = -1;
  queue_ = MessageQueue();
}

void WorkerProcess::set_niceness(int value) {
  if (running()) {
    static_cast<void>(::setpriority(PRIO_PROCESS, static_cast<id_t>(pid_), value));
  }
}

}  // namespace temper
