#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "schedules/network.h"
#include "schedules/workloads_json.h"

namespace temper {
namespace {

constexpr int kSchema = 1;
/// A workload takes some hundred bytes; no network has so many.
constexpr uint64_t kMostBytes = uint64_t{64} << 20;

Error bad(const std::string& where, const std::string& what) { return Error{TEMPER_BAD_DATA, where + ": " + what}; }

/// A count of at least one; 0 when it is anything else.
uint32_t positive_count(const nlohmann::json& item) {
  const auto found = item.find("count");
  if (found == item.end()) {
    return 1;
  }
  if (!found->is_number_unsigned() || found->get<uint64_t>() > UINT32_MAX) {
    return 0;
  }
  return found->get<uint32_t>();
}

std::string text_field(const nlohmann::json& item, const char* key) {
  const auto found = item.find(key);
  return found != item.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Result<NetworkWorkload> parse_entry(const nlohmann::json& item, const std::string& where) {
  if (!item.is_object()) {
    return bad(where, "is not a JSON object");
  }
  NetworkWorkload entry;
  entry.name = text_field(item, "name");
  entry.count = positive_count(item);
  if (entry.count == 0) {
    return bad(where, "\"count\" is not a whole number of at least 1");
  }
  const std::string text = text_field(item, "workload");
  if (text.empty()) {
    return bad(where, "\"workload\" is missing or is not a string");
  }
  Result<Workload> workload = parse_workload(text);
  if (!workload) {
    return bad(where, workload.error().message);
  }
  entry.workload = *workload;
  if (entry.name.empty()) {
    entry.name = text;
  }
  return entry;
}

Result<bool> parse_workload_list(const nlohmann::json& list, const std::string& where, Network* network) {
  std::set<std::string> seen;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string here = where + ": workload " + std::to_string(i);
    Result<NetworkWorkload> entry = parse_entry(list[i], here);
    if (!entry) {
      return entry.error();
    }
    if (!seen.insert(canonical_text(entry->workload)).second) {
      return bad(here, "is listed twice; raise the \"count\" of the first instead");
    }
    network->workloads.push_back(*entry);
  }
  return true;
}

Result<bool> parse_skipped_list(const nlohmann::json& list, const std::string& where, Network* network) {
  for (size_t i = 0; i < list.size(); ++i) {
    const nlohmann::json& item = list[i];
    const std::string here = where + ": skipped operator " + std::to_string(i);
    if (!item.is_object()) {
      return bad(here, "is not a JSON object");
    }
    SkippedOperator skipped;
    skipped.operator_name = text_field(item, "operator");
    skipped.reason = text_field(item, "reason");
    skipped.count = positive_count(item);
    if (skipped.operator_name.empty() || skipped.count == 0) {
      return bad(here, "needs \"operator\" and a \"count\" of at least 1");
    }
    const auto flops = item.find("flops");
    if (flops != item.end() && !flops->is_number_unsigned()) {
      return bad(here, "\"flops\" is not a whole number");
    }
    skipped.flops = flops == item.end() ? 0 : flops->get<uint64_t>();
    network->skipped.push_back(skipped);
  }
  return true;
}

}  // namespace

Result<Network> parse_workloads_text(const std::string& text, const std::string& where) {
  const nlohmann::json root = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (root.is_discarded() || !root.is_object()) {
    return bad(where, "is not a .workloads file: it is not a JSON object (truncated?)");
  }
  const auto schema = root.find("schema");
  if (schema == root.end() || !schema->is_number_integer()) {
    return bad(where, "is not a .workloads file: \"schema\" is missing");
  }
  if (*schema != kSchema) {
    return Error{TEMPER_BAD_VERSION, where + ": has schema " + schema->dump() + "; this build reads schema 1"};
  }
  const auto workloads = root.find("workloads");
  if (workloads == root.end() || !workloads->is_array()) {
    return bad(where, "is not a .workloads file: \"workloads\" is missing or is not a list");
  }
  Network network;
  network.name = text_field(root, "network");
  Result<bool> done = parse_workload_list(*workloads, where, &network);
  const auto skipped = root.find("skipped");
  if (done && skipped != root.end()) {
    done = skipped->is_array() ? parse_skipped_list(*skipped, where, &network)
                               : Result<bool>(bad(where, "\"skipped\" is not a list"));
  }
  if (!done) {
    return done.error();
  }
  return network;
}

std::string workloads_text(const Network& network) {
  nlohmann::ordered_json root = {{"schema", kSchema}, {"network", network.name}};
  root["workloads"] = nlohmann::ordered_json::array();
  for (const NetworkWorkload& entry : network.workloads) {
    root["workloads"].push_back(
        {{"name", entry.name}, {"count", entry.count}, {"workload", canonical_text(entry.workload)}});
  }
  root["skipped"] = nlohmann::ordered_json::array();
  for (const SkippedOperator& skipped : network.skipped) {
    root["skipped"].push_back({{"operator", skipped.operator_name},
                               {"reason", skipped.reason},
                               {"count", skipped.count},
                               {"flops", skipped.flops}});
  }
  // Names come from foreign files: bytes that are not UTF-8 are replaced, never thrown at.
  return root.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Result<Network> read_workloads_file(const std::string& path) {
  std::error_code failed;
  const uint64_t bytes = std::filesystem::file_size(path, failed);  // fails for what is no file: a pipe would hang
  if (failed) {
    return Error{TEMPER_NOT_FOUND, path + ": cannot be read: " + failed.message()};
  }
  if (bytes > kMostBytes) {
    return bad(path, "is not a .workloads file: it is larger than 64 MiB");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Error{TEMPER_NOT_FOUND, path + ": cannot be opened for reading"};
  }
  std::ostringstream text;
  text << file.rdbuf();
  Result<Network> network = parse_workloads_text(text.str(), path);
  if (network && network->name.empty()) {
    network->name = std::filesystem::path(path).stem().string();
  }
  return network;
}

}  // namespace temper
