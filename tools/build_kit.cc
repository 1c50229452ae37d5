#include "tools/build_kit.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "codegen/target.h"
#include "tools/child_process.h"

#ifndef TEMPER_SOURCE_TREE
#error "the build tells where the sources are"
#endif

namespace temper {
namespace {

namespace fs = std::filesystem;

bool holds_sources(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "toolchains/firmware/CMakeLists.txt", ignored) &&
         fs::exists(folder / "runtime/CMakeLists.txt", ignored);
}

Result<std::string> find_sources() {
  std::error_code ignored;
  const fs::path binary = fs::read_symlink("/proc/self/exe", ignored);
  const fs::path installed = binary.parent_path().parent_path() / "share/temper";
  for (const fs::path& folder : {installed, fs::path(TEMPER_SOURCE_TREE)}) {
    if (!binary.empty() && holds_sources(folder)) {
      return folder.string();
    }
  }
  return Error{TEMPER_NOT_FOUND, "the sources of the device core are neither in " + installed.string() + " nor in " +
                                     TEMPER_SOURCE_TREE + ": install temper with cmake --install"};
}

Result<bool> need_program(const std::string& name, const std::string& packages) {
  if (find_program(name).empty()) {
    return Error{TEMPER_PORT_ERROR, name + " is not installed: apt-get install " + packages};
  }
  return true;
}

/// "name value" lines.
std::map<std::string, std::string> parse_lines(const std::string& text) {
  std::map<std::string, std::string> values;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t space = line.find(' ');
    if (space != std::string::npos) {
      values[line.substr(0, space)] = line.substr(space + 1);
    }
  }
  return values;
}

std::string targets_with_toolchain(const std::string& root) {
  std::string names;
  for (const std::string& name : target_names()) {
    std::error_code ignored;
    names += fs::exists(root + "/toolchains/" + name + ".cmake", ignored) ? " " + name : "";
  }
  return names;
}

}  // namespace

Result<BuildKit> find_build_kit(const std::string& target) {
  Result<std::string> root = find_sources();
  if (!root) {
    return root.error();
  }
  BuildKit kit;
  kit.root = *root;
  kit.toolchain = kit.root + "/toolchains/" + target + ".cmake";
  std::error_code ignored;
  if (target.find('/') != std::string::npos || !fs::exists(kit.toolchain, ignored)) {
    return Error{TEMPER_UNSUPPORTED,
                 "there is no toolchain for target '" + target + "'; targets:" + targets_with_toolchain(kit.root)};
  }
  for (const auto& [program, package] : {std::pair("cmake", "cmake"), std::pair("ninja", "ninja-build")}) {
    if (Result<bool> there = need_program(program, package); !there) {
      return there.error();
    }
  }
  const Result<std::string> described =
      output_of({"cmake", "-DTOOLCHAIN=" + kit.toolchain, "-P", kit.root + "/toolchains/describe.cmake"});
  if (!described) {
    return Error{described.error().code, kit.toolchain + ": " + described.error().message};
  }
  std::map<std::string, std::string> words = parse_lines(*described);
  kit.compiler = words["compiler"];
  kit.nm = words["nm"];
  kit.default_board = words["board"];
  if (Result<bool> there = need_program(kit.compiler, words["packages"]); !there) {
    return there.error();
  }
  return kit;
}

std::vector<std::string> known_boards(const BuildKit& kit) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(kit.root + "/toolchains/boards", ignored)) {
    if (fs::exists(entry.path() / "board.cmake", ignored)) {
      names.push_back(entry.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

int32_t memories_of_board(const std::string& folder) {
  std::ifstream file(folder + "/board.cmake");
  for (std::string line; std::getline(file, line);) {
    int32_t memories = 0;
    if (std::sscanf(line.c_str(), " set(board_memories %4d)", &memories) == 1) {
      return std::max(memories, 1);
    }
  }
  return 1;
}

BoardFacts read_board_facts(const std::string& build_folder) {
  std::ifstream file(build_folder + "/board.txt");
  std::ostringstream text;
  text << file.rdbuf();
  return parse_lines(text.str());
}

}  // namespace temper
