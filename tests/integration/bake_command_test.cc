// `temper bake` end to end: a small network is tuned, baked, linked into a C program and executed; what bake is given
// may be damaged, of another target, or too little.
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/check.h"
#include "runtime/table_view.h"
#include "tests/integration/command_run.h"

namespace temper {
namespace {

using Json = nlohmann::json;

constexpr char kNetwork[] = R"({"schema": 1, "network": "small", "workloads": [
  {"name": "dense", "count": 1, "workload": "matmul f32 1x9x32x27 bconst bias relu"},
  {"name": "conv/pw", "count": 2, "workload": "conv2d f32 nhwc 1x16x10x10 o35 k1x1 s1x1 p0,0,0,0 d1x1 g1 bias"},
  {"name": "7x7", "count": 1, "workload": "conv2d f32 nchw 1x3x11x11 o8 k7x7 s2x2 p3,3,3,3 d1x1 g1"},
  {"name": "dw", "count": 1, "workload": "conv2d f32 nhwc 1x19x10x10 o19 k3x3 s1x1 p1,1,1,1 d1x1 g19 bias"}]})";
// Elements of the constant operands by name, for files of them.
const struct {
  const char* file;
  uint32_t elements;
} kConstants[] = {{"dense.f32", 32 * 27},
                  {"conv_pw.0.f32", 35 * 16},
                  {"conv_pw.1.f32", 35 * 16},
                  {"7x7.f32", 8 * 3 * 7 * 7},
                  {"dw.f32", 19 * 9}};

struct Tuned {
  std::string folder, network, history;
};

/// Tuned once for all cases.
const Tuned& tuned() {
  static const Tuned once = [] {
    Tuned made;
    made.folder = scratch_folder("bake");
    made.network = made.folder + "/small.workloads";
    made.history = made.folder + "/small.history";
    write_text(made.network, kNetwork);
    const CommandResult result = run_temper(
        made.folder, {"tune", made.network, "--history", made.history, "--trials", "32", "--budget", "60s", "--quiet"});
    CAPTURE(result.err);
    REQUIRE(result.exit_code <= 1);  // that nothing beat its default is a result too
    return made;
  }();
  return once;
}

CommandResult bake(const std::vector<std::string>& more, const std::string& output = "small") {
  std::vector<std::string> arguments = {"bake", "--network", tuned().network, "-o", tuned().folder + "/" + output};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_temper(tuned().folder, arguments);
}

struct Run {
  int exit_code = -1;
  std::string out;
};

Run run_shell(const std::string& command, const std::string& out_path) {
  const int status = std::system((command + " > '" + out_path + "' 2>&1").c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(out_path)};
}

/// Compiles the application against the files of `output` with the C compiler of this build.
std::string linked_app(const std::string& output) {
  const std::string base = tuned().folder + "/" + output, app = base + "_app";
  const Run made = run_shell(
      std::string(TEMPER_C_COMPILER) + " " + TEMPER_C_FLAGS + " -std=c11 -Wall -Wextra -Werror -I '" + TEMPER_INCLUDE +
          "' -I '" + tuned().folder + "' '-DTEMPER_WINNERS_HEADER=\"" + output + ".h\"' -DTEMPER_WINNERS=" + output +
          "_winners '" + TEMPER_APP + "' '" + base + ".a' '" + TEMPER_RUNTIME + "' -o '" + app + "'",
      base + ".log");
  CAPTURE(made.out);
  REQUIRE(made.exit_code == 0);
  return app;
}

std::string write_constants(const std::string& name) {
  const std::string folder = tuned().folder + "/" + name;
  std::filesystem::create_directories(folder);
  for (const auto& constant : kConstants) {
    std::vector<float> values(constant.elements);
    fill_small_integers(TEMPER_IN_B, {values.data(), values.size()});
    std::ofstream file(folder + "/" + constant.file, std::ios::binary);
    file.write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(float)));
  }
  return folder;
}

size_t occurrences(const std::string& text, const std::string& word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    ++count;
  }
  return count;
}

TEST_CASE("baked winners are linked into a C program and give the reference's results, and so do the defaults") {
  const CommandResult baked = bake({tuned().history, "--json", "-"});
  CAPTURE(baked.err);
  REQUIRE(baked.exit_code == 0);
  const Json report = Json::parse(baked.out);
  CHECK(report["schema"] == 1);
  CHECK(report["name"] == "small");
  REQUIRE(report["workloads"].size() == 4);
  size_t from_history = 0;
  for (const Json& workload : report["workloads"]) {
    from_history += workload["source"] == "history" ? 1 : 0;
    CHECK(workload["winner"]["constant"] != "prepacked");
  }
  CHECK(from_history > 0);
  const std::string app = linked_app("small");
  const Run same = run_shell("'" + app + "'", app + ".out");
  CAPTURE(same.out);
  CHECK(same.exit_code == 0);
  CHECK(same.out.find("winners, differing 0") == 0);
  CHECK(occurrences(same.out, ": right") == 5);
  const Run other = run_shell("'" + app + "' other", app + ".out");
  CAPTURE(other.out);
  CHECK(other.exit_code == 0);
  CHECK(other.out.find("defaults, differing ") == 0);
  CHECK(occurrences(other.out, ": right") == 5);
}

