#include "schedules/network.h"

#include "schedules/built_in_networks.h"
#include "schedules/workloads_json.h"

namespace temper {

std::vector<std::string> built_in_networks() {
  std::vector<std::string> names;
  for (const BuiltInNetwork& network : built_in_network_texts()) {
    names.emplace_back(network.name);
  }
  return names;
}

Result<Network> built_in_network(const std::string& name) {
  std::string known;
  for (const BuiltInNetwork& network : built_in_network_texts()) {
    if (name == network.name) {
      return parse_workloads_text(network.json, "built-in network " + name);
    }
    known += (known.empty() ? "" : ", ") + std::string(network.name);
  }
  return Error{TEMPER_NOT_FOUND, "no built-in network is called '" + name + "'; there are: " + known};
}

}  // namespace temper
