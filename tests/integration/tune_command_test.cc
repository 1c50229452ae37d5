// `temper tune` and `temper bench` end to end, as a user meets them.
#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "runtime/history.h"
#include "runtime/table_view.h"
#include "temper/port_linux.h"
#include "tests/integration/command_run.h"

namespace temper {
namespace {

using Json = nlohmann::json;

constexpr char kTwoWorkloads[] = R"({"schema": 1, "network": "two", "workloads": [
  {"name": "first", "count": 3, "workload": "matmul f32 1x24x32x40 bconst bias"},
  {"name": "second", "count": 1, "workload": "conv2d f32 nchw 1x8x14x14 o16 k3x3 s1x1 p1,1,1,1 d1x1 g1 bias relu"}],
  "skipped": [{"operator": "Softmax", "reason": "not tuned", "count": 1, "flops": 60}]})";

constexpr char kClassicConvolution[] = R"({"schema": 1, "network": "classic", "workloads": [
  {"name": "conv", "count": 1, "workload": "conv2d f32 nchw 1x3x224x224 o8 k3x3 s1x1 p1,1,1,1 d1x1 g1"}], "skipped": []})";

struct Folder {
  std::string path;
  std::string network;
  std::string history;
};

Folder prepared(const std::string& name, const char* workloads = kTwoWorkloads) {
  Folder folder;
  folder.path = scratch_folder(name);
  folder.network = folder.path + "/net.workloads";
  folder.history = folder.path + "/results/net.history";
  write_text(folder.network, workloads);
  return folder;
}

Json json_of(const CommandResult& result) {
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  return Json::parse(result.out);
}

std::set<std::string> keys_of(const Json& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.items()) {
    keys.insert(key);
  }
  return keys;
}

/// What a history holds, read by the device core.
struct HistoryContents {
  uint32_t trials = 0, commits = 0, damaged_bytes = 0;
  uint32_t measured_twice = 0;  ///< trials of a config other than the default that was measured before
  std::multiset<std::string> configs;
};

void collect(void* self, const FrameView& frame) {
  auto* contents = static_cast<HistoryContents*>(self);
  contents->commits += frame.type == FrameType::kCommit ? 1 : 0;
  TrialView view;
  if (frame.type != FrameType::kTrial || !read_trial(frame, &view).ok()) {
    return;
  }
  ++contents->trials;
  std::string config = std::to_string(view.trial.workload());
  for (const format::KnobValue& knob : view.knobs) {
    config.append(",").append(std::to_string(knob.id())).append("=").append(std::to_string(knob.value()));
  }
  contents->measured_twice += view.trial.is_default() == 0 && contents->configs.count(config) > 0 ? 1 : 0;
  contents->configs.insert(config);
}

HistoryContents read_history(const std::string& path) {
  HistoryContents contents;
  temper_linux_file* file = nullptr;
  REQUIRE(temper_linux_file_open(path.c_str(), TEMPER_LINUX_READ, 1u << 30, &file) == TEMPER_OK);
  alignas(8) uint8_t buffer[kHistoryBufferBytes + 8];
  History history;
  ScanReport report{};
  const Status opened =
      history.open(temper_linux_file_storage(file), {buffer, sizeof buffer}, &contents, collect, &report);
  temper_linux_file_close(file);
  REQUIRE(opened.ok());
  contents.damaged_bytes = report.damaged_bytes;
  return contents;
}

