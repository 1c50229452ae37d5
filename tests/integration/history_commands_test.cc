// `temper collect`, `temper merge` and `temper inspect` of what boards leave, as a user meets them.
#include <doctest/doctest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "tests/integration/command_run.h"
#include "tests/tools/history_samples.h"
#include "tools/history_records.h"

namespace temper {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr char kTwoWorkloads[] = R"({"schema": 1, "network": "two", "workloads": [
  {"name": "first", "count": 3, "workload": "matmul f32 1x24x32x40 bconst bias"},
  {"name": "second", "count": 1, "workload": "conv2d f32 nchw 1x8x14x14 o16 k3x3 s1x1 p1,1,1,1 d1x1 g1 bias relu"}],
  "skipped": []})";

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Json json_of(const CommandResult& result) {
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  return Json::parse(result.out);
}

std::string text_of(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

HistoryRecords records_in(const std::string& path) {
  const Result<HistorySource> source = read_history(path);
  REQUIRE(source);
  return read_records(*source);
}

std::string config_text(const HistoryRecord& trial) {
  std::string text = std::to_string(trial_of(trial).trial.workload());
  for (const format::KnobValue& knob : trial_of(trial).knobs) {
    text.append(",").append(std::to_string(knob.value()));
  }
  return text;
}

TEST_CASE("collect appends trials of different configs, commits nothing, and shares the trials out evenly") {
  const std::string folder = scratch_folder("collect");
  const std::string network = folder + "/net.workloads", history = folder + "/data/net.history";
  write_text(network, kTwoWorkloads);
  const Json json = json_of(run_temper(
      folder, {"collect", network, "--trials", "24", "--seed", "3", "--history", history, "--json", "-", "--quiet"}));
  CHECK(json["schema"] == 1);
  CHECK(json["trials"] == 24);
  CHECK(json["history"] == history);
  REQUIRE(json["workloads"].size() == 2);
  for (const Json& workload : json["workloads"]) {
    CHECK(workload["trials"] == 12);
    CHECK(workload["default_us"].get<double>() > 0);
    CHECK(workload["best_us"].get<double>() <= workload["default_us"].get<double>());
    uint32_t outcomes = 0;
    for (const auto& [name, count] : workload["outcomes"].items()) {
      outcomes += count.get<uint32_t>();
    }
    CHECK(outcomes == 12);
  }
  const HistoryRecords records = records_in(history);
  CHECK(records.trials.size() == 24);
  CHECK(records.commits.empty());
  std::set<std::string> configs;
  for (const HistoryRecord& trial : records.trials) {
    configs.insert(config_text(trial));
  }
  CHECK(configs.size() == 24);

  // Goes on where it stopped: only the defaults are measured again.
  REQUIRE(run_temper(folder, {"collect", network, "--trials", "16", "--history", history, "--quiet"}).exit_code == 0);
  const HistoryRecords more = records_in(history);
  REQUIRE(more.trials.size() == 40);
  for (const HistoryRecord& trial : more.trials) {
    configs.insert(config_text(trial));
  }
  CHECK(configs.size() == 40 - 2);
  CHECK(more.commits.empty());
}

TEST_CASE("an interrupted collection ends with 130 and keeps what was measured") {
  const std::string folder = scratch_folder("collect_interrupted");
  const std::string network = folder + "/net.workloads", history = folder + "/net.history";
  write_text(network, kTwoWorkloads);
  Command command(folder, {"collect", network, "--budget", "5m", "--history", history, "--json", folder + "/json"});
  std::error_code none;
  for (int i = 0; i < 6000 && (!fs::exists(history, none) || fs::file_size(history, none) < 1500); ++i) {
    REQUIRE_FALSE(command.ended());
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  command.send_signal(SIGINT);
  CHECK(command.wait().exit_code == 130);
  const HistoryRecords records = records_in(history);
  CHECK(records.damaged_bytes == 0);
  CHECK(records.trials.size() > 5);
  CHECK(records.commits.empty());
  CHECK(Json::parse(read_text(folder + "/json"))["trials"] == records.trials.size());
}

TEST_CASE("collect refuses what it cannot do with the exit code of its kind") {
  const std::string folder = scratch_folder("collect_wrong");
  const std::string network = folder + "/net.workloads";
  write_text(network, kTwoWorkloads);
  const CommandResult board = run_temper(folder, {"collect", network, "--target", "cortex-m4"});
  CHECK(board.exit_code == 2);
  CHECK(has(board.err, "firmware"));
  CHECK(run_temper(folder, {"collect", network, "--budget", "soon"}).exit_code == 2);
  CHECK(run_temper(folder, {"collect", network, "--trials", "0"}).exit_code == 2);
  CHECK(run_temper(folder, {"collect", network, "--history", folder + "/h", "--json", folder + "/./h"}).exit_code == 2);
  CHECK(run_temper(folder, {"collect", folder + "/absent.onnx"}).exit_code == 3);
  write_text(folder + "/notes", "My notes.\n");
  CHECK(run_temper(folder, {"collect", network, "--trials", "2", "--history", folder + "/notes"}).exit_code == 3);
  CHECK(read_text(folder + "/notes") == "My notes.\n");
  CHECK(run_temper(folder, {"collect", network, "--trials", "2", "--json", "/proc/none/x"}).exit_code == 4);
  CHECK(run_temper(folder, {"collect", network, "--budget", "1ms", "--history", folder + "/h"}).exit_code == 1);
}

TEST_CASE("inspect shows the same of a history in a file, in a console log and in a flash image") {
  const std::string folder = scratch_folder("inspect_forms");
  const std::vector<uint8_t> history = test::sample_history(1);
  const std::string file = folder + "/board.history", log = folder + "/board.log", image = folder + "/flash.bin";
  write_text(file, text_of(history));
  write_text(log, "boot 1\r\n" + test::console_dump(history, "\r\n") + "done\r\n");
  write_text(image, std::string(512, 'x') + text_of(history) + std::string(3000, '\xFF'));
  Json of_file = json_of(run_temper(folder, {"inspect", file, "--json", "-"}));
  CHECK(of_file["kind"] == "history");
  CHECK(of_file["form"] == "file");
  CHECK(of_file["trials"] == 20);
  CHECK(of_file["used_bytes"] == history.size());
  CHECK(of_file["fingerprints"].size() >= 1);
  uint32_t quarantined = 0;
  for (const Json& workload : of_file["workloads"]) {
    quarantined += workload["quarantined"].get<uint32_t>();
    CHECK(has(workload["workload"].get<std::string>(), "workload "));
  }
  CHECK(quarantined == 1);
  Json of_log = json_of(run_temper(folder, {"inspect", log, "--json", "-"}));
  CHECK(of_log["form"] == "console log");
  Json of_image = json_of(run_temper(folder, {"inspect", image, "--offset", "0x200", "--json", "-"}));
  CHECK(of_image["form"] == "flash image");
  CHECK(of_image["offset_bytes"] == 512);
  for (const char* differing : {"form", "offset_bytes", "remarks"}) {
    of_file.erase(differing), of_log.erase(differing), of_image.erase(differing);
  }
  CHECK(of_log == of_file);
  CHECK(of_image == of_file);
  const CommandResult searched = run_temper(folder, {"inspect", image});
  CHECK(searched.exit_code == 0);
  CHECK(has(searched.err, "the history in it begins at offset 512"));
  CHECK(has(searched.out, "bytes per trial"));
  CHECK(run_temper(folder, {"inspect", image, "--offset", "513"}).exit_code == 3);
  CHECK(run_temper(folder, {"inspect", image, "--offset", "12q"}).exit_code == 2);
  write_text(folder + "/cut.log", test::console_dump(history).substr(0, 500));
  const CommandResult cut = run_temper(folder, {"inspect", folder + "/cut.log"});
  CHECK(cut.exit_code == 3);
  CHECK(has(cut.err, "cut.log: the dump that begins at line 1 has no 'temper-history-end'"));
}

TEST_CASE("merge joins the forms to the same file in any order, and again to the same") {
  const std::string folder = scratch_folder("merge");
  const std::string one = folder + "/one.log", two = folder + "/two.history", all = folder + "/all.history";
  write_text(one, "hello\n" + test::console_dump(test::sample_history(1)));
  write_text(two, text_of(test::sample_history(2)));
  const Json json = json_of(run_temper(folder, {"merge", one, two, "-o", all, "--json", "-"}));
  CHECK(json["kind"] == "history");
  CHECK(json["output"] == all);
  CHECK(json["inputs"].size() == 2);
  const std::string bytes = read_text(all);
  CHECK(json["bytes"] == bytes.size());
  REQUIRE(run_temper(folder, {"merge", two, one, "-o", folder + "/other.history"}).exit_code == 0);
  CHECK(read_text(folder + "/other.history") == bytes);
  REQUIRE(run_temper(folder, {"merge", two, one, "-o", all}).exit_code == 0);  // contained in the result
  REQUIRE(run_temper(folder, {"merge", one, all, "-o", all}).exit_code == 0);  // an input
  CHECK(read_text(all) == bytes);
  const Json shown = json_of(run_temper(folder, {"inspect", all, "--json", "-"}));
  CHECK(shown["trials"] == json["trials"]);
  CHECK(shown["damaged_bytes"] == 0);
  CHECK(shown["lost_frames"] == 0);
}

TEST_CASE("merge never takes the place of what it does not contain, and leaves all as it was when it refuses") {
  const std::string folder = scratch_folder("merge_refused");
  const std::string log = folder + "/one.log", two = folder + "/two.history", three = folder + "/three.history";
  write_text(log, test::console_dump(test::sample_history(1)));
  write_text(two, text_of(test::sample_history(2)));
  write_text(three, text_of(test::sample_history(3)));
  write_text(folder + "/notes.txt", "My notes.\n");
  write_text(folder + "/net.workloads", kTwoWorkloads);
  const std::map<std::string, std::string> before = {
      {log, read_text(log)}, {two, read_text(two)}, {three, read_text(three)}, {folder + "/notes.txt", "My notes.\n"}};
  struct Refused {
    std::vector<std::string> arguments;
    int exit_code;
    const char* message;
  };
  const Refused cases[] = {
      {{"merge", log, two}, 2, "--output is required"},
      {{"merge", log, two, "-o", three}, 2, "name it as an input too"},
      {{"merge", log, two, "-o", folder + "/notes.txt"}, 2, "name it as an input too"},
      {{"merge", log, two, "-o", log}, 2, "input of another form"},
      {{"merge", log, folder + "/notes.txt", "-o", folder + "/result"}, 3, "neither a history nor a tuned table"},
      {{"merge", log, folder + "/net.workloads", "-o", folder + "/result"}, 3, "neither a history nor a tuned table"},
      {{"merge", log, folder + "/absent", "-o", folder + "/result"}, 3, "no such file"},
      {{"merge", log, two, "--offset", "3", "-o", folder + "/result"}, 2, "one image"},
      {{"merge", log, two, "-o", folder + "/none/result"}, 4, "cannot be written"},
      {{"merge", log, two, "-o", two, "--json", log}, 2, "would replace an input"},
  };
  for (const Refused& refused : cases) {
    const CommandResult result = run_temper(folder, refused.arguments);
    CAPTURE(result.err);
    CHECK(result.exit_code == refused.exit_code);
    CHECK(has(result.err, refused.message));
    CHECK_FALSE(fs::exists(folder + "/result"));
    for (const auto& [path, bytes] : before) {
      CHECK(read_text(path) == bytes);
    }
  }
}

TEST_CASE("a full disk leaves the old output as it was") {
  const std::string folder = scratch_folder("merge_full");
  const std::string one = folder + "/one.history", two = folder + "/two.history";
  write_text(one, text_of(test::sample_history(1)));
  write_text(two, text_of(test::sample_history(2)));
  const std::string bytes = read_text(one);
  const CommandResult result = run_temper(folder, {"merge", one, two, "-o", one}, "ulimit -f 1;");
  CHECK(result.exit_code == 4);
  CHECK(read_text(one) == bytes);
  for (const auto& entry : fs::directory_iterator(folder)) {
    CHECK_FALSE(has(entry.path().filename().string(), ".part"));
  }
}

TEST_CASE("tables of one device make a table, a mix makes a history, and what is made can be told") {
  const std::string folder = scratch_folder("merge_kinds");
  const std::string network = folder + "/net.workloads", history = folder + "/net.history";
  const std::string table = folder + "/net.table", again = folder + "/again.table", joined = folder + "/joined.table";
  write_text(network, kTwoWorkloads);
  for (const std::string& to : {table, again}) {
    REQUIRE(run_temper(folder, {"tune", network, "--trials", "16", "--history", history, "--table", to, "--quiet"})
                .exit_code == 0);
  }
  const std::string mix = folder + "/mix.history", from_table = folder + "/table.history";
  const Json mixed = json_of(run_temper(folder, {"merge", table, history, "-o", mix, "--json", "-"}));
  CHECK(mixed["kind"] == "history");
  CHECK(mixed["inputs"][0]["entries"] == 2);
  REQUIRE(run_temper(folder, {"merge", history, mix, table, "-o", folder + "/mix2.history"}).exit_code == 0);
  CHECK(read_text(folder + "/mix2.history") == read_text(mix));
  const Json as_history =
      json_of(run_temper(folder, {"merge", table, again, "--as", "history", "-o", from_table, "--json", "-"}));
  CHECK(as_history["kind"] == "history");
  CHECK(as_history["commits"] >= 2);
  const Json looked_up = json_of(run_temper(folder, {"lookup", network, "--history", from_table, "--json", "-"}));
  for (const Json& workload : looked_up["workloads"]) {
    CHECK(workload["source"] == "history");
  }
  const CommandResult refused = run_temper(folder, {"merge", history, table, "--as", "table", "-o", joined});
  CHECK(refused.exit_code == 2);
  CHECK(has(refused.err, "is a history, and a table is made of tables alone"));
  const CommandResult over = run_temper(folder, {"merge", history, table, "-o", table});
  CHECK(over.exit_code == 2);
  CHECK(has(over.err, "input of another form"));
  const Json json = json_of(run_temper(folder, {"merge", table, again, "-o", joined, "--json", "-"}));
  CHECK(json["kind"] == "table");
  CHECK(json["entries"] == 2);
  CHECK(run_temper(folder, {"lookup", network, "--table", joined}).exit_code == 0);
  const std::string other = folder + "/merged.history";
  REQUIRE(run_temper(folder, {"merge", history, "-o", other}).exit_code == 0);
  const CommandResult found = run_temper(folder, {"lookup", network, "--history", other, "--json", "-"});
  const Json answers = json_of(found);  // outlives the loop over a part of it
  for (const Json& workload : answers["workloads"]) {
    CHECK(workload["source"] == "history");
  }
  CHECK(run_temper(folder, {"tune", network, "--trials", "4", "--history", other, "--quiet"}).exit_code == 0);
}

}  // namespace
}  // namespace temper
