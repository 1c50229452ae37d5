#include "tools/child_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

extern char** environ;

namespace temper {
namespace {

/// posix_spawn's settings of one child; output to a descriptor.
struct FileActions {
  FileActions() { posix_spawn_file_actions_init(&actions); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions); }
  FileActions(const FileActions&) = delete;
  posix_spawn_file_actions_t actions;
};

Result<pid_t> spawn(const std::vector<std::string>& command, const FileActions& files) {
  std::vector<char*> arguments;
  for (const std::string& word : command) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, arguments[0], &files.actions, nullptr, arguments.data(), environ);
  if (failed != 0) {
    return Error{failed == ENOENT ? TEMPER_NOT_FOUND : TEMPER_PORT_ERROR,
                 command.front() + " cannot be run: " + std::strerror(failed)};
  }
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
  posix_spawn_file_actions_addopen(&files.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files.actions, file, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files.actions, file, STDERR_FILENO);
  const Result<pid_t> child = spawn(command, files);
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
  const Result<pid_t> child = spawn(command, files);
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
