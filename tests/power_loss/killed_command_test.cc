// The command killed at the calls that change files: what it had synced stays, and the next run goes on from there.
// TEMPER_POWER_LOSS=long kills at each of them in each way; else at some.
#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "tests/integration/command_run.h"
#include "tests/power_loss/device_diary.h"
#include "tests/power_loss/dice.h"
#include "tests/power_loss/history_reader.h"
#include "tests/power_loss/long_form.h"

namespace temper::test {
namespace {

namespace fs = std::filesystem;
constexpr StorageShape kFile{1u << 30, 1, 0};

constexpr char kNetwork[] = R"({"schema": 1, "network": "two", "workloads": [
  {"name": "first", "count": 1, "workload": "matmul f32 1x8x16x8 bconst bias"},
  {"name": "second", "count": 1, "workload": "matmul f32 1x4x8x16 bconst bias"}], "skipped": []})";

std::vector<uint8_t> bytes_of(const std::string& path) {
  const std::string text = read_text(path);
  return {text.begin(), text.end()};
}

ReadHistory history_in(const std::string& path) {
  StorageImage image(kFile);
  image.bytes = bytes_of(path);
  return read_history(kFile, image);
}

std::string killing(int at, const char* how, const std::string& count_path) {
  std::string prefix = "export LD_PRELOAD=" TEMPER_KILL_AT_CALL " ASAN_OPTIONS=verify_asan_link_order=0 ";
  return prefix.append("TEMPER_KILL_AT=")
      .append(std::to_string(at))
      .append(" TEMPER_KILL_HOW=")
      .append(how)
      .append(" TEMPER_KILL_COUNT=")
      .append(count_path)
      .append(";");
}

struct Kill {
  int at;
  const char* how;
};

/// Of `calls` calls some at random, or all.
std::vector<Kill> kills(int calls, uint32_t some, uint64_t seed) {
  const char* const ways[] = {"before", "half", "after"};
  std::vector<Kill> chosen;
  Dice dice(seed);
  for (int at = 1; at <= calls; ++at) {
    for (const char* how : ways) {
      if (is_long() || dice.below(static_cast<uint32_t>(3 * calls)) < some) {
        chosen.push_back({at, how});
      }
    }
  }
  return chosen;
}

/// The number of calls that change a file when nothing is killed.
int count_calls(const std::string& folder, const std::vector<std::string>& arguments) {
  const CommandResult whole = run_temper(folder, arguments, killing(-1, "before", folder + "/count"));
  CAPTURE(whole.err);
  REQUIRE(whole.exit_code == 0);
  const std::string count = read_text(folder + "/count");
  REQUIRE(!count.empty());
  return std::stoi(count);
}

void collect_into(const std::string& folder, const std::string& network, const char* seed, const std::string& path) {
  REQUIRE(run_temper(folder, {"collect", network, "--trials", "6", "--threads", "1", "--seed", seed, "--history", path,
                              "--quiet"})
              .exit_code == 0);
}

/// By workload and config; a default is measured anew by each run.
using Counts = std::map<std::pair<uint64_t, ReadKnobs>, uint32_t>;
Counts measured(const ReadHistory& history) {
  Counts counts;
  for (const ReadRecord& trial : history.trials) {
    counts[{trial.workload, trial.knobs}] += trial.is_default ? 0 : 1;
  }
  return counts;
}

TEST_CASE("a tuning run killed at any change of its history leaves what was synced, and is taken up") {
  const std::string folder = scratch_folder("killed_tune");
  const std::string network = folder + "/net.workloads", history = folder + "/net.history";
  write_text(network, kNetwork);
  const std::vector<std::string> tune = {"tune",    network,  "--trials", "8",         "--threads", "1",
                                         "--quiet", "--seed", "1",        "--history", history};
  const int calls = count_calls(folder, tune);
  const ReadHistory whole = history_in(history);
  CHECK(whole.trials.size() == 8);
  const int per_frame = 2;  // it is written, then synced
  const int others = calls - per_frame * static_cast<int>(whole.frames);
  uint32_t killed = 0, checked = 0;
  for (const Kill& kill : kills(calls, 20, 1)) {
    CAPTURE(kill.at);
    CAPTURE(std::string(kill.how));
    fs::remove(history);
    const CommandResult result = run_temper(folder, tune, killing(kill.at, kill.how, folder + "/count"));
    killed += result.signal_number == SIGKILL ? 1 : 0;
    const ReadHistory first = history_in(history);
    CHECK(static_cast<int>(first.frames) >= (kill.at - 1 - others) / per_frame);
    const CommandResult resumed = run_temper(folder, tune);
    CAPTURE(resumed.err);
    CHECK(resumed.exit_code == 0);
    const ReadHistory both = history_in(history);
    CHECK(both.trials.size() == first.trials.size() + 8);
    CHECK(both.commits.size() >= first.commits.size());
    const Counts before = measured(first), after = measured(both);
    for (const auto& [config, count] : before) {
      CHECK(after.count(config) == 1);
      checked += count;
    }
    for (const auto& [config, count] : after) {
      CHECK(count <= 1);
    }
  }
  CHECK(killed > 0);
  MESSAGE("tune: " << calls << " calls change a file; killed " << killed << " times, " << checked << " trials checked");
}

