// A network as temper sees it: its distinct workloads with counts, and what was left out. Read from .workloads files
// (JSON), built-in network data (schedules/networks) and, through schedules/import, ONNX.
#pragma once

#include <string>
#include <vector>

#include "schedules/workload.h"

namespace temper {

struct NetworkWorkload {
  Workload workload;
  std::string name;    ///< first node that has it
  uint32_t count = 1;  ///< occurrences
};

/// An operator that temper does not tune (yet), with the reason; flops 0 where it has none to speak of.
struct SkippedOperator {
  std::string operator_name, reason;
  uint32_t count = 1;
  uint64_t flops = 0;
};

struct Network {
  std::string name;
  std::vector<NetworkWorkload> workloads;  ///< distinct, in order of first appearance
  std::vector<SkippedOperator> skipped;
};

/// .workloads: {"schema": 1, "network": ..., "workloads": [{"name", "count", "workload": canonical text}], "skipped":
/// [...]}.
Result<Network> read_workloads_file(const std::string& path);

/// Names of the built-in networks, sorted; and one of them.
std::vector<std::string> built_in_networks();
Result<Network> built_in_network(const std::string& name);

}  // namespace temper