TEST_CASE("constants from files are packed on the host and read in place") {
  const std::string folder = write_constants("constants");
  write_text(folder + "/dens.f32", "a name mistyped");
  const CommandResult baked = bake({tuned().history, "--constants", folder, "--json", "-"}, "packed");
  CAPTURE(baked.err);
  REQUIRE(baked.exit_code == 0);
  CHECK(baked.err.find("dens.f32: is the constant of no workload") != std::string::npos);
  const Json report = Json::parse(baked.out);
  for (const Json& workload : report["workloads"]) {
    CHECK(workload["winner"]["constant"] != "packed at boot");
    CHECK(workload["fallback"]["constant"] != "packed at boot");
  }
  const std::string app = linked_app("packed");
  for (const char* device : {"", "other"}) {
    const Run ran = run_shell("'" + app + "' " + device, app + ".out");
    CAPTURE(ran.out);
    CHECK(ran.exit_code == 0);
    CHECK(occurrences(ran.out, "packed here") == 0);
    CHECK(occurrences(ran.out, ": right") == 5);
  }
}

TEST_CASE("files of constants that are missing or of another size are named") {
  const std::string folder = write_constants("bad_constants");
  std::filesystem::remove(folder + "/conv_pw.1.f32");
  const CommandResult missing = bake({tuned().history, "--constants", folder}, "never");
  CHECK(missing.exit_code == 3);
  CHECK(missing.err.find("conv_pw.1.f32") != std::string::npos);
  write_text(folder + "/conv_pw.1.f32", "short");
  const CommandResult wrong = bake({tuned().history, "--constants", folder}, "never");
  CHECK(wrong.exit_code == 3);
  CHECK(wrong.err.find("conv_pw.1.f32") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(tuned().folder + "/never.a"));
}

TEST_CASE("the same input bakes the same bytes, and the table is one that inspect shows and bake reads") {
  REQUIRE(bake({tuned().history}, "first").exit_code == 0);
  const auto bytes_of = [](const char* ending) { return read_text(tuned().folder + "/first" + ending); };
  const std::string archive = bytes_of(".a"), table = bytes_of(".table");
  REQUIRE(bake({tuned().history}, "first").exit_code == 0);
  CHECK(bytes_of(".a") == archive);
  CHECK(bytes_of(".table") == table);
  CHECK(run_temper(tuned().folder, {"inspect", tuned().folder + "/first.table"}).exit_code == 0);
  const CommandResult again = bake({tuned().folder + "/first.table", "--json", "-"}, "again");
  CAPTURE(again.err);
  REQUIRE(again.exit_code == 0);
  const Json report = Json::parse(again.out);  // outlives the loop over a part of it
  for (const Json& workload : report["workloads"]) {
    CHECK(workload["source"] == "table");
  }
}

TEST_CASE("what cannot be baked is refused with the reason, and nothing is written") {
  const std::string folder = tuned().folder;
  const CommandResult elsewhere = bake({tuned().history, "--target", "cortex-m4"}, "m4");
  CHECK(elsewhere.exit_code == 1);
  CHECK(elsewhere.err.find("cortex-m4") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder + "/m4.a"));
  write_text(folder + "/noise", "no file of ours");
  const CommandResult noise = bake({folder + "/noise"}, "never");
  CHECK(noise.exit_code == 3);
  CHECK(noise.err.find("noise") != std::string::npos);
  std::string damaged = read_text(folder + "/small.table");
  REQUIRE(damaged.size() > 100);
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 4);
  write_text(folder + "/damaged.table", damaged);
  CHECK(bake({folder + "/damaged.table"}, "never").exit_code == 3);
  CHECK(bake({folder + "/absent.history"}, "never").exit_code == 3);
  CHECK(bake({tuned().history, "--target", "pdp-11"}, "never").exit_code == 2);
  CHECK(bake({tuned().history, "--fingerprint", "9"}, "never").exit_code == 2);
  CHECK(bake({tuned().history, "--network", "no_such_network"}, "never").exit_code == 2);
  CHECK(bake({}, "never").exit_code == 2);
  const CommandResult over = bake({folder + "/small.table"}, "small");
  CHECK(over.exit_code == 2);
  CHECK(over.err.find("would replace an input") != std::string::npos);
  const std::string history = read_text(tuned().history);
  const CommandResult report = bake({tuned().history, "--json", tuned().history}, "never");
  CHECK(report.exit_code == 2);
  CHECK(report.err.find("would replace an input") != std::string::npos);
  CHECK(read_text(tuned().history) == history);
  CHECK(bake({tuned().history, "--json", folder + "/never.h"}, "never").exit_code == 2);
  CHECK_FALSE(std::filesystem::exists(folder + "/never.a"));
}

TEST_CASE("a full disk leaves the old files whole") {
  REQUIRE(bake({tuned().history}, "kept").exit_code == 0);
  const std::string archive = read_text(tuned().folder + "/kept.a");
  std::vector<std::string> arguments = {"bake", tuned().history,         "--network", tuned().network,
                                        "-o",   tuned().folder + "/kept"};
  const CommandResult full = run_temper(tuned().folder, arguments, "ulimit -f 4;");
  CHECK(full.exit_code == 4);
  CHECK(read_text(tuned().folder + "/kept.a") == archive);
}

}  // namespace
}  // namespace temper
