// The cross build of `temper build`: configures and builds the firmware project with the target's toolchain file and
// puts what it made into the output folder. Called by build; prints nothing, everything goes to build.log.
#pragma once

#include <string>
#include <vector>

#include "schedules/result.h"
#include "tools/build_kit.h"
#include "tools/link_map.h"

namespace temper {

struct FirmwareSettings {
  std::string output;                        ///< folder of the results
  std::string name;                          ///< NAME_pack or NAME_winners
  std::string pack_object, winners_archive;  ///< one of them
  std::string board, profile;
  uint64_t budget_ms = 0;
  uint32_t trials = 0, max_trials = 0;
  uint64_t pool_bytes = 0;  ///< 0: what suits the board
};

struct FirmwareResult {
  bool linked = false;
  std::map<std::string, uint64_t> overflows;  ///< why not
  LinkMap map;                                ///< of the program, also where it did not fit
  BoardFacts board;
  uint64_t context_bytes = 0;  ///< sizeof(temper_context) on the target; 0: the core does not say
  uint64_t stack_bytes = 0;    ///< reserved by the board's linker script; 0: none
};

/// One more build in the same output folder only does what changed. TEMPER_PORT_ERROR, with the end of the log, when
/// the build fails for another reason than that the program is too large.
Result<FirmwareResult> build_firmware(const BuildKit& kit, const FirmwareSettings& settings);

/// Copies programs, libraries, headers and, on boards that can be emulated, the script that does.
Result<bool> collect_results(const BuildKit& kit, const FirmwareSettings& settings);

/// A pack that Linux loads at run time: OUTPUT/NAME_pack.so (temper_linux_pack_open).
Result<bool> link_loadable_pack(const BuildKit& kit, const FirmwareSettings& settings);

}  // namespace temper
