#include <doctest/doctest.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "temper/port_linux.h"
#include "tests/runtime/scanned_history.h"
#include "tests/runtime/test_folder.h"

namespace temper::test {
namespace {

constexpr uint32_t kCapacity = 1 << 20;

class OpenFile {
 public:
  OpenFile(const std::string& path, temper_linux_access access) {
    status = temper_linux_file_open(path.c_str(), access, kCapacity, &file_);
  }
  ~OpenFile() { temper_linux_file_close(file_); }
  OpenFile(const OpenFile&) = delete;
  const temper_storage* storage() const { return temper_linux_file_storage(file_); }
  temper_status program(uint32_t offset, const std::string& text) {
    return storage()->program(storage()->self, offset, text.data(), static_cast<uint32_t>(text.size()));
  }
  temper_status status;

 private:
  temper_linux_file* file_ = nullptr;
};

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Runs `body` in a child; its result is the child's exit status.
template <class Body>
int in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    _exit(body());
  }
  int state = -1;
  REQUIRE(waitpid(child, &state, 0) == child);
  return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

TEST_CASE("a file takes what is appended, gives it back and ends where it ends") {
  const TestFolder folder;
  OpenFile file(folder / "history", TEMPER_LINUX_APPEND);
  REQUIRE(file.status == TEMPER_OK);
  CHECK(file.storage()->program_bytes == 1);
  CHECK(file.storage()->erase_bytes == 0);
  CHECK(file.program(0, "abc") == TEMPER_OK);
  CHECK(file.program(3, "defg") == TEMPER_OK);
  CHECK(file.storage()->sync(file.storage()->self) == TEMPER_OK);
  char text[4] = {};
  CHECK(file.storage()->read(file.storage()->self, 2, text, 3) == TEMPER_OK);
  CHECK(std::string(text) == "cde");
  CHECK(file.storage()->read(file.storage()->self, 7, text, 1) == TEMPER_NOT_FOUND);
  CHECK(file.storage()->read(file.storage()->self, 5, text, 3) == TEMPER_NOT_FOUND);
  CHECK(content(folder / "history") == "abcdefg");
}

TEST_CASE("only appending is possible") {
  const TestFolder folder;
  OpenFile file(folder / "history", TEMPER_LINUX_APPEND);
  REQUIRE(file.program(0, "abc") == TEMPER_OK);
  CHECK(file.program(0, "x") == TEMPER_STORAGE_ERROR);
  CHECK(file.program(4, "x") == TEMPER_STORAGE_ERROR);
  CHECK(content(folder / "history") == "abc");
}

TEST_CASE("one appender at a time: a second one, in this process or another, is told that the file is busy") {
  const TestFolder folder;
  const std::string path = folder / "history";
  {
    OpenFile first(path, TEMPER_LINUX_APPEND);
    REQUIRE(first.status == TEMPER_OK);
    CHECK(OpenFile(path, TEMPER_LINUX_APPEND).status == TEMPER_BUSY);
    CHECK(in_child([&] { return static_cast<int>(OpenFile(path, TEMPER_LINUX_APPEND).status); }) == TEMPER_BUSY);
    CHECK(OpenFile(path, TEMPER_LINUX_READ).status == TEMPER_OK);
  }
  CHECK(in_child([&] { return static_cast<int>(OpenFile(path, TEMPER_LINUX_APPEND).status); }) == TEMPER_OK);
}

TEST_CASE("a file that is deleted under its appender takes nothing more: what it took would be lost in silence") {
  const TestFolder folder;
  const std::string path = folder / "history";
  OpenFile file(path, TEMPER_LINUX_APPEND);
  REQUIRE(file.status == TEMPER_OK);
  REQUIRE(file.program(0, "abc") == TEMPER_OK);
  REQUIRE(unlink(path.c_str()) == 0);
  CHECK(file.program(3, "d") == TEMPER_STORAGE_ERROR);
  OpenFile another(path, TEMPER_LINUX_APPEND);
  CHECK(another.status == TEMPER_OK);
  CHECK(another.program(0, "abc") == TEMPER_OK);
}

TEST_CASE("who gets the lock holds the file that the path names, however often holders replace it") {
  const TestFolder folder;
  const std::string path = folder / "history", other = folder / "other";
  constexpr int kRounds = 400;
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < kRounds; ++i) {
      const OpenFile held(path, TEMPER_LINUX_APPEND);
      if (held.status == TEMPER_OK) {
        std::ofstream(other) << "abc";
        (void)rename(other.c_str(), path.c_str());
      }
    }
    _exit(0);
  }
  int held_count = 0;
  for (int i = 0; i < kRounds; ++i) {
    OpenFile held(path, TEMPER_LINUX_APPEND);
    if (held.status == TEMPER_OK) {
      ++held_count;
      CHECK(held.program(static_cast<uint32_t>(content(path).size()), "d") == TEMPER_OK);
    }
  }
  CHECK(held_count > 0);
  int state = -1;
  REQUIRE(waitpid(child, &state, 0) == child);
}