/// Waits until the run has put some trials on storage. Bounded only against a run that never does.
void wait_for_trials(Command* command, const std::string& history) {
  for (int i = 0; i < 6000; ++i) {
    REQUIRE_FALSE(command->ended());
    std::error_code none;
    const auto bytes = std::filesystem::file_size(history, none);
    if (!none && bytes > 1500) {
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  FAIL("no trial was recorded in a minute");
}

bool gone(pid_t pid) {
  const std::string stat = read_text(std::string("/proc/").append(std::to_string(pid)).append("/stat"));
  const size_t name_end = stat.rfind(')');
  return stat.empty() || (name_end != std::string::npos && stat.compare(name_end + 2, 1, "Z") == 0);
}

TEST_CASE("tune reports exactly the keys that others rely on, with totals weighed by count") {
  const Folder folder = prepared("json");
  const CommandResult result = run_temper(folder.path, {"tune", folder.network, "--budget", "3s", "--seed", "7",
                                                        "--history", folder.history, "--json", "-", "--quiet"});
  const Json json = json_of(result);
  CHECK(result.err.empty());
  CHECK(keys_of(json) == std::set<std::string>{"schema", "network", "target", "fingerprint", "seed", "budget_s",
                                               "elapsed_s", "trials", "workloads", "total_default_us", "total_tuned_us",
                                               "speedup"});
  CHECK(json["schema"] == 1);
  CHECK(json["network"] == "two");
  CHECK(json["seed"] == 7);
  CHECK(json["budget_s"] == 3.0);
  CHECK(json["fingerprint"]["threads"] == 1);
  REQUIRE(json["workloads"].size() == 2);
  double default_us = 0, tuned_us = 0;
  uint32_t trials = 0;
  for (const Json& workload : json["workloads"]) {
    CHECK(keys_of(workload) == std::set<std::string>{"name", "operator", "shape", "dtype", "count", "gflop",
                                                     "default_us", "tuned_us", "speedup", "trials", "outcomes",
                                                     "source", "config", "quarantined", "max_abs_error"});
    CHECK(workload["quarantined"].empty());
    CHECK(workload["max_abs_error"] == 0.0);
    CHECK(workload["tuned_us"].get<double>() <= workload["default_us"].get<double>());
    CHECK(workload["config"].size() >= 6);
    uint32_t outcomes = 0;
    for (const auto& [name, count] : workload["outcomes"].items()) {
      outcomes += count.get<uint32_t>();
    }
    CHECK(outcomes == workload["trials"].get<uint32_t>());
    trials += outcomes;
    default_us += workload["count"].get<double>() * workload["default_us"].get<double>();
    tuned_us += workload["count"].get<double>() * workload["tuned_us"].get<double>();
  }
  CHECK(trials == json["trials"].get<uint32_t>());
  CHECK(json["total_default_us"].get<double>() == doctest::Approx(default_us).epsilon(1e-3));
  CHECK(json["total_tuned_us"].get<double>() == doctest::Approx(tuned_us).epsilon(1e-3));
  CHECK(std::filesystem::exists(folder.path + "/results/two." + json["target"].get<std::string>() + ".table"));
}

TEST_CASE("the classic convolution takes 20 trials of 3 samples and every one is right") {
  const Folder folder = prepared("classic", kClassicConvolution);
  const Json json = json_of(run_temper(folder.path, {"tune", folder.network, "--trials", "20", "--repeat", "3",
                                                     "--history", folder.history, "--json", "-", "--quiet"}));
  CHECK(json["trials"] == 20);
  const Json& outcomes = json["workloads"][0]["outcomes"];
  CHECK(outcomes.value("ok", 0) + outcomes.value("too_slow", 0) == 20);
  CHECK(json["budget_s"].is_null());
  CHECK(read_history(folder.history).trials == 20);
}

TEST_CASE("an interrupted run keeps every trial, writes its table, and the next one goes on from there") {
  const Folder folder = prepared("interrupt", kClassicConvolution);
  const std::string table = folder.path + "/net.table";
  Command command(folder.path,
                  {"tune", folder.network, "--budget", "5m", "--history", folder.history, "--table", table});
  wait_for_trials(&command, folder.history);
  command.send_signal(SIGINT);
  const CommandResult result = command.wait();
  CAPTURE(result.err);
  CHECK(result.exit_code == 130);
  CHECK(result.out.find("sum of kernel times") != std::string::npos);
  CHECK(std::filesystem::exists(table));
  const HistoryContents first = read_history(folder.history);
  CHECK(first.damaged_bytes == 0);
  CHECK(first.trials > 0);
  CHECK(first.commits == 1);

  const CommandResult second =
      run_temper(folder.path, {"tune", folder.network, "--trials", "8", "--history", folder.history, "--quiet"});
  CHECK(second.exit_code == 0);
  const HistoryContents both = read_history(folder.history);
  CHECK(both.trials == first.trials + 8);
  CHECK(both.measured_twice == 0);
}

TEST_CASE("a killed run keeps every finished trial, takes its workers along, and the next one goes on from there") {
  const Folder folder = prepared("kill", kClassicConvolution);
  Command command(folder.path, {"tune", folder.network, "--budget", "5m", "--history", folder.history, "--quiet"});
  wait_for_trials(&command, folder.history);
  const std::vector<pid_t> workers = command.children();
  CHECK(workers.size() >= 2);
  command.send_signal(SIGKILL);
  CHECK(command.wait().signal_number == SIGKILL);
  for (const pid_t worker : workers) {
    for (int i = 0; i < 3000 && !gone(worker); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    CHECK(gone(worker));
  }
  const HistoryContents first = read_history(folder.history);
  CHECK(first.trials > 0);

  const Json json = json_of(run_temper(
      folder.path, {"tune", folder.network, "--trials", "8", "--history", folder.history, "--quiet", "--json", "-"}));
  CHECK(json["trials"] == 8);
  const HistoryContents both = read_history(folder.history);
  CHECK(both.trials == first.trials + 8);
  CHECK(both.measured_twice == 0);
  CHECK(both.commits >= 1);
}

TEST_CASE("a second process applies the table and the history to what the first one tuned") {
  const Folder folder = prepared("bench");
  const std::string table = folder.path + "/net.table";
  REQUIRE(run_temper(folder.path, {"tune", folder.network, "--trials", "16", "--history", folder.history, "--table",
                                   table, "--quiet"})
              .exit_code == 0);
  const Json by_table =
      json_of(run_temper(folder.path, {"bench", folder.network, "--table", table, "--json", "-", "--repeat", "3"}));
  const Json by_history = json_of(
      run_temper(folder.path, {"bench", folder.network, "--history", folder.history, "--json", "-", "--repeat", "3"}));
  for (size_t i = 0; i < 2; ++i) {
    CHECK(by_table["workloads"][i]["source"] == "table");
    CHECK(by_history["workloads"][i]["source"] == "history");
    CHECK(by_table["workloads"][i]["config"] == by_history["workloads"][i]["config"]);
    CHECK(by_table["workloads"][i]["max_abs_error"] == 0.0);
  }
  const CommandResult plain = run_temper(folder.path, {"bench", folder.network, "--repeat", "1"});
  CHECK(plain.exit_code == 0);  // the user's own history holds nothing: the defaults
  CHECK(plain.out.find("default") != std::string::npos);
}

TEST_CASE("without --history results go to the user's data folder") {
  const Folder folder = prepared("data_home");
  REQUIRE(run_temper(folder.path, {"tune", folder.network, "--trials", "4", "--quiet"}).exit_code == 0);
  uint32_t histories = 0, tables = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path + "/temper")) {
    histories += entry.path().extension() == ".history" ? 1 : 0;
    tables += entry.path().extension() == ".table" ? 1 : 0;
  }
  CHECK(histories == 1);
  CHECK(tables == 1);
}

TEST_CASE("a history that cannot be made is told once and tuning goes on in memory") {
  const Folder folder = prepared("unwritable");
  write_text(folder.path + "/file", "not a folder");
  const CommandResult result = run_temper(folder.path, {"tune", folder.network, "--trials", "4", "--history",
                                                        folder.path + "/file/net.history", "--json", "-"});
  const Json json = json_of(result);
  CHECK(json["trials"] == 4);
  const size_t warning = result.err.find("warning:");
  REQUIRE(warning != std::string::npos);
  CHECK(result.err.find("memory only") != std::string::npos);
  CHECK(result.err.find("warning:", warning + 1) == std::string::npos);
}

TEST_CASE("a history that fills up is told once and tuning goes on in memory") {
  const Folder folder = prepared("full");
  const CommandResult result =
      run_temper(folder.path, {"tune", folder.network, "--trials", "40", "--history", folder.history}, "ulimit -f 2;");
  CAPTURE(result.err);
  CHECK(result.exit_code == 0);
  CHECK(result.out.find("sum of kernel times") != std::string::npos);
  CHECK(result.err.find("can no longer be written") != std::string::npos);
  const HistoryContents kept = read_history(folder.history);
  CHECK(kept.trials > 0);
  CHECK(kept.trials < 40);

  const CommandResult next =
      run_temper(folder.path, {"tune", folder.network, "--trials", "4", "--history", folder.history, "--quiet"});
  CHECK(next.exit_code == 0);
  CHECK(read_history(folder.history).trials == kept.trials + 4);
}

TEST_CASE("three runs at once on one history: each goes on, and every trial of each is in it at the end") {
  const Folder folder = prepared("three_at_once");
  Command first(folder.path, {"tune", folder.network, "--budget", "5m", "--history", folder.history, "--json",
                              folder.path + "/json", "--quiet"});
  wait_for_trials(&first, folder.history);
  const std::string second_folder = scratch_folder("three_at_once_second");
  const std::string third_folder = scratch_folder("three_at_once_third");
  Command second(second_folder, {"tune", folder.network, "--trials", "30", "--history", folder.history, "--table",
                                 second_folder + "/table", "--json", second_folder + "/json"});
  Command third(third_folder, {"collect", folder.network, "--trials", "20", "--history", folder.history, "--json",
                               third_folder + "/json", "--quiet"});
  const CommandResult told = second.wait();
  CAPTURE(told.err);
  CHECK(told.exit_code == 0);
  const size_t note = told.err.find("another process appends to " + folder.history);
  CHECK(note != std::string::npos);
  CHECK(told.err.find("another process appends", note + 1) == std::string::npos);
  CHECK(third.wait().exit_code == 0);
  first.send_signal(SIGINT);
  CHECK(first.wait().exit_code == 130);
  uint32_t trials = 0;
  for (const std::string& of : {folder.path, second_folder, third_folder}) {
    trials += Json::parse(read_text(of + "/json"))["trials"].get<uint32_t>();
  }
  const CommandResult seen = run_temper(folder.path, {"inspect", folder.history, "--json", "-"});
  CHECK(json_of(seen)["trials"] == trials);  // also of a journal that is not joined yet
  const CommandResult next =
      run_temper(folder.path, {"tune", folder.network, "--trials", "4", "--history", folder.history, "--quiet"});
  CHECK(next.exit_code == 0);
  CHECK(read_history(folder.history).trials == trials + 4);
  CHECK_FALSE(std::filesystem::exists(folder.history + ".1.journal"));
  CHECK_FALSE(std::filesystem::exists(folder.history + ".2.journal"));
}

TEST_CASE(
    "what a killed second run had measured is joined by the next start, and so is what a killed first left open") {
  const Folder folder = prepared("killed_second", kClassicConvolution);
  const std::string other = scratch_folder("killed_second_other"), journal = folder.history + ".1.journal";
  Command first(folder.path, {"tune", folder.network, "--budget", "5m", "--history", folder.history, "--quiet"});
  wait_for_trials(&first, folder.history);
  Command second(other, {"collect", folder.network, "--budget", "5m", "--history", folder.history, "--quiet"});
  wait_for_trials(&second, journal);
  second.send_signal(SIGKILL);
  CHECK(second.wait().signal_number == SIGKILL);
  const uint32_t left = read_history(journal).trials;
  CHECK(left > 0);
  first.send_signal(SIGKILL);
  CHECK(first.wait().signal_number == SIGKILL);
  const uint32_t trials = read_history(folder.history).trials;
  const CommandResult next =
      run_temper(folder.path, {"tune", folder.network, "--trials", "4", "--history", folder.history});
  CHECK(next.exit_code == 0);
  CHECK(next.err.find("was joined with 1 journal: ") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(journal));
  const HistoryContents all = read_history(folder.history);
  CHECK(all.trials >= trials + left + 4);
  CHECK(all.trials <= trials + left + 4 + 2);  // what the two had begun became crashed trials
}

TEST_CASE("a foreign file as history is refused and left as it is") {
  const Folder folder = prepared("foreign");
  const std::string path = folder.path + "/notes.txt";
  const std::string text = "My notes.\nThey are precious.\n";
  write_text(path, text);
  const CommandResult result = run_temper(folder.path, {"tune", folder.network, "--trials", "2", "--history", path});
  CHECK(result.exit_code == 3);
  CHECK(result.err.find("not a history") != std::string::npos);
  CHECK(read_text(path) == text);
}

TEST_CASE("a history of another device is told field by field and gives hints only") {
  if (temper_linux_cpu_count() < 2) {
    MESSAGE("SKIPPED: one CPU only, no second thread count to tune for");
    return;
  }
  const Folder folder = prepared("other_device");
  REQUIRE(run_temper(folder.path, {"tune", folder.network, "--trials", "6", "--history", folder.history, "--quiet"})
              .exit_code == 0);
  const CommandResult result = run_temper(folder.path, {"tune", folder.network, "--trials", "6", "--threads", "2",
                                                        "--history", folder.history, "--json", "-"});
  // A loaded machine may have measured another copy rate too.
  CHECK(result.err.find("another device (differs in threads") != std::string::npos);
  CHECK(json_of(result)["trials"] == 6);
}

TEST_CASE("inspect shows what a run left, and look-ups for other threads name that field") {
  const Folder folder = prepared("inspect");
  const std::string table = folder.path + "/net.table";
  REQUIRE(run_temper(folder.path, {"tune", folder.network, "--trials", "12", "--history", folder.history, "--table",
                                   table, "--quiet"})
              .exit_code == 0);
  const Json history = json_of(run_temper(folder.path, {"inspect", folder.history, "--json", "-"}));
  CHECK(history["kind"] == "history");
  CHECK(history["damaged_bytes"] == 0);
  CHECK(history["unreadable_frames"] == 0);
  CHECK(history["fingerprints"].size() == 1);
  REQUIRE(history["workloads"].size() == 2);
  uint32_t trials = 0;
  for (const Json& workload : history["workloads"]) {
    for (const auto& [name, count] : workload["outcomes"].items()) {
      trials += count.get<uint32_t>();
    }
    CHECK(workload["quarantined"] == 0);
    CHECK(workload["commit"].is_object());
  }
  CHECK(trials == 12);
  const Json shown = json_of(run_temper(folder.path, {"inspect", table, "--json", "-"}));
  CHECK(shown["kind"] == "table");
  CHECK(shown["entries"].size() == 2);
  CHECK(shown["fingerprint"] == history["fingerprints"][0]);
  if (temper_linux_cpu_count() < 2) {
    MESSAGE("SKIPPED: one CPU only, no second thread count to look up for");
    return;
  }
  const CommandResult elsewhere = run_temper(
      folder.path, {"lookup", folder.network, "--threads", "2", "--history", folder.history, "--table", table});
  CHECK(elsewhere.exit_code == 0);
  // Clock and copy rate are measured anew by each process and may be named behind.
  CHECK(elsewhere.out.find("history: fingerprint (threads") != std::string::npos);
  CHECK(elsewhere.out.find("table: fingerprint (threads") != std::string::npos);
  CHECK(elsewhere.err.find("was made on another device (threads") != std::string::npos);
}

TEST_CASE("with standard output and error closed nothing is printed into the history") {
  const Folder folder = prepared("closed");
  const std::vector<std::string> arguments = {"tune", folder.network, "--trials", "6", "--history", folder.history};
  CHECK(run_temper(folder.path, arguments, "exec <&- >&- 2>&-;").exit_code == 0);
  const HistoryContents kept = read_history(folder.history);
  CHECK(kept.trials == 6);
  CHECK(kept.damaged_bytes == 0);
}

TEST_CASE("a history named as output too is wrong use, and stays what it is") {
  const Folder folder = prepared("both");
  const std::vector<std::string> arguments = {"tune", folder.network, "--trials", "4", "--history", folder.history};
  REQUIRE(run_temper(folder.path, arguments).exit_code == 0);
  const std::string bytes = read_text(folder.history);
  for (const char* option : {"--table", "--json"}) {
    std::vector<std::string> both = arguments;
    both.insert(both.end(), {option, folder.path + "/results/./net.history"});
    CHECK(run_temper(folder.path, both).exit_code == 2);
    CHECK(read_text(folder.history) == bytes);
  }
}

TEST_CASE("a run that decides nothing leaves the table of an earlier one") {
  const Folder folder = prepared("undecided");
  const std::string table = folder.path + "/net.table";
  REQUIRE(run_temper(folder.path, {"tune", folder.network, "--trials", "8", "--history", folder.history, "--table",
                                   table, "--quiet"})
              .exit_code == 0);
  const std::string bytes = read_text(table);
  const CommandResult result = run_temper(folder.path, {"tune", folder.network, "--budget", "1ms", "--history",
                                                        folder.path + "/other.history", "--table", table});
  CHECK(result.exit_code == 1);
  CHECK(result.err.find("left as it is") != std::string::npos);
  CHECK(read_text(table) == bytes);
}

TEST_CASE("a run under nohup, or whose progress nobody reads any more, goes on to its end") {
  const Folder folder = prepared("nohup", kClassicConvolution);
  Command hung_up(folder.path, {"tune", folder.network, "--trials", "30", "--history", folder.history}, "trap '' HUP;");
  wait_for_trials(&hung_up, folder.history);
  hung_up.send_signal(SIGHUP);
  CHECK(hung_up.wait().exit_code == 0);
  const std::string other = folder.path + "/other.history";
  const std::string pipe = folder.path + "/pipe";
  const CommandResult unread = run_temper(folder.path, {"tune", folder.network, "--trials", "30", "--history", other},
                                          "mkfifo " + pipe + "; (: <" + pipe + ") & exec 2>" + pipe + "; wait;");
  CHECK(unread.exit_code == 0);
  CHECK(read_history(other).trials == 30);
}

TEST_CASE("flipped bytes in a history cost the records they hit, no more") {
  const Folder folder = prepared("flipped");
  REQUIRE(run_temper(folder.path, {"tune", folder.network, "--trials", "20", "--history", folder.history, "--quiet"})
              .exit_code == 0);
  const uint32_t whole = read_history(folder.history).trials;
  std::string bytes = read_text(folder.history);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x20);
  write_text(folder.history, bytes);
  const CommandResult result =
      run_temper(folder.path, {"tune", folder.network, "--trials", "4", "--history", folder.history});
  CHECK(result.exit_code == 0);
  CHECK(result.err.find("damaged bytes were skipped") != std::string::npos);
  const HistoryContents after = read_history(folder.history);
  CHECK(after.trials >= whole - 1 + 4);
  CHECK(after.damaged_bytes > 0);
}

