#include "schedules/network.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "schedules/workloads_json.h"

namespace temper {
namespace {

uint64_t multiply_adds(const Network& network) {
  uint64_t sum = 0;
  for (const NetworkWorkload& entry : network.workloads) {
    sum += flops(entry.workload) / 2 * entry.count;
  }
  return sum;
}

uint32_t occurrences(const Network& network) {
  uint32_t sum = 0;
  for (const NetworkWorkload& entry : network.workloads) {
    sum += entry.count;
  }
  return sum;
}

TEST_CASE("built-in networks are listed by name in order") {
  CHECK(built_in_networks() == std::vector<std::string>{"bert_base", "ds_cnn", "mobilenet_v2", "resnet50"});
}

TEST_CASE("layer tables add up to the published multiply-adds") {
  struct Published {
    const char* name;
    uint64_t multiply_adds;
    uint32_t layers;
  };
  // MobileNetV2 and ResNet-50 v1.5 as counted over their convolutions and the classifier, DS-CNN as MLPerf Tiny states
  // it, BERT-base as 12 * (4 * 128 * 768^2 + 2 * 12 * 128^2 * 64 + 2 * 128 * 768 * 3072) + 768^2.
  for (const Published& p : {Published{"mobilenet_v2", 300774272, 53}, Published{"resnet50", 4089184256, 54},
                             Published{"ds_cnn", 2656768, 10}, Published{"bert_base", 11174215680, 97}}) {
    INFO(p.name);
    const Result<Network> network = built_in_network(p.name);
    REQUIRE(network.ok());
    CHECK(network->name == p.name);
    CHECK(multiply_adds(*network) == p.multiply_adds);
    CHECK(occurrences(*network) == p.layers);
  }
}

TEST_CASE("each layer's output feeds the next one in a built-in chain") {
  const Result<Network> network = built_in_network("ds_cnn");
  REQUIRE(network.ok());
  const Conv2dShape& first = network->workloads[0].workload.conv;
  CHECK(first.out_height() == 25);
  CHECK(first.out_width() == 5);
  CHECK(network->workloads[1].workload.conv.height == first.out_height());
  CHECK(network->workloads[1].workload.conv.width == first.out_width());
}

TEST_CASE("an unknown built-in network is an error that names the known ones") {
  const Result<Network> network = built_in_network("lenet");
  REQUIRE(!network.ok());
  CHECK(network.error().code == TEMPER_NOT_FOUND);
  CHECK(network.error().message.find("mobilenet_v2") != std::string::npos);
}

TEST_CASE("a .workloads file reads back as it was written") {
  Result<Network> network = built_in_network("mobilenet_v2");
  REQUIRE(network.ok());
  network->workloads[3].name = "a \"quoted\" name \xff with a byte that is no UTF-8";
  const std::string path = (std::filesystem::current_path() / "network_test.workloads").string();
  std::ofstream(path, std::ios::binary) << workloads_text(*network);
  const Result<Network> again = read_workloads_file(path);
  REQUIRE(again.ok());
  REQUIRE(again->workloads.size() == network->workloads.size());
  for (size_t i = 0; i < again->workloads.size(); ++i) {
    CHECK(again->workloads[i].workload == network->workloads[i].workload);
    CHECK(again->workloads[i].count == network->workloads[i].count);
  }
  REQUIRE(again->skipped.size() == network->skipped.size());
  CHECK(again->skipped[0].operator_name == network->skipped[0].operator_name);
  CHECK(again->skipped[0].flops == network->skipped[0].flops);
  std::remove(path.c_str());
}

TEST_CASE("every cut of a .workloads file is refused with its name") {
  const Result<Network> network = built_in_network("ds_cnn");
  REQUIRE(network.ok());
  const std::string text = workloads_text(*network);
  for (size_t bytes = 0; bytes + 2 < text.size(); ++bytes) {
    const Result<Network> cut = parse_workloads_text(text.substr(0, bytes), "cut.workloads");
    REQUIRE(!cut.ok());
    CHECK(cut.error().message.rfind("cut.workloads", 0) == 0);
  }
}

TEST_CASE("bad .workloads files are told apart") {
  struct Bad {
    const char* text;
    temper_status code;
    const char* part;
  };
  const char* const kGood = "matmul f32 1x2x3x4 bconst";
  for (const Bad& bad : {
           Bad{"[]", TEMPER_BAD_DATA, "not a JSON object"},
           Bad{"{}", TEMPER_BAD_DATA, "\"schema\" is missing"},
           Bad{R"({"schema": 2, "workloads": []})", TEMPER_BAD_VERSION, "schema 2"},
           Bad{R"({"schema": 1})", TEMPER_BAD_DATA, "\"workloads\""},
           Bad{R"({"schema": 1, "workloads": [3]})", TEMPER_BAD_DATA, "workload 0"},
           Bad{R"({"schema": 1, "workloads": [{"count": 0, "workload": "matmul f32 1x2x3x4"}]})", TEMPER_BAD_DATA,
               "count"},
           Bad{R"({"schema": 1, "workloads": [{"count": -1, "workload": "matmul f32 1x2x3x4"}]})", TEMPER_BAD_DATA,
               "count"},
           Bad{R"({"schema": 1, "workloads": [{"workload": "matmul f32 1x2x0x4"}]})", TEMPER_BAD_DATA, "workload 0"},
           Bad{R"({"schema": 1, "workloads": [{"workload": "lstm"}]})", TEMPER_BAD_DATA, "workload 0"},
           Bad{R"({"schema": 1, "workloads": [], "skipped": [{"operator": "X", "flops": -2}]})", TEMPER_BAD_DATA,
               "flops"},
       }) {
    INFO(bad.text);
    const Result<Network> network = parse_workloads_text(bad.text, "f");
    REQUIRE(!network.ok());
    CHECK(network.error().code == bad.code);
    CHECK(network.error().message.find(bad.part) != std::string::npos);
  }
  const std::string twice = std::string(R"({"schema": 1, "workloads": [{"workload": ")") + kGood +
                            R"("}, {"workload": ")" + kGood + R"("}]})";
  const Result<Network> network = parse_workloads_text(twice, "f");
  REQUIRE(!network.ok());
  CHECK(network.error().message.find("listed twice") != std::string::npos);
}

TEST_CASE("what is no file, or larger than any .workloads file, is refused unread") {
  const std::filesystem::path folder = std::filesystem::current_path() / "network_test.folder";
  std::filesystem::create_directories(folder);
  const std::string pipe = (folder / "pipe").string(), large = (folder / "large").string();
  std::remove(pipe.c_str());
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::ofstream(large) << "{";
  std::filesystem::resize_file(large, uint64_t{1} << 36);  // sparse
  for (const std::string& path : {folder.string(), pipe, large}) {
    CAPTURE(path);
    const Result<Network> network = read_workloads_file(path);
    REQUIRE(!network.ok());
    CHECK(network.error().message.rfind(path, 0) == 0);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace temper