TEST_CASE("a process that is killed leaves no lock behind and keeps its frames") {
  const TestFolder folder;
  const std::string path = folder / "history";
  CHECK(in_child([&] {
          OpenFile file(path, TEMPER_LINUX_APPEND);
          ScannedHistory history(file.storage());
          if (history.append(FrameType::kTrial, {1, 2, 3}).ok()) {
            kill(getpid(), SIGKILL);
          }
          return 0;
        }) == -1);
  OpenFile file(path, TEMPER_LINUX_APPEND);
  REQUIRE(file.status == TEMPER_OK);
  ScannedHistory history(file.storage());
  CHECK(history.frames == std::vector<ScannedFrame>{{FrameType::kTrial, 1, {1, 2, 3}}});
  CHECK(history.append(FrameType::kTrial, {4}).ok());
}

TEST_CASE("a full disk is told as full, and what was written before stays readable") {
  const TestFolder folder;
  const std::string path = folder / "history";
  // The limit on file sizes stands for the disk: the write that crosses it is cut short, the next one fails.
  CHECK(in_child([&] {
          signal(SIGXFSZ, SIG_IGN);
          const rlimit limit{100, 100};
          if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
            return 100;
          }
          OpenFile file(path, TEMPER_LINUX_APPEND);
          ScannedHistory history(file.storage());
          if (!history.append(FrameType::kTrial, std::vector<uint8_t>(50, 1)).ok()) {
            return 101;
          }
          return static_cast<int>(history.append(FrameType::kTrial, std::vector<uint8_t>(50, 2)).code());
        }) == TEMPER_STORAGE_FULL);
  CHECK(content(path).size() == 100);
  OpenFile file(path, TEMPER_LINUX_APPEND);
  ScannedHistory history(file.storage());
  CHECK(history.frames.size() == 1);
  CHECK(history.append(FrameType::kTrial, {9}).ok());
  CHECK(ScannedHistory(file.storage()).frames.size() == 2);
}

TEST_CASE("a file opened for reading is never written") {
  const TestFolder folder;
  const std::string path = folder / "history";
  CHECK(OpenFile(path, TEMPER_LINUX_READ).status == TEMPER_NOT_FOUND);
  { std::ofstream(path) << "abc"; }
  OpenFile file(path, TEMPER_LINUX_READ);
  REQUIRE(file.status == TEMPER_OK);
  CHECK(file.program(3, "x") == TEMPER_STORAGE_ERROR);
  CHECK(content(path) == "abc");
}

TEST_CASE("paths that cannot be a history are told apart") {
  const TestFolder folder;
  CHECK(OpenFile(folder / "absent/history", TEMPER_LINUX_APPEND).status == TEMPER_NOT_FOUND);
  CHECK(errno == ENOENT);
  CHECK(OpenFile(folder.path(), TEMPER_LINUX_APPEND).status == TEMPER_STORAGE_ERROR);
  CHECK(OpenFile("/dev/full", TEMPER_LINUX_APPEND).status == TEMPER_STORAGE_ERROR);
  const std::string pipe = folder / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(OpenFile(pipe, TEMPER_LINUX_READ).status == TEMPER_STORAGE_ERROR);
  temper_linux_file* file = nullptr;
  CHECK(temper_linux_file_open(nullptr, TEMPER_LINUX_APPEND, 1, &file) == TEMPER_INVALID_ARGUMENT);
  CHECK(temper_linux_file_open("x", TEMPER_LINUX_APPEND, 0, &file) == TEMPER_INVALID_ARGUMENT);
  CHECK(temper_linux_file_open("x", TEMPER_LINUX_APPEND, 0x80000001u, &file) == TEMPER_INVALID_ARGUMENT);
}

TEST_CASE("a folder without permission is told, and nothing is made in it") {
  const TestFolder folder;
  REQUIRE(chmod(folder.path().c_str(), 0500) == 0);
  // Permissions do not bind root; the child becomes nobody.
  constexpr uid_t kNobody = 65534;
  CHECK(in_child([&] {
          if (geteuid() == 0 && (setgid(kNobody) != 0 || setuid(kNobody) != 0)) {
            return 100;
          }
          const temper_status status = OpenFile(folder / "history", TEMPER_LINUX_APPEND).status;
          return errno == EACCES ? static_cast<int>(status) : 101;
        }) == TEMPER_STORAGE_ERROR);
  CHECK(access((folder / "history").c_str(), F_OK) != 0);
}

}  // namespace
}  // namespace temper::test
