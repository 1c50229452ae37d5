// Spaces as data: builds the knob lists and integer programs of each template, and writes whole packs
// (runtime/format/pack.fbs). Host only. The result is what the device core interprets; the JIT, packs and baked tables
// share it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedules/network.h"
#include "schedules/templates.h"

namespace temper {

/// Compile-knob values of one variant and its index into the kernel table.
struct PackVariant {
  TemplateId template_id;
  std::vector<uint16_t> values;
  uint16_t kernel;
  FixedDims fixed =
      {};  ///< constants of its kernel, which can serve no workload of other dims; part of the pack's hash
};

enum class PackTemplates : uint8_t {
  kFull,     ///< as they are: for any workload, machine and variant
  kReduced,  ///< knob values and instructions that no workload and variant of this pack needs are left out
};
enum class PackMachine : uint8_t {
  kProbed,   ///< the device tells its facts: the defaults program answers
  kNominal,  ///< nobody can ask the device: each workload has its default on `facts`, and facts of the core are fixed
};
enum class PackFeatures : uint8_t {
  kKept,
  kLeftOut,  ///< for devices without a learned model, which borrow from no other shape either
};

struct PackOptions {
  std::string target;
  std::vector<PackVariant> variants;                 ///< empty: any config (JIT)
  bool digests = true;                               ///< false: leave digests 0 (the caller fills them lazily)
  std::optional<temper_facts> facts = std::nullopt;  ///< nominal, stored; MEMORIES above 1 makes placement a knob
  // For packs with variants:
  PackTemplates templates = PackTemplates::kFull;
  PackMachine machine = PackMachine::kProbed;  ///< kNominal needs `facts`
  PackFeatures features = PackFeatures::kKept;
};

/// Bytes of a pack's data, by what they are for.
struct PackParts {
  uint32_t constraint = 0, defaults = 0, shape = 0, features = 0, prior = 0;  ///< programs of all templates
  uint32_t knobs = 0;      ///< value lists, names, constants of the programs
  uint32_t workloads = 0;  ///< dims, tensor sizes, digests, names
  uint32_t variants = 0;
  uint32_t rest = 0;
};

/// FlatBuffers bytes of a pack holding the templates that the workloads use. Opens with PackView (checked here).
/// TEMPER_NOT_FOUND, naming the workload, when no variant serves one whose default is asked for. TEMPER_BAD_DATA when a
/// variant may serve a workload that differs in a fixed dim. `parts` may be null.
Result<std::vector<uint8_t>> write_pack(const std::vector<NetworkWorkload>& workloads, const PackOptions& options,
                                        PackParts* parts = nullptr);

}  // namespace temper
