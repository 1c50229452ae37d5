// Spaces as data: builds the knob lists and integer programs of each template, and writes whole packs
// (runtime/format/pack.fbs). Host only. The result is what the device core interprets; the JIT, packs and baked tables
// share it.
#pragma once

#include <cstdint>
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
};

struct PackOptions {
  std::string target;
  std::vector<PackVariant> variants;  ///< empty: any config (JIT)
  bool digests = true;                ///< false: leave digests 0 (the caller fills them lazily)
};

/// FlatBuffers bytes of a pack holding the templates that the workloads use. Opens with PackView (checked here).
Result<std::vector<uint8_t>> write_pack(const std::vector<NetworkWorkload>& workloads, const PackOptions& options);

}  // namespace temper
