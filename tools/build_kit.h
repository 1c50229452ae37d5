// What building for a target needs besides this binary: the device core's sources, the firmware project, toolchain
// files, a cross compiler, CMake and Ninja. Found and described here; used by build, which runs them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schedules/result.h"

namespace temper {

struct BuildKit {
  std::string root;       ///< folder with CMakeLists.txt, runtime/ and toolchains/
  std::string toolchain;  ///< file of the target
  std::string compiler, nm;
  std::string default_board;
  std::string firmware() const { return root + "/toolchains/firmware"; }
};

/// Beside the binary: ../share/temper where temper is installed, the source tree where it was built.
/// TEMPER_UNSUPPORTED for a target without a toolchain file; TEMPER_PORT_ERROR, with the Debian packages to install,
/// when a program is missing; TEMPER_NOT_FOUND when the sources are.
Result<BuildKit> find_build_kit(const std::string& target);

/// Boards that the kit brings, sorted.
std::vector<std::string> known_boards(const BuildKit& kit);

/// How many memories the board in this folder has: its board.cmake sets board_memories where there are several.
int32_t memories_of_board(const std::string& folder);

/// What the firmware project says of the board it was configured for, by name; numbers as text.
using BoardFacts = std::map<std::string, std::string>;
BoardFacts read_board_facts(const std::string& build_folder);

}  // namespace temper