TEST_CASE("a merge killed at any change of a file leaves its output old or new, whole, and can be repeated") {
  const std::string folder = scratch_folder("killed_merge");
  const std::string network = folder + "/net.workloads";
  write_text(network, kNetwork);
  const std::string a = folder + "/a.history", b = folder + "/b.history", out = folder + "/out.history";
  collect_into(folder, network, "1", a);
  collect_into(folder, network, "2", b);
  fs::copy_file(a, out);
  const std::vector<uint8_t> bytes_a = bytes_of(a), bytes_b = bytes_of(b), old_out = bytes_of(out);
  const std::vector<std::string> merge = {"merge", a, b, "-o", out};
  const int calls = count_calls(folder, merge);
  const std::vector<uint8_t> new_out = bytes_of(out);
  REQUIRE(old_out != new_out);
  uint32_t killed = 0, kept_old = 0;
  for (const Kill& kill : kills(calls, 100, 2)) {
    CAPTURE(kill.at);
    CAPTURE(std::string(kill.how));
    fs::copy_file(a, out, fs::copy_options::overwrite_existing);
    const CommandResult result = run_temper(folder, merge, killing(kill.at, kill.how, folder + "/count"));
    killed += result.signal_number == SIGKILL ? 1 : 0;
    const std::vector<uint8_t> left = bytes_of(out);
    CHECK((left == old_out || left == new_out));
    kept_old += left == old_out ? 1 : 0;
    CHECK(bytes_of(a) == bytes_a);
    CHECK(bytes_of(b) == bytes_b);
    CHECK(run_temper(folder, merge).exit_code == 0);
    CHECK(bytes_of(out) == new_out);
  }
  CHECK(killed > 0);
  CHECK(kept_old > 0);
  MESSAGE("merge: " << calls << " calls change a file; killed " << killed << " times");
}

std::set<std::string> trials_in(const std::vector<std::string>& paths) {
  std::set<std::string> found;
  for (const std::string& path : paths) {
    for (const ReadRecord& trial : history_in(path).trials) {
      found.insert(text_of(trial));
    }
  }
  return found;
}

TEST_CASE("a run killed while it joins a journal loses nothing of either, and the next one joins it once") {
  const std::string folder = scratch_folder("killed_join");
  const std::string network = folder + "/net.workloads";
  write_text(network, kNetwork);
  const std::string a = folder + "/a.history", b = folder + "/b.history";
  const std::string history = folder + "/net.history", journal = history + ".1.journal";
  collect_into(folder, network, "1", a);
  collect_into(folder, network, "2", b);
  const auto restore = [&] {
    fs::copy_file(a, history, fs::copy_options::overwrite_existing);
    fs::copy_file(b, journal, fs::copy_options::overwrite_existing);
  };
  const std::vector<std::string> tune = {"tune",    network,  "--trials", "2",         "--threads", "1",
                                         "--quiet", "--seed", "3",        "--history", history};
  restore();
  const std::set<std::string> all = trials_in({history, journal});
  const int calls = count_calls(folder, tune);
  CHECK(!fs::exists(journal));
  uint32_t killed = 0, kept = 0;
  for (const Kill& kill : kills(calls, 12, 3)) {
    CAPTURE(kill.at);
    CAPTURE(std::string(kill.how));
    restore();
    killed += run_temper(folder, tune, killing(kill.at, kill.how, folder + "/count")).signal_number == SIGKILL ? 1 : 0;
    kept += fs::exists(journal) ? 1 : 0;
    const std::set<std::string> left = trials_in({history, journal});
    CHECK(std::includes(left.begin(), left.end(), all.begin(), all.end()));
    CHECK(run_temper(folder, tune).exit_code == 0);
    CHECK(!fs::exists(journal));
    const std::set<std::string> joined = trials_in({history});
    CHECK(std::includes(joined.begin(), joined.end(), all.begin(), all.end()));
    for (const auto& [config, count] : measured(history_in(history))) {
      CHECK(count <= 2);  // both had measured it
    }
  }
  CHECK(killed > 0);
  CHECK(kept > 0);
  MESSAGE("join: " << calls << " calls change a file; killed " << killed << " times");
}

}  // namespace
}  // namespace temper::test
