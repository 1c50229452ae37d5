// Which configs `temper bake` bakes: what histories and tuned tables recommend, the devices that they were made on, the
// one that is baked for, and its last valid commit per workload. Called by bake; prints and writes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/fingerprint.h"
#include "runtime/space.h"
#include "schedules/result.h"
#include "schedules/table_writer.h"

namespace temper {

enum class RecommendationKind : uint8_t { kHistory, kTable };

/// A config that a file holds for a workload.
struct Recommendation {
  uint64_t workload = 0;
  uint16_t template_id = 0, template_version = 0;
  std::vector<TableKnob> knobs;    ///< of the template
  std::optional<uint16_t> memory;  ///< of the knob that packs for boards with several memories add
  uint64_t default_ns = 0, tuned_ns = 0;
  size_t fingerprint = 0;  ///< index into BakeSources::fingerprints
  RecommendationKind kind = RecommendationKind::kHistory;
  std::string file;
};

struct BakeSources {
  std::vector<Fingerprint> fingerprints;  ///< each once
  std::vector<Recommendation> commits;    ///< in the order of files, then of records
  std::vector<Recommendation> defaults;   ///< what the devices used as defaults; no times
  std::vector<std::string> remarks;       ///< on the files, for the user
};

/// Histories, console logs, flash images and tuned tables, told apart by their contents. The message of an error names
/// the file.
Result<BakeSources> read_bake_sources(const std::vector<std::string>& files);

/// Fingerprints that differ in nothing that matters are one device.
struct TunedDevice {
  Fingerprint fingerprint;  ///< the last of them
  std::vector<size_t> fingerprints;
  uint32_t commit_count = 0;  ///< of the workloads asked for
};

/// In order of appearance; `workloads`: keys of the network.
std::vector<TunedDevice> tuned_devices(const BakeSources& sources, const std::vector<uint64_t>& workloads);

/// Index of the device with most commits among those of this target; of equals the later. TEMPER_NOTHING_TO_TUNE when
/// none has any. `wanted`: the number that the user chose, from 1; TEMPER_INVALID_ARGUMENT when there is none such or
/// it is of another target.
Result<size_t> choose_device(const std::vector<TunedDevice>& devices, uint64_t target_hash, const std::string& target,
                             std::optional<uint32_t> wanted);

/// A config of a template's space, and where a board with several memories is to place what the plan packs.
struct BakeChoice {
  Config config;
  std::optional<uint16_t> memory;
};

/// The last commit of the workload on the device that is legal in its space: of a history if there is one, else of a
/// table. `illegal` counts those that were not. nullptr: none; *choice is untouched then.
const Recommendation* choose_winner(const BakeSources& sources, const TunedDevice& device, const Space& space,
                                    BakeChoice* choice, uint32_t* illegal);

/// The default that the device used, where its history tells a legal one, else the space's. TEMPER_NOT_FOUND when the
/// space holds no legal config.
Status choose_default(const BakeSources& sources, const TunedDevice& device, const Space& space, BakeChoice* choice);

}  // namespace temper
