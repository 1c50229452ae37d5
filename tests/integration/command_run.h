// Runs the `temper` command as a user would: own data folder, captured output, exit code. Used by the integration
// tests.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace temper {

struct CommandResult {
  int exit_code = -1;  ///< -1 when a signal ended it
  int signal_number = 0;
  std::string out, err;
};

/// A folder of its own below the build folder, emptied first.
std::string scratch_folder(const std::string& name);
void write_text(const std::string& path, const std::string& text);
std::string read_text(const std::string& path);

/// One process. Output goes to files in `folder`, so that it never blocks.
class Command {
 public:
  /// Starts `temper ARGUMENTS...` with `folder` as data home. `shell_prefix` runs before it in a shell ("ulimit -f
  /// 4;").
  Command(const std::string& folder, const std::vector<std::string>& arguments, const std::string& shell_prefix = "");
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  ~Command();

  pid_t pid() const { return pid_; }
  void send_signal(int signal_number) const;
  /// True when it ended already.
  bool ended();
  CommandResult wait();
  /// Processes that it started and that still run.
  std::vector<pid_t> children() const;

 private:
  std::string folder_;
  pid_t pid_ = -1;
  int status_ = 0;
};

CommandResult run_temper(const std::string& folder, const std::vector<std::string>& arguments,
                         const std::string& shell_prefix = "");

}  // namespace temper
