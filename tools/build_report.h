// What a built firmware takes of its device, part by part, held against what the device has: flash, RAM, arena,
// tensors, stack, storage. Made by build from the pack, the linker's map and the needs that the core itself computes;
// printed as text and as JSON. Decides whether it fits and says what to do where it does not.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "codegen/kernel_pack.h"
#include "tools/build_needs.h"
#include "tools/link_map.h"

namespace temper {

struct BuildReport {
  std::string network, target, board, profile;
  std::optional<KernelPack> pack;  ///< none in the lookup profile
  std::optional<BuildNeeds> needs;
  LinkMap map;
  std::map<std::string, uint64_t> overflows;  ///< by memory; the program was not linked where there are any
  uint64_t limit_bytes = 0;                   ///< of the pack; 0: none
  uint64_t pool_bytes = 0;                    ///< static memory of the first-boot program for arena and tensors
  uint64_t stack_bytes = 0;                   ///< reserved; 0: the operating system's
  uint64_t storage_bytes = 0;                 ///< 0: not known
  uint32_t max_trials = 0;                    ///< remembered of one workload
  uint32_t trials = 0;                        ///< of the first boot; 0: as many as the time allows
};

/// One line of the flash or RAM table.
struct SizePart {
  std::string name;
  uint64_t flash_bytes = 0, ram_bytes = 0;
};

/// The map's entries by part: the core's files, kernels, pack data, first-boot program, board support, C library.
std::vector<SizePart> size_parts(const BuildReport& report);

/// Why it does not fit and what to do, a sentence each; empty when it fits.
std::vector<std::string> misfits(const BuildReport& report);

std::string report_text(const BuildReport& report);
nlohmann::ordered_json report_json(const BuildReport& report);

}  // namespace temper
