// The texts of schedules/networks/*.json, embedded at build time (schedules/embed_networks.cmake). Read by network.cc
// alone.
#pragma once

#include "runtime/span.h"

namespace temper {

struct BuiltInNetwork {
  const char* name;
  const char* json;  ///< a .workloads file
};

/// Sorted by name.
Span<const BuiltInNetwork> built_in_network_texts();

}  // namespace temper
