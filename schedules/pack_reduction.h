// What a pack for one kind of device leaves out of its templates: knob values that no config can have there, and all of
// the programs that does not depend on the workload, the variant or the device's facts. And what it adds where a board
// has several memories. Called by write_pack alone; a reduced template accepts and predicts what the whole one does.
#pragma once

#include <vector>

#include "schedules/program_folding.h"
#include "schedules/template_data.h"

namespace temper {

/// Stable id of the knob that says which memory packed constants and workspace lie in, the same in every template.
inline constexpr uint16_t kMemoryKnobId = 100;

/// Appends the run knob "memory" with the values 0..memories-1, and its value as the shape's last output. Where a
/// config neither packs nor needs workspace only 0 is legal. TEMPER_UNSUPPORTED when a program gets too long.
Result<TemplateData> with_memory_knob(const TemplateData& data, uint32_t memories);

/// The workloads and variants of one template in the pack.
struct PackUse {
  std::vector<std::vector<int32_t>> dims;       ///< by workload
  std::vector<std::vector<uint16_t>> variants;  ///< compile-knob values
  std::vector<Interval> facts;                  ///< what is known of the device's, by temper_fact
};

/// At least one workload and one variant.
Result<TemplateData> reduced(const TemplateData& data, const PackUse& use);

}  // namespace temper
