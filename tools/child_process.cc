#include "tools/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>

extern char** environ;

namespace temper {
namespace {

constexpr int kEndingSignals[] = {SIGINT, SIGTERM, SIGHUP};

volatile std::sig_atomic_t child_group = 0;  // 0: no child is there
volatile std::sig_atomic_t signals = 0;
volatile std::sig_atomic_t last_signal = 0;

/// The child and all that it started end with us; what does not is killed by a second signal.
void pass_on(int signal_number) {
  signals = signals + 1;
  last_signal = signal_number;
  if (child_group > 0) {
    kill(-static_cast<pid_t>(child_group), signals == 1 ? signal_number : SIGKILL);
  }
}

/// While a child runs: what would end this process is passed on to the child's process group, which Ctrl-C does not
/// reach by itself; once the child has ended, this process ends as it would have. Blocked until the child is known.
class SignalsPassedOn {
 public:
  SignalsPassedOn() {
    sigset_t ending;
    sigemptyset(&ending);
    for (const int number : kEndingSignals) {
      sigaddset(&ending, number);
    }
    sigprocmask(SIG_BLOCK, &ending, &mask_);
    signals = 0;
    struct sigaction action {};
    action.sa_handler = pass_on;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < std::size(kEndingSignals); ++i) {
      sigaction(kEndingSignals[i], nullptr, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN) {  // nohup and shells in the background ask for that
        sigaction(kEndingSignals[i], &action, nullptr);
      }
    }
  }
  ~SignalsPassedOn() {
    child_group = 0;
    for (size_t i = 0; i < std::size(kEndingSignals); ++i) {
      sigaction(kEndingSignals[i], &before_[i], nullptr);
    }
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
    if (signals > 0) {
      raise(last_signal);
    }
  }
  SignalsPassedOn(const SignalsPassedOn&) = delete;

  const sigset_t& mask() const { return mask_; }
  void to(pid_t group) {
    child_group = group;
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }

 private:
  sigset_t mask_{};
  struct sigaction before_[std::size(kEndingSignals)]{};
};

/// posix_spawn's settings of one child; output to a descriptor.
struct FileActions {
  FileActions() {
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions); }
  FileActions(const FileActions&) = delete;
  posix_spawn_file_actions_t actions;
};

/// In a process group of its own, so that it can be ended with all that it starts.
Result<pid_t> spawn(const std::vector<std::string>& command, const FileActions& files, SignalsPassedOn* passed_on) {
  std::vector<char*> arguments;
  for (const std::string& word : command) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &passed_on->mask());
  pid_t child = 0;
  const int failed = posix_spawnp(&child, arguments[0], &files.actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (failed != 0) {
    return Error{failed == ENOENT ? TEMPER_NOT_FOUND : TEMPER_PORT_ERROR,
                 command.front() + " cannot be run: " + std::strerror(failed)};
  }
  passed_on->to(child);
  return child;
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    return access(name.c_str(), X_OK) == 0 ? name : "";
  }
  const char* const path = std::getenv("PATH");
  std::string rest = path != nullptr ? path : "/usr/bin:/bin";
  while (!rest.empty()) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    const std::string candidate = rest.substr(0, colon) + "/" + name;
    std::error_code ignored;
    if (access(candidate.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(candidate, ignored)) {
      return candidate;
    }
    rest.erase(0, colon + 1);
  }
  return "";
}

Result<int> run_logged(const std::vector<std::string>& command, const std::string& log) {
  const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) {
    return Error{TEMPER_STORAGE_ERROR, log + ": cannot be written: " + std::strerror(errno)};
  }
  FileActions files;
  posix_spawn_file_actions_adddup2(&files.actions, file, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files.actions, file, STDERR_FILENO);
  SignalsPassedOn passed_on;
  const Result<pid_t> child = spawn(command, files, &passed_on);
  close(file);
  return child ? Result<int>(wait_for(*child)) : Result<int>(child.error());
}

Result<std::string> output_of(const std::vector<std::string>& command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return Error{TEMPER_PORT_ERROR, std::string("no pipe: ") + std::strerror(errno)};
  }
  FileActions files;
  posix_spawn_file_actions_adddup2(&files.actions, ends[1], STDOUT_FILENO);
  SignalsPassedOn passed_on;
  const Result<pid_t> child = spawn(command, files, &passed_on);
  close(ends[1]);
  std::string text;
  char buffer[4096];
  ssize_t got = 0;
  while (child && ((got = read(ends[0], buffer, sizeof buffer)) > 0 || (got < 0 && errno == EINTR))) {
    text.append(buffer, got > 0 ? static_cast<size_t>(got) : 0);
  }
  close(ends[0]);
  if (!child) {
    return child.error();
  }
  const int status = wait_for(*child);
  if (status != 0) {
    return Error{TEMPER_BAD_DATA, command.front() + " ended with " + std::to_string(status)};
  }
  return text;
}

}  // namespace temper