TEST_CASE("wrong use and bad input end with their own exit codes and say why") {
  const Folder folder = prepared("wrong_use");
  const auto run = [&](std::vector<std::string> arguments) { return run_temper(folder.path, arguments); };
  const CommandResult unknown_network = run({"tune", "mobilenet_v3", "--trials", "2"});
  CHECK(unknown_network.exit_code == 2);
  CHECK(unknown_network.err.find("mobilenet_v2") != std::string::npos);
  const CommandResult unknown_option = run({"tune", folder.network, "--bugdet", "3s"});
  CHECK(unknown_option.exit_code == 2);
  CHECK(unknown_option.err.find("--budget") != std::string::npos);
  CHECK(run({"tune", folder.network, "--budget", "soon"}).exit_code == 2);
  CHECK(run({"tune", folder.network, "--searcher", "psychic"}).exit_code == 2);
  CHECK(run({"tune", folder.network, "--repeat", "99"}).exit_code == 2);
  CHECK(run({"tune", folder.network, "--trials", "2", "--threads", "1000"}).exit_code == 2);
  CHECK(run({"tune", folder.path + "/absent.onnx"}).exit_code == 3);
  CHECK(run({"bench", folder.network, "--table", folder.path + "/absent.table"}).exit_code == 3);
  write_text(folder.path + "/bad.table", "this is no table at all");
  CHECK(run({"bench", folder.network, "--table", folder.path + "/bad.table"}).exit_code == 3);
  write_text(folder.path + "/bad.workloads", "{\"schema\": 1, \"network\": \"x\", \"workloads\": [{\"name\"");
  CHECK(run({"tune", folder.path + "/bad.workloads", "--trials", "2"}).exit_code == 3);
}

TEST_CASE("the worker entry is not listed and ends quietly without a parent") {
  const std::string folder = scratch_folder("worker_entry");
  const CommandResult help = run_temper(folder, {"--help"});
  CHECK(help.exit_code == 0);
  CHECK(help.out.find("tune") != std::string::npos);
  CHECK(help.out.find("worker") == std::string::npos);
  CHECK(run_temper(folder, {"worker", "--fd", "0"}).exit_code == 0);  // standard input is at its end
}

}  // namespace
}  // namespace temper
