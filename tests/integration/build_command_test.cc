// `temper build` end to end: what it refuses, and a firmware for a Cortex-M4 whose board says what the report said.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/integration/command_run.h"

namespace temper {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

CommandResult build(const std::string& folder, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "build");
  return run_temper(folder, arguments);
}

bool has_cross_compiler() { return std::system("arm-none-eabi-g++ --version > /dev/null 2>&1") == 0; }
bool has_emulator() { return std::system("qemu-system-arm --version > /dev/null 2>&1") == 0; }

/// The number behind `before` in a line of the console that begins with `begin`; -1 when there is none.
int64_t number_in(const std::string& console, const std::string& begin, const std::string& before) {
  std::istringstream lines(console);
  for (std::string line; std::getline(lines, line);) {
    const size_t at = line.find(before);
    if (line.rfind(begin, 0) == 0 && at != std::string::npos) {
      return std::strtoll(line.c_str() + at + before.size(), nullptr, 10);
    }
  }
  return -1;
}

std::string boot(const std::string& folder) {
  const std::string console = folder + "/console.txt";
  const std::string run = folder + "/built/emulate " + folder +
                          "/built/first_boot.elf boots=1 dump=0 plain=0 trials-per-workload=4 > " + console + " 2>&1";
  CHECK(std::system(run.c_str()) == 0);
  return read_text(console);
}

}  // namespace

TEST_CASE("build refuses what it cannot do, and says what to do") {
  const std::string folder = scratch_folder("build_refused");
  const std::string out = folder + "/built";
  const CommandResult unknown = build(folder, {"--target", "cortex-m99", "ds_cnn", "-o", out});
  CHECK(unknown.exit_code == 2);
  CHECK(unknown.err.find("cortex-m4") != std::string::npos);
  CHECK(build(folder, {"--target", "cortex-m4", "ds_cnn"}).exit_code == 2);
  CHECK(build(folder, {"--target", "cortex-m4", "ds_cn", "-o", out}).exit_code == 2);
  CHECK(build(folder, {"--target", "cortex-m4", folder + "/absent.onnx", "-o", out}).exit_code == 3);
  CHECK(build(folder, {"--target", "cortex-m4", "ds_cnn", "-o", out, "--profile", "lookup"}).exit_code == 2);
  CHECK(build(folder, {"--target", "cortex-m4", "ds_cnn", "-o", out, "--profile", "all"}).exit_code == 2);
  CHECK(build(folder, {"--target", "cortex-m4", "ds_cnn", "-o", out, "--pack-bytes", "much"}).exit_code == 2);
  CHECK(build(folder, {"--target", "cortex-m4", "ds_cnn", "-o", out, "--pack-bytes", "0"}).exit_code == 2);
  CHECK(build(folder, {"--target", "cortex-m4", "ds_cnn", "-o", out, "--max-trials", "0"}).exit_code == 2);
  CHECK(build(folder, {"--target", "cortex-m4", "ds_cnn", "-o", out, "--budget", "soon"}).exit_code == 2);
  CHECK(!fs::exists(out));
}

TEST_CASE("a missing cross compiler is named with the packages to install") {
  const std::string folder = scratch_folder("build_without_compiler");
  // Only the programs that are asked for before the compiler.
  const std::string prefix = "mkdir -p " + folder + "/bin; ln -sf $(command -v cmake) $(command -v ninja) " + folder +
                             "/bin; PATH=" + folder + "/bin; export PATH;";
  const CommandResult result =
      run_temper(folder, {"build", "--target", "cortex-m4", "ds_cnn", "-o", folder + "/built"}, prefix);
  CHECK(result.exit_code == 4);
  CHECK(result.err.find("apt-get install gcc-arm-none-eabi") != std::string::npos);
}

TEST_CASE("a pack that does not fit names a workload and the bytes needed") {
  if (!has_cross_compiler()) {
    MESSAGE("SKIPPED: no arm-none-eabi-g++");
    return;
  }
  const std::string folder = scratch_folder("build_too_small");
  const CommandResult result =
      build(folder, {"--target", "cortex-m4", "ds_cnn", "-o", folder + "/built", "--pack-bytes", "6k", "--quiet"});
  CHECK(result.exit_code == 1);
  CHECK(result.err.find("no kernel for workload") != std::string::npos);
  CHECK(result.err.find("--pack-bytes") != std::string::npos);
}

TEST_CASE("a firmware for the Cortex-M4 takes what the report says") {
  if (!has_cross_compiler() || !has_emulator()) {
    MESSAGE("SKIPPED: no arm-none-eabi-g++ or no qemu-system-arm");
    return;
  }
  const std::string folder = scratch_folder("build_cortex_m4");
  const CommandResult result = build(folder, {"--target", "cortex-m4", "ds_cnn", "-o", folder + "/built",
                                              "--pack-bytes", "40k", "--max-trials", "32", "--quiet"});
  INFO(result.err);
  REQUIRE(result.exit_code == 0);
  CHECK(result.out.find("fits\n") != std::string::npos);
  for (const char* file :
       {"ds_cnn.pack", "ds_cnn_pack.o", "ds_cnn.workloads", "first_boot.elf", "collect_boot.elf", "build.json",
        "build.log", "include/temper/temper.h", "lib/libtemper_runtime.a", "emulate"}) {
    CAPTURE(file);
    CHECK(fs::exists(folder + "/built/" + file));
  }
  const Json report = Json::parse(read_text(folder + "/built/size_report.json"));
  CHECK(report["schema"] == 1);
  CHECK(report["fits"] == true);
  CHECK(report["pack"]["kernel_bytes"].get<int64_t>() + report["pack"]["data_bytes"].get<int64_t>() <= 40 << 10);
  CHECK(report["pack"]["workloads"].size() == 4);

  const std::string console = boot(folder);
  INFO(console);
  CHECK(number_in(console, "arena ", "arena ") == report["needs"]["arena_bytes"]);
  CHECK(number_in(console, "arena ", "pool of ") == report["pool_bytes"]);
  CHECK(number_in(console, "tensors ", "tensors ") == report["needs"]["every_candidate_bytes"]);
  CHECK(number_in(console, "memory: ", "of ") == report["flash_size_bytes"]);
  // The map knows no padding between parts.
  const int64_t flash = number_in(console, "memory: ", "flash ");
  CHECK(flash >= report["flash_bytes"].get<int64_t>());
  CHECK(flash <= report["flash_bytes"].get<int64_t>() + 1024);
  for (const Json& part : report["needs"]["arena_parts"]) {
    const std::string line = "need " + std::to_string(part["bytes"].get<int64_t>()) + " bytes: ";
    CHECK(console.find(line + part["part"].get<std::string>()) != std::string::npos);
  }
}

}  // namespace temper
