#include "tools/network_argument.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "schedules/workloads_json.h"

namespace temper {
namespace {

TEST_CASE("a built-in network is found by its name") {
  const Result<Network> network = resolve_network("ds_cnn", {});
  REQUIRE(network.ok());
  CHECK(network->name == "ds_cnn");
}

TEST_CASE("a .workloads file is found by its path") {
  const Result<Network> network = built_in_network("ds_cnn");
  REQUIRE(network.ok());
  std::ofstream("network_argument_test.workloads") << workloads_text(*network);
  const Result<Network> again = resolve_network("network_argument_test.workloads", {});
  REQUIRE(again.ok());
  CHECK(again->workloads.size() == network->workloads.size());
  std::remove("network_argument_test.workloads");
}

TEST_CASE("an unknown name is wrong use and gets a suggestion; an absent path is a bad input") {
  const Result<Network> name = resolve_network("mobilnet_v2", {});
  REQUIRE(!name.ok());
  CHECK(name.error().code == TEMPER_INVALID_ARGUMENT);
  CHECK(name.error().message.find("did you mean 'mobilenet_v2'?") != std::string::npos);
  const Result<Network> path = resolve_network("absent/model.onnx", {});
  REQUIRE(!path.ok());
  CHECK(path.error().code == TEMPER_NOT_FOUND);
}

TEST_CASE("what is no file is refused as such: to open a pipe would hang") {
  const std::filesystem::path folder = "network_argument_test.onnx";
  std::filesystem::create_directories(folder);
  const std::string pipe = (folder / "pipe.onnx").string();
  std::remove(pipe.c_str());
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  for (const std::string& path : {folder.string(), pipe, std::string("/dev/zero")}) {
    const Result<Network> network = resolve_network(path, {});
    REQUIRE(!network.ok());
    CHECK(network.error().code == TEMPER_BAD_DATA);
    CHECK(network.error().message.find("not a file") != std::string::npos);
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("sizes given for a network that states its own are wrong use, not ignored") {
  ImportOptions options;
  options.dimensions["N"] = 8;
  const Result<Network> network = resolve_network("ds_cnn", options);
  REQUIRE(!network.ok());
  CHECK(network.error().code == TEMPER_INVALID_ARGUMENT);
}

TEST_CASE("shapes and dimensions are read by name") {
  NetworkArgument argument;
  argument.shapes = {"x=1x3x48x192", "a=b=2"};
  argument.dimensions = {"N=8"};
  const Result<ImportOptions> options = import_options(argument);
  REQUIRE(options.ok());
  CHECK(options->input_shapes.at("x") == std::vector<int64_t>{1, 3, 48, 192});
  CHECK(options->input_shapes.at("a=b") == std::vector<int64_t>{2});
  CHECK(options->dimensions.at("N") == 8);
}

TEST_CASE("shapes and dimensions of another form are wrong use") {
  for (const char* text : {"x", "=1x2", "x=", "x=1x", "x=x1", "x=1xax3", "x=1,2", "x=99999999999999999999"}) {
    INFO(text);
    NetworkArgument argument;
    argument.shapes = {text};
    const Result<ImportOptions> options = import_options(argument);
    REQUIRE(!options.ok());
    CHECK(options.error().code == TEMPER_INVALID_ARGUMENT);
  }
  NetworkArgument argument;
  argument.dimensions = {"N=one"};
  CHECK(!import_options(argument).ok());
}

}  // namespace
}  // namespace temper
