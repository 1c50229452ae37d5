// The regions of a board's flash as they lie in its image or dump (runtime/format/HISTORY.md): which one counts, and
// where it ends. Called by the history source alone; the size of regions is not known here, only what lies in them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/history.h"

namespace temper {

struct ScannedFrame {
  uint32_t offset = 0, sequence = 0;
  std::optional<uint16_t> generation;  ///< of a header
};

/// Frames whose sequences ascend: those of one region.
struct Region {
  uint32_t begin = 0, end = 0;  ///< end: where the next region's frames begin, or the whole ends
  uint32_t frames = 0;
  std::optional<uint16_t> generation;  ///< of its last header; none: a compaction that power ended, or damage
};

/// Sequences start over, or a first header stands, where a region begins. `bytes`: of the whole.
std::vector<Region> find_regions(const std::vector<ScannedFrame>& frames, uint32_t bytes);

struct RegionChoice {
  std::optional<Region> region;   ///< none: there are no two regions to choose from
  std::optional<uint32_t> older;  ///< where the region before it begins
  bool several = false;           ///< histories of more than one storage
  std::string remark;             ///< a sentence for the user, offsets told from `first_offset` on
};

/// The region of the newest generation, where there are any. Two whose generations do not follow each other are of two
/// storages.
RegionChoice choose_region(const std::vector<Region>& regions, uint64_t first_offset);

}  // namespace temper
