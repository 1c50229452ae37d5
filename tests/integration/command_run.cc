#include "tests/integration/command_run.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

extern char** environ;

namespace temper {
namespace {

namespace fs = std::filesystem;

std::string quoted(const std::string& word) { return std::string("'").append(word).append("'"); }

}  // namespace

std::string scratch_folder(const std::string& name) {
  const fs::path folder = fs::path(TEMPER_SCRATCH) / name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder.string();
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  REQUIRE(file.good());
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Command::Command(const std::string& folder, const std::vector<std::string>& arguments, const std::string& shell_prefix)
    : folder_(folder) {
  std::string line = shell_prefix;
  line.append(" exec ").append(quoted(TEMPER_BINARY));
  for (const std::string& argument : arguments) {
    line.append(" ").append(quoted(argument));
  }
  std::vector<std::string> words = {"/bin/sh", "-c", line};
  std::vector<char*> argv;
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  std::string data_home = std::string("XDG_DATA_HOME=").append(folder);
  std::vector<char*> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::string(*entry).rfind("XDG_DATA_HOME=", 0) != 0) {
      environment.push_back(*entry);
    }
  }
  environment.push_back(data_home.data());
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const int flags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, (folder_ + "/out").c_str(), flags, 0644);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, (folder_ + "/err").c_str(), flags, 0644);
  REQUIRE(posix_spawn(&pid_, words[0].c_str(), &actions, nullptr, argv.data(), environment.data()) == 0);
  posix_spawn_file_actions_destroy(&actions);
}

Command::~Command() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, &status_, 0);
  }
}

void Command::send_signal(int signal_number) const { REQUIRE(::kill(pid_, signal_number) == 0); }

bool Command::ended() {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_;
}

CommandResult Command::wait() {
  while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  CommandResult result;
  result.exit_code = WIFEXITED(status_) ? WEXITSTATUS(status_) : -1;
  result.signal_number = WIFSIGNALED(status_) ? WTERMSIG(status_) : 0;
  result.out = read_text(folder_ + "/out");
  result.err = read_text(folder_ + "/err");
  return result;
}

std::vector<pid_t> Command::children() const {
  const std::string pid = std::to_string(pid_);
  std::istringstream list(
      read_text(std::string("/proc/").append(pid).append("/task/").append(pid).append("/children")));
  std::vector<pid_t> pids;
  for (pid_t child = 0; list >> child;) {
    pids.push_back(child);
  }
  return pids;
}

CommandResult run_temper(const std::string& folder, const std::vector<std::string>& arguments,
                         const std::string& shell_prefix) {
  Command command(folder, arguments, shell_prefix);
  return command.wait();
}

}  // namespace temper
