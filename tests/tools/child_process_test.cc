#include "tools/child_process.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

namespace temper {
namespace {

std::string log_file() {
  std::filesystem::create_directories(TEMPER_SCRATCH);
  return std::string(TEMPER_SCRATCH) + "/child_process.log";
}

/// True when the other end is readable or closed within 20 seconds.
bool comes(int end) {
  pollfd waiting{end, POLLIN, 0};
  return poll(&waiting, 1, 20000) == 1;
}

}  // namespace

TEST_CASE("a program's exit status, or the signal that ended it, is told") {
  CHECK(*run_logged({"sh", "-c", "exit 3"}, log_file()) == 3);
  CHECK(*run_logged({"sh", "-c", "kill -TERM $$"}, log_file()) == 128 + SIGTERM);
  CHECK(run_logged({"no-such-program-anywhere"}, log_file()).error().code == TEMPER_NOT_FOUND);
  CHECK(*output_of({"echo", "one"}) == "one\n");
  CHECK(!output_of({"sh", "-c", "exit 1"}).ok());
}

TEST_CASE("a signal to this process alone ends the program and all that it started, then this process") {
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) {
    CAPTURE(signal_number);
    int started[2], alive[2];  // `alive` reads as closed once none of them is left
    REQUIRE(pipe2(started, 0) == 0);
    REQUIRE(pipe2(alive, 0) == 0);
    const pid_t ours = fork();
    REQUIRE(ours >= 0);
    if (ours == 0) {
      close(started[0]);
      close(alive[0]);
      const std::string tell = "echo x >&" + std::to_string(started[1]);
      (void)run_logged({"sh", "-c", "sh -c '" + tell + "; sleep 600; true'; true"}, log_file());
      _exit(0);
    }
    close(started[1]);
    close(alive[1]);
    CHECK(comes(started[0]));
    kill(ours, signal_number);
    int status = 0;
    REQUIRE(waitpid(ours, &status, 0) == ours);
    CHECK((WIFSIGNALED(status) && WTERMSIG(status) == signal_number));
    CHECK(comes(alive[0]));
    char byte = 0;
    CHECK(read(alive[0], &byte, 1) == 0);
    close(started[0]);
    close(alive[0]);
  }
}

}  // namespace temper
