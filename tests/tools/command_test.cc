// The `temper` command as its users meet it: exit codes, messages, JSON. Runs the built command.
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace {

struct Answer {
  int code = -1;
  std::string out, err;
};

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Answer temper(const std::string& arguments) {
  const std::string command =
      std::string(TEMPER_COMMAND) + " " + arguments + " >command_test.out 2>command_test.err </dev/null";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents("command_test.out"), contents("command_test.err")};
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("wrong use is code 2 with a suggestion") {
  struct Use {
    const char* arguments;
    const char* message;
  };
  for (const Use& use :
       {Use{"", "subcommand is required"}, Use{"imprt x", "'imprt' is not a command; did you mean 'import'?"},
        Use{"import", "NET is required"},
        Use{"import ds_cnn --jsn x", "unknown option '--jsn'; did you mean '--json'?"},
        Use{"import ds_cnn more", "unexpected argument 'more'"}, Use{"import ds_cn", "did you mean 'ds_cnn'?"},
        Use{"import x.onnx --shape x", "--shape x: write NAME=1x3x224x224"},
        Use{"--frobnicate", "unknown option '--frobnicate'"}, Use{"lookup ds_cnn --threads 0", "--threads"}}) {
    INFO(use.arguments);
    const Answer answer = temper(use.arguments);
    CHECK(answer.code == 2);
    CHECK(answer.out.empty());
    CAPTURE(answer.err);
    CHECK(has(answer.err, use.message));
  }
}

TEST_CASE("every command explains itself with an example") {
  for (const char* command : {"", "import", "tune", "bench", "lookup", "inspect", "merge", "collect", "devices"}) {
    INFO(command);
    const Answer answer = temper(std::string(command) + " --help");
    CHECK(answer.code == 0);
    CHECK(has(answer.out, "Example: temper "));
    CHECK(answer.err.empty());
  }
  CHECK(temper("--help").out.find("worker") == std::string::npos);
}

TEST_CASE("bad input files are code 3, what cannot be written is code 4") {
  std::ofstream("command_test.onnx") << "no model";
  CHECK(temper("import absent.onnx").code == 3);
  const Answer foreign = temper("import ./command_test.onnx");
  CHECK(foreign.code == 3);
  CHECK(has(foreign.err, "command_test.onnx: is not an ONNX model, or is truncated"));
  CHECK(temper("inspect ./command_test.onnx").code == 3);
  CHECK(temper("inspect absent.table").code == 3);
  CHECK(temper("lookup ds_cnn --table ./command_test.onnx").code == 3);
  CHECK(temper("import ds_cnn -o no_such_folder/x.workloads").code == 4);
  CHECK(temper("import ds_cnn --json no_such_folder/x.json").code == 4);
  std::remove("command_test.onnx");
}

TEST_CASE("numbers out of their limits are code 2 and named as they were written") {
  for (const char* option :
       {"--trials 0", "--trials -1", "--trials 0x4", "--trials 4294967296", "--seed -1", "--seed 18446744073709551616",
        "--workers 999", "--repeat 16", "--min-repeat-ms nan", "--budget ''", "--budget 0s", "--shape x=1"}) {
    CAPTURE(option);
    const Answer answer = temper(std::string("tune ds_cnn --history absent.history ") + option);
    CHECK(answer.code == 2);
    CHECK(answer.err.size() < 200);
    CHECK(has(answer.err, std::string(option, std::string(option).find(' '))));
  }
}

TEST_CASE("results that do not reach standard output are code 4") {
  for (const char* arguments :
       {"import ds_cnn", "import ds_cnn --json -", "lookup ds_cnn --history absent.history", "devices", "--help"}) {
    CAPTURE(arguments);
    const std::string command = std::string(TEMPER_COMMAND) + " " + arguments + " >/dev/full 2>command_test.err";
    const int status = std::system(command.c_str());
    CHECK(WEXITSTATUS(status) == 4);
    CHECK(has(contents("command_test.err"), "standard output: cannot be written: No space left on device"));
  }
}

TEST_CASE("what import writes, import and inspect read") {
  CHECK(temper("import mobilenet_v2 -o command_test.workloads").code == 0);
  const Answer again = temper("import command_test.workloads --json -");
  CHECK(again.code == 0);
  const nlohmann::json json = nlohmann::json::parse(again.out, nullptr, false);
  REQUIRE(json.is_object());
  CHECK(json["schema"] == 1);
  CHECK(json["network"] == "mobilenet_v2");
  CHECK(json["workloads"].size() == 31);
  CHECK(json["workloads"][0]["workload"] ==
        "conv2d f32 nhwc 1x3x224x224 o32 k3x3 s2x2 p0,0,1,1 d1x1 g1 bias clip(0,6)");
  const Answer shown = temper("inspect command_test.workloads --json -");
  CHECK(shown.code == 0);
  CHECK(nlohmann::json::parse(shown.out, nullptr, false)["workloads"].size() == 31);
  std::remove("command_test.workloads");
}

TEST_CASE("without history and table, lookup answers with defaults and says why") {
  const Answer answer = temper("lookup ds_cnn --history absent.history --json -");
  CHECK(answer.code == 0);
  const nlohmann::json json = nlohmann::json::parse(answer.out, nullptr, false);
  REQUIRE(json.is_object());
  REQUIRE(json["workloads"].size() == 4);
  for (const nlohmann::json& workload : json["workloads"]) {
    CHECK(workload["source"] == "default");
    CHECK(workload["missed"]["history"] == "absent");
    CHECK(!workload["config"].empty());
  }
}

TEST_CASE("devices tells the cores and their facts") {
  const Answer answer = temper("devices --json -");
  CHECK(answer.code == 0);
  const nlohmann::json json = nlohmann::json::parse(answer.out, nullptr, false);
  REQUIRE(json["devices"].size() == 1);
  CHECK(json["devices"][0]["kind"] == "cpu");
  CHECK(json["devices"][0]["facts"]["cores"] >= 1);
  CHECK(json["devices"][0]["facts"]["vector_lanes"] >= 1);
}

}  // namespace
