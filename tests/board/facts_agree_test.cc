// What is said of a target or a board in more than one place says the same: codegen/target.cc, the toolchain file, the
// board's data, its folder and its emulator's command line. A difference is told by its name and both sides.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "codegen/target.h"
#include "toolchains/boards/cortex_m/cortex_m.h"
#include "tools/build_kit.h"
#include "tools/child_process.h"

extern "C" const cortex_m_board_data mps2_an386, mps2_an500, mps2_an500_psram, mps3_an547;

namespace temper {
namespace {

using Differences = std::vector<std::string>;

const std::string kToolchains = std::string(TEMPER_ROOT) + "/toolchains/";

struct Board {
  const char* target;
  const char* folder;
  const cortex_m_board_data* data;
};
const Board kBoards[] = {{"cortex-m4", "mps2-an386", &mps2_an386},
                         {"cortex-m7", "mps2-an500", &mps2_an500},
                         {"cortex-m7", "mps2-an500-psram", &mps2_an500_psram},
                         {"cortex-m55", "mps3-an547", &mps3_an547}};

struct NamedFact {
  temper_fact fact;
  const char* name;
};
constexpr NamedFact kFacts[] = {{TEMPER_FACT_VECTOR_LANES, "vector lanes"},
                                {TEMPER_FACT_VECTOR_REGISTERS, "vector registers"},
                                {TEMPER_FACT_L1D_BYTES, "L1D bytes"},
                                {TEMPER_FACT_L2_BYTES, "L2 bytes"},
                                {TEMPER_FACT_L3_BYTES, "L3 bytes"},
                                {TEMPER_FACT_CORES, "cores"},
                                {TEMPER_FACT_THREADS, "threads"},
                                {TEMPER_FACT_CLOCK_KHZ, "clock kHz"},
                                {TEMPER_FACT_COPY_MB_S, "copy MB/s"},
                                {TEMPER_FACT_FMA_LATENCY, "FMA latency"},
                                {TEMPER_FACT_FMA_PER_CYCLE, "FMA per cycle"}};
static_assert(std::size(kFacts) + 1 == TEMPER_FACT_COUNT, "all but the memories, of which a board may have more");

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::map<std::string, std::string> describe(const std::string& target) {
  const Result<std::string> lines =
      output_of({"cmake", "-DTOOLCHAIN=" + kToolchains + target + ".cmake", "-P", kToolchains + "describe.cmake"});
  REQUIRE(lines.ok());
  std::map<std::string, std::string> words;
  std::istringstream stream(*lines);
  for (std::string line; std::getline(stream, line);) {
    const size_t space = line.find(' ');
    words[line.substr(0, space)] = space == std::string::npos ? "" : line.substr(space + 1);
  }
  return words;
}

template <typename A, typename B>
void compare(const std::string& what, const A& here, const B& there, Differences* found) {
  if (here != there) {
    std::ostringstream text;
    text << what << ": " << here << " in codegen/target.cc, " << there << " elsewhere";
    found->push_back(text.str());
  }
}

bool has_word(const std::string& words, const std::string& word) {
  return (" " + words + " ").find(" " + word + " ") != std::string::npos;
}

bool bare_metal(const Target& target) { return target.triple.find("-none-") != std::string::npos; }

/// The toolchain file against the target's line.
Differences toolchain_differences(const Target& target, const std::map<std::string, std::string>& described) {
  Differences found;
  const auto word = [&](const char* name) {
    const auto at = described.find(name);
    return at == described.end() ? std::string() : at->second;
  };
  const std::string file = "toolchains/" + target.name + ".cmake: ";
  compare(file + "target", target.name, word("target"), &found);
  const std::string arm = target.triple.substr(0, 3), flags = word("flags");
  const bool is_arm = arm == "arm" || arm == "thu";
  compare(file + "-mfloat-abi=hard", is_arm && target.triple.substr(target.triple.size() - 2) == "hf",
          has_word(flags, "-mfloat-abi=hard"), &found);
  if (bare_metal(target)) {
    compare(file + "-mcpu", true, has_word(flags, "-mcpu=" + target.cpu), &found);
    compare(file + "-mthumb", true, has_word(flags, "-mthumb"), &found);
    return found;
  }
  const std::map<std::string, std::string> march = {{"x86_64", "-march=x86-64"},
                                                    {"aarch64", "-march=armv8-a"},
                                                    {"armv7", "-march=armv7-a"},
                                                    {"riscv64", "-march=rv64gc"}};
  compare(file + "-march", true, has_word(flags, march.at(target.triple.substr(0, target.triple.find('-')))), &found);
  std::ostringstream facts;
  facts << target.facts.value[TEMPER_FACT_VECTOR_LANES] << ' ' << target.facts.value[TEMPER_FACT_VECTOR_REGISTERS]
        << ' ' << target.facts.value[TEMPER_FACT_FMA_LATENCY] << ' ' << target.facts.value[TEMPER_FACT_FMA_PER_CYCLE];
  compare(file + "TEMPER_CORE_FACTS", facts.str(), word("core_facts"), &found);
  compare(file + "emulate", true, !read_file(kToolchains + "boards/linux/emulate-" + target.name).empty(), &found);
  return found;
}

Differences board_differences(const Target& target, const Board& board) {
  Differences found;
  const std::string folder = kToolchains + "boards/" + board.folder, at = std::string(board.folder) + ": ";
  compare(at + "name", std::string(board.folder), std::string(board.data->name), &found);
  for (const NamedFact& fact : kFacts) {
    compare(at + fact.name, target.facts.value[fact.fact], board.data->facts.value[fact.fact], &found);
  }
  const int32_t memories = board.data->facts.value[TEMPER_FACT_MEMORIES];
  compare(at + "memories of board.cmake and of the facts", memories_of_board(folder), memories, &found);
  compare(at + "memories listed and of the facts", static_cast<int32_t>(board.data->memory_count) + 1, memories,
          &found);
  // -icount shift=5: an instruction takes 2^5 ns.
  const std::string emulate = read_file(folder + "/emulate");
  const size_t shift = emulate.find("shift=");
  compare(at + "ns per instruction of emulate",
          shift == std::string::npos ? 0 : 1u << std::atoi(emulate.c_str() + shift + 6), board.data->ns_per_instruction,
          &found);
  return found;
}

std::string joined(const Differences& differences) {
  std::string text;
  for (const std::string& difference : differences) {
    text += difference + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("every target's toolchain file says what its line in codegen/target.cc says") {
  for (const std::string& name : target_names()) {
    if (name != "native") {
      const Target target = *find_target(name);
      CHECK(joined(toolchain_differences(target, describe(name))) == "");
      CHECK(target.lanes == target.facts.value[TEMPER_FACT_VECTOR_LANES]);
      CHECK(target.registers == target.facts.value[TEMPER_FACT_VECTOR_REGISTERS]);
      CHECK(target.facts.value[TEMPER_FACT_MEMORIES] == 1);
    }
  }
}

TEST_CASE("every emulated board has the facts of the target it is for") {
  for (const Board& board : kBoards) {
    CHECK(joined(board_differences(*find_target(board.target), board)) == "");
  }
  for (const std::string& name : target_names()) {
    if (name != "native" && bare_metal(*find_target(name))) {
      const std::string folder = describe(name)["board"];
      bool known = false;
      for (const Board& board : kBoards) {
        known = known || (board.folder == folder && board.target == name);
      }
      CHECK_MESSAGE(known, name << ": its board " << folder << " is not among those compared here");
    }
  }
}

TEST_CASE("what differs is told by name") {
  Target target = *find_target("cortex-m7");
  std::map<std::string, std::string> described = describe("cortex-m7");
  target.facts.value[TEMPER_FACT_L1D_BYTES] = 1;
  CHECK(joined(board_differences(target, kBoards[1])) ==
        "mps2-an500: L1D bytes: 1 in codegen/target.cc, 16384 elsewhere\n");
  target.cpu = "cortex-m33";
  described["flags"] = "-mcpu=cortex-m7 -mthumb";
  CHECK(joined(toolchain_differences(target, described)) ==
        "toolchains/cortex-m7.cmake: -mfloat-abi=hard: 1 in codegen/target.cc, 0 elsewhere\n"
        "toolchains/cortex-m7.cmake: -mcpu: 1 in codegen/target.cc, 0 elsewhere\n");
}

}  // namespace temper
