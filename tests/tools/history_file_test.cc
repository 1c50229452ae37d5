#include "tools/history_file.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

namespace temper {
namespace {

namespace fs = std::filesystem;

fs::path scratch(const std::string& name) {
  const fs::path folder = fs::path(TEMPER_SCRATCH) / name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

/// Sets or unsets (nullptr) a variable for one test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) {
      before_ = before;
    }
    value == nullptr ? ::unsetenv(name) : ::setenv(name, value, 1);
  }
  ~Variable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST_CASE("the default place follows the XDG rules") {
  const Variable home("HOME", "/home/someone");
  {
    const Variable data("XDG_DATA_HOME", "/data");
    CHECK(default_history_path("cpu") == "/data/temper/cpu.history");
  }
  {
    const Variable data("XDG_DATA_HOME", "relative");
    CHECK(default_history_path("cpu") == "/home/someone/.local/share/temper/cpu.history");
  }
  const Variable data("XDG_DATA_HOME", nullptr);
  CHECK(default_history_path("cpu") == "/home/someone/.local/share/temper/cpu.history");
  const Variable homeless("HOME", nullptr);
  CHECK(default_history_path("cpu").empty());
}

TEST_CASE("folders are made on the way to a new history") {
  const fs::path path = scratch("made") / "a" / "b" / "net.history";
  const Result<HistoryFile> history = open_history_to_append(path.string());
  REQUIRE(history);
  CHECK(history->warning.empty());
  CHECK(history->storage() != nullptr);
  CHECK(fs::exists(path));
}

TEST_CASE("a history that another appends to gets a journal, and cannot be held") {
  const std::string path = (scratch("busy") / "net.history").string();
  const Result<HistoryFile> first = open_history_to_append(path);
  REQUIRE(first);
  const Result<HistoryFile> second = open_history_to_append(path);
  REQUIRE(second);
  CHECK(second->journal == path + ".1.journal");
  CHECK(second->warning.empty());
  CHECK(second->storage() != nullptr);
  const Result<HistoryFile> third = hold_history(path);
  REQUIRE_FALSE(third.ok());
  CHECK(third.error().code == TEMPER_BUSY);
  CHECK(third.error().message.find(path) != std::string::npos);
}

TEST_CASE("a place that cannot be written leaves the history in memory with one sentence why") {
  const fs::path folder = scratch("unwritable");
  std::ofstream(folder / "file") << "x";
  for (const std::string& path :
       {(folder / "file" / "net.history").string(), folder.string(), std::string("/dev/full"), std::string()}) {
    CAPTURE(path);
    const Result<HistoryFile> history = open_history_to_append(path);
    REQUIRE(history);
    CHECK(history->storage() == nullptr);
    CHECK(history->warning.find("memory only") != std::string::npos);
    CHECK(history->warning.find('\n') == std::string::npos);
  }
}

}  // namespace
}  // namespace temper
