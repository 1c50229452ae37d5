// A kernel pack for a network and a target, within a limit of bytes: candidates, their compiled sizes, the choice, the
// data and the object. Called by `temper build` and by benchmarks; writes no file.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "codegen/kernel_compiler.h"
#include "codegen/variant_candidates.h"

namespace temper {

struct KernelPackOptions {
  Target target;
  temper_facts facts{};      ///< of the machine that the choice is made for
  std::string name;          ///< C identifier; the object defines NAME_pack
  uint64_t limit_bytes = 0;  ///< code and constants of kernels, and the pack's data; 0: no limit
  uint32_t most_variants = 96;
  std::vector<MeasuredTime> measured;
  PackTemplates templates = PackTemplates::kReduced;
  PackMachine machine = PackMachine::kProbed;
  PackFeatures features = PackFeatures::kKept;
  bool digests = true;
};

struct WorkloadCoverage {
  std::string name;
  uint32_t variants = 0;        ///< that serve it
  uint64_t configs = 0;         ///< of those, run knobs free, legal or not
  uint64_t legal_configs = 0;   ///< on options.facts; counted, or estimated from samples where `configs` is large
  double predicted_loss = 0;    ///< best of the pack over the best of the whole space, less 1
  bool measured = false;        ///< by times of a history
  bool unpacked = false;        ///< one of them reads constants unpacked
  bool default_chosen = false;  ///< the whole space's default is in the pack
};

struct KernelPack {
  std::vector<uint8_t> data;
  PackParts data_parts;
  ObjectFile object;
  uint32_t kernel_bytes = 0;  ///< code and constants
  uint32_t table_bytes = 0;   ///< kernel pointers and the temper_pack itself
  std::vector<PackVariant> variants;
  std::vector<WorkloadCoverage> workloads;
};

/// TEMPER_STORAGE_FULL when the fewest kernels that serve every workload do not fit; TEMPER_BAD_DATA when two workloads
/// have one name; TEMPER_NOT_FOUND, TEMPER_UNSUPPORTED as the parts say. `progress`, where given, hears how many of how
/// many candidates were compiled.
Result<KernelPack> make_kernel_pack(const std::vector<NetworkWorkload>& workloads, const KernelPackOptions& options,
                                    const std::function<void(size_t, size_t)>& progress = nullptr);

}  // namespace temper
