#include "tools/history_regions.h"

namespace temper {
namespace {

/// Behind 65535 follows 1.
bool follows(uint16_t newer, uint16_t older) { return newer == (older == UINT16_MAX ? 1 : older + 1); }

std::string place_text(const Region& region, uint64_t first_offset) {
  return "generation " + std::to_string(*region.generation) + " at offset " +
         std::to_string(first_offset + region.begin);
}

}  // namespace

std::vector<Region> find_regions(const std::vector<ScannedFrame>& frames, uint32_t bytes) {
  std::vector<Region> regions;
  uint32_t last = 0;
  for (const ScannedFrame& frame : frames) {
    const bool first_header = frame.generation && frame.sequence == 0;
    if (regions.empty() || first_header || frame.sequence < last) {
      if (!regions.empty()) {
        regions.back().end = frame.offset;
      }
      regions.push_back({frame.offset, bytes, 0, std::nullopt});
    }
    ++regions.back().frames;
    regions.back().generation = frame.generation ? frame.generation : regions.back().generation;
    last = frame.sequence;
  }
  return regions;
}

RegionChoice choose_region(const std::vector<Region>& regions, uint64_t first_offset) {
  RegionChoice choice;
  std::vector<Region> valid;
  for (const Region& region : regions) {
    if (region.generation && *region.generation != 0) {
      valid.push_back(region);
    }
  }
  if (valid.empty() || regions.size() == 1) {
    return choice;
  }
  if (valid.size() == 1) {
    choice.region = valid[0];
    choice.remark = place_text(valid[0], first_offset) +
                    " is read; other frames belong to no region that counts (a "
                    "compaction that power ended)";
    return choice;
  }
  const bool second_newer = follows(*valid[1].generation, *valid[0].generation);
  if (valid.size() > 2 || (!second_newer && !follows(*valid[0].generation, *valid[1].generation))) {
    choice.several = true;
    return choice;
  }
  const Region& newer = valid[second_newer ? 1 : 0];
  const Region& older = valid[second_newer ? 0 : 1];
  choice.region = newer;
  choice.older = older.begin;
  choice.remark = "two regions: " + place_text(newer, first_offset) + ", the newer, is read; " +
                  place_text(older, first_offset) + " was superseded by it";
  return choice;
}

}  // namespace temper
