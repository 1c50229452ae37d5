// Storage that is full, read-only or failing, at each single call: what tunes goes on in memory and says so once, what
// only writes ends with exit code 4 and leaves everything as it was.
#include <doctest/doctest.h>
#include <signal.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "tests/integration/command_run.h"
#include "tests/tools/history_samples.h"
#include "tools/history_records.h"

namespace temper {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr char kOneWorkload[] = R"({"schema": 1, "network": "one", "workloads": [
  {"name": "first", "count": 3, "workload": "matmul f32 1x24x32x40 bconst bias"}], "skipped": []})";
/// More than any command here makes.
constexpr int kMostCalls = 200;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string text_of(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

std::string failing(const std::string& under, int at, int error, bool from_then_on = false) {
  return "FAIL_UNDER='" + under + "' FAIL_AT=" + std::to_string(at) + " FAIL_WITH=" + std::to_string(error) +
         (from_then_on ? " FAIL_ON=1" : "") + " LD_PRELOAD='" TEMPER_FAILING_STORAGE "'";
}

/// By name, in the folder.
std::map<std::string, std::string> files_in(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    files[entry.path().filename().string()] = entry.is_regular_file() ? read_text(entry.path().string()) : "";
  }
  return files;
}

size_t leftovers(const std::string& folder) {
  size_t count = 0;
  for (const auto& [name, text] : files_in(folder)) {
    count += has(name, ".part") || has(name, ".old") ? 1 : 0;
  }
  return count;
}

/// Runs the command with each call of it below `under` failing in turn, from a folder as `prepare` leaves it, until one
/// run fails nowhere. Returns how many did.
template <class Prepare>
int fail_everywhere(const std::string& folder, const std::string& under, const std::vector<std::string>& arguments,
                    const std::string& file, Prepare prepare) {
  const int errors[] = {ENOSPC, EIO, EROFS};
  for (int at = 1; at < kMostCalls; ++at) {
    fs::remove_all(under);
    fs::create_directories(under);
    prepare();
    const std::map<std::string, std::string> before = files_in(under);
    const int error = errors[at % 3];
    const std::string mark = folder + "/mark";
    fs::remove(mark);
    const CommandResult result = run_temper(folder, arguments, "FAIL_MARK='" + mark + "' " + failing(under, at, error));
    CAPTURE(at);
    CAPTURE(error);
    CAPTURE(result.err);
    if (!fs::exists(mark)) {
      CHECK(result.exit_code == 0);
      return at - 1;
    }
    if (result.exit_code == 0) {  // it could do without that call
      CHECK(leftovers(under) == 0);
      continue;
    }
    CHECK(result.exit_code == 4);
    CHECK(has(result.err, file));
    CHECK(has(result.err, "name another place"));
    CHECK(files_in(under) == before);
  }
  return kMostCalls;
}

TEST_CASE("merge: whichever call fails, the old output stays as it was and nothing else is left") {
  const std::string folder = scratch_folder("merge_failing"), under = folder + "/made";
  const std::string one = folder + "/one.history", all = under + "/all.history";
  write_text(one, text_of(test::sample_history(1)));
  const std::string old = text_of(test::sample_history(2));
  CHECK(fail_everywhere(folder, under, {"merge", one, all, "-o", all}, all, [&] { write_text(all, old); }) >= 4);
  CHECK(read_text(all).size() > old.size());
  CHECK(fail_everywhere(folder, under, {"merge", one, "-o", all}, all, [] {}) >= 4);
}

TEST_CASE("inspect --json and lookup --json: a report that cannot be written is told and leaves nothing") {
  const std::string folder = scratch_folder("report_failing"), under = folder + "/made";
  const std::string one = folder + "/one.history", to = under + "/it";
  write_text(one, text_of(test::sample_history(1)));
  write_text(folder + "/net.workloads", kOneWorkload);
  CHECK(fail_everywhere(folder, under, {"inspect", one, "--json", to}, to, [] {}) >= 4);
  CHECK(fail_everywhere(folder, under, {"lookup", folder + "/net.workloads", "--json", to}, to, [] {}) >= 4);
}

TEST_CASE("bake: its four files are all new, or all what they were") {
  const std::string folder = scratch_folder("bake_failing"), under = folder + "/made";
  const std::string network = folder + "/net.workloads", history = folder + "/net.history";
  write_text(network, kOneWorkload);
  REQUIRE(run_temper(folder, {"tune", network, "--trials", "6", "--history", history, "--quiet"}).exit_code <= 1);
  const int calls =
      fail_everywhere(folder, under, {"bake", history, "--network", network, "-o", under + "/net"}, under, [&] {
        for (const char* name : {"net.a", "net.h", "net.table"}) {  // the fourth is new
          write_text(under + "/" + name, std::string("old ") + name);
        }
      });
  CHECK(calls >= 4 * 4);
  CHECK(files_in(under).size() == 4);
  CHECK_FALSE(has(read_text(under + "/net.h"), "old"));
}

TEST_CASE("tune and collect: wherever the history fails, the run goes on in memory and says so once") {
  const std::string folder = scratch_folder("tune_failing"), under = folder + "/results";
  const std::string network = folder + "/net.workloads", history = under + "/net.history";
  write_text(network, kOneWorkload);
  const auto run = [&](const char* command, int at, int error) {
    const CommandResult result = run_temper(
        folder,
        {command, network, "--trials", "6", "--seed", "1", "--history", history, "--json", folder + "/json", "--quiet"},
        failing(under, at, error, true));
    CAPTURE(command);
    CAPTURE(at);
    CAPTURE(result.err);
    CHECK(result.exit_code == 0);
    CHECK(Json::parse(read_text(folder + "/json"))["trials"] == 6);
    CHECK(count_of(result.err, "memory only") == 1);
    return result;
  };
  for (const int at : {1, 2, 3, 4, 5, 6, 9, 12}) {
    for (const char* command : {"tune", "collect"}) {
      fs::remove_all(under);
      run(command, at, at % 2 == 0 ? EIO : ENOSPC);
    }
  }
  // A history that holds something: it is used and stays a history.
  fs::remove_all(under);
  REQUIRE(run_temper(folder, {"tune", network, "--trials", "8", "--history", history, "--quiet"}).exit_code == 0);
  const std::string before = read_text(history);
  for (const int at : {1, 2, 4, 8}) {
    run("tune", at, EROFS);
    const std::string after = read_text(history);
    CHECK(after.compare(0, before.size(), before) == 0);
    const Result<HistorySource> source = read_history(history);
    REQUIRE(source);
    CHECK(read_records(*source).damaged_bytes == 0);
  }
}

TEST_CASE("a folder that vanishes under a run is told once, and the run ends as it should") {
  const std::string folder = scratch_folder("vanishing"), under = folder + "/results";
  const std::string network = folder + "/net.workloads", history = under + "/net.history";
  write_text(network, kOneWorkload);
  Command command(folder, {"collect", network, "--budget", "5m", "--history", history, "--json", folder + "/json"});
  std::error_code none;
  for (int i = 0; i < 6000 && (!fs::exists(history, none) || fs::file_size(history, none) < 500); ++i) {
    REQUIRE_FALSE(command.ended());
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  fs::remove_all(under);
  for (int i = 0; i < 6000 && !has(read_text(folder + "/err"), "memory only"); ++i) {
    REQUIRE_FALSE(command.ended());
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  command.send_signal(SIGINT);
  const CommandResult result = command.wait();
  CHECK(result.exit_code == 130);
  CHECK(count_of(result.err, "memory only") == 1);
  CHECK(Json::parse(read_text(folder + "/json"))["trials"].get<int>() > 0);
}

/// A file system of its own, so small that it fills up.
std::string on_small_disk(const std::string& folder, const char* size) {
  return "unshare -rm sh -c 'mount -t tmpfs -o size=" + std::string(size) + " none " + folder + " && \"$@\"' sh";
}

TEST_CASE("on a disk that is really full tuning goes on, and merge ends with exit code 4") {
  const std::string folder = scratch_folder("full_disk"), disk = folder + "/disk";
  const std::string network = folder + "/net.workloads", big = folder + "/big.history";
  fs::create_directories(disk);
  if (run_temper(folder, {"--version"}, on_small_disk(disk, "8k")).exit_code != 0) {
    MESSAGE("SKIPPED: this system lets no user mount a file system of his own (unshare -rm)");
    return;
  }
  write_text(network, kOneWorkload);
  write_text(big, text_of(test::sample_history(1, {2, 3, 400, 10, 1, 1, 8})));
  const CommandResult tuned = run_temper(
      folder, {"collect", network, "--trials", "90", "--history", disk + "/net.history"}, on_small_disk(disk, "8k"));
  CAPTURE(tuned.err);
  CHECK(tuned.exit_code == 0);
  CHECK(has(tuned.out, "90 trials"));
  CHECK(count_of(tuned.err, "memory only") == 1);
  const CommandResult joined =
      run_temper(folder, {"merge", big, "-o", disk + "/all.history"}, on_small_disk(disk, "8k"));
  CAPTURE(joined.err);
  CHECK(joined.exit_code == 4);
  CHECK(has(joined.err, "make room"));
}

TEST_CASE("a merge that is killed at any moment leaves the old output or the new one") {
  const std::string folder = scratch_folder("merge_killed");
  const std::string one = folder + "/one.history", all = folder + "/all.history";
  write_text(one, text_of(test::sample_history(1, {2, 3, 2000, 10, 1, 1, 64})));
  const std::string old = text_of(test::sample_history(2));
  write_text(all, old);
  const auto started = std::chrono::steady_clock::now();
  REQUIRE(run_temper(folder, {"merge", one, all, "-o", all}).exit_code == 0);
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - started);
  const std::string whole = read_text(all);
  std::mt19937_64 random(1);
  int killed = 0;
  for (int round = 0; round < 25; ++round) {
    write_text(all, old);
    Command command(folder, {"merge", one, all, "-o", all});
    std::this_thread::sleep_for(std::chrono::microseconds(random() % static_cast<uint64_t>(took.count())));
    command.send_signal(SIGKILL);
    killed += command.wait().signal_number == SIGKILL ? 1 : 0;
    const std::string left = read_text(all);
    CHECK((left == old || left == whole));
  }
  MESSAGE("seed 1, " << killed << " of 25 were killed before they had ended");
}

}  // namespace
}  // namespace temper
