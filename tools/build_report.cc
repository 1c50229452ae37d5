#include "tools/build_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/text_table.h"

namespace temper {
namespace {

constexpr double kLeastLegalShare = 0.01;  // what plain rejection sampling on a device still finds quickly

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

std::string part_of(const MapEntry& entry) {
  if (contains(entry.object, "libtemper_runtime.a(")) {
    return "core: " + object_stem(entry.object);
  }
  if (contains(entry.object, "libtemper_port_linux.a(")) {
    return "port for Linux";
  }
  if (contains(entry.object, "_pack.o") || contains(entry.object, "kernel")) {
    return "kernels";
  }
  if (contains(entry.object, "/board.dir/") || contains(entry.object, "toolchains/boards/")) {
    return "board support";
  }
  if (contains(entry.object, "_boot.dir/")) {
    return "first-boot program";
  }
  return "C library";
}

uint64_t memory_length(const BuildReport& report, const char* name) {
  const auto found = report.map.memories.find(name);
  return found == report.map.memories.end() ? 0 : found->second;
}

uint64_t flash_total(const BuildReport& report) {
  uint64_t bytes = 0;
  for (const SizePart& part : size_parts(report)) {
    bytes += part.flash_bytes;
  }
  return bytes;
}

uint64_t ram_total(const BuildReport& report) {
  uint64_t bytes = report.stack_bytes;
  for (const SizePart& part : size_parts(report)) {
    bytes += part.ram_bytes;
  }
  return bytes;
}

uint64_t trials_of_history(const BuildReport& report) {
  const uint64_t most = uint64_t{report.max_trials} * report.pack->workloads.size();
  return report.trials == 0 ? most : std::min<uint64_t>(most, report.trials);
}

std::string number(uint64_t value) { return std::to_string(value); }

std::string of_size(uint64_t used, uint64_t size) {
  return size == 0 ? number(used) + " bytes" : number(used) + " of " + number(size) + " bytes";
}

std::string pack_text(const BuildReport& report) {
  const KernelPack& pack = *report.pack;
  const uint64_t both = pack.kernel_bytes + pack.data.size();
  std::string text = "kernel pack: " + number(pack.variants.size()) + " variants, " + number(pack.kernel_bytes) +
                     " bytes of code and constants, " + number(pack.data.size()) + " bytes of data, " +
                     (report.limit_bytes > 0 ? of_size(both, report.limit_bytes) : number(both) + " bytes") + "\n";
  const PackParts& parts = pack.data_parts;
  text += "  data: constraints " + number(parts.constraint) + ", defaults " + number(parts.defaults) + ", shapes " +
          number(parts.shape) + ", features " + number(parts.features) + ", prior " + number(parts.prior) + ", knobs " +
          number(parts.knobs) + ", workloads " + number(parts.workloads) + ", variants " + number(parts.variants) +
          ", rest " + number(parts.rest) + "\n";
  TextTable table({{"workload"},
                   {"variants", Align::kRight},
                   {"legal configs", Align::kRight},
                   {"of all", Align::kRight},
                   {"predicted loss", Align::kRight},
                   {"by"},
                   {"default"},
                   {"unpacked"}});
  for (const WorkloadCoverage& at : pack.workloads) {
    const double share =
        at.configs == 0 ? 0.0 : static_cast<double>(at.legal_configs) / static_cast<double>(at.configs);
    table.add_row({at.name, number(at.variants), number(at.legal_configs),
                   decimal(100 * share, 1) + " %" + (share < kLeastLegalShare ? " (few)" : ""),
                   decimal(100 * at.predicted_loss, 1) + " %", at.measured ? "measured" : "prior",
                   at.default_chosen ? "yes" : "no", at.unpacked ? "yes" : "no"});
  }
  return text + table.text();
}

std::string memory_text(const BuildReport& report) {
  TextTable table({{"part"}, {"flash", Align::kRight}, {"RAM", Align::kRight}});
  for (const SizePart& part : size_parts(report)) {
    table.add_row({part.name, number(part.flash_bytes), number(part.ram_bytes)});
  }
  if (report.stack_bytes > 0) {
    table.add_row({"stack, reserved", "0", number(report.stack_bytes)});
  } else if (memory_length(report, "RAM") > 0) {
    table.add_row({"stack: no stack_bottom and stack_top", "0", "not known"});
  }
  table.add_row({"in all", of_size(flash_total(report), memory_length(report, "FLASH")),
                 of_size(ram_total(report), memory_length(report, "RAM"))});
  return table.text();
}

std::string needs_text(const BuildReport& report) {
  const BuildNeeds& needs = *report.needs;
  TextTable table({{"RAM of the first boot's tuning"}, {"bytes", Align::kRight}});
  for (const BuildNeed& need : needs.arena) {
    table.add_row({"arena: " + need.part, number(need.bytes)});
  }
  table.add_row({"arena in all", number(needs.arena_bytes)});
  table.add_row({"tensors of " + needs.largest_workload + ", the largest", number(needs.largest_tensor_bytes)});
  table.add_row({"with packed constant and workspace: every default", number(needs.defaults_bytes)});
  table.add_row({"with packed constant and workspace: every candidate", number(needs.every_candidate_bytes)});
  table.add_row({"the program's pool for arena and tensors", number(report.pool_bytes)});
  std::string text = table.text();
  const uint64_t trials = trials_of_history(report);
  text += "history: " + number(needs.history_trial_bytes) + " bytes a trial, " + number(trials) +
          " trials: " + of_size(needs.history_bytes(trials), report.storage_bytes) + " of storage\n";
  if (needs.arena_bytes + needs.every_candidate_bytes > report.pool_bytes) {
    text += "the pool does not hold every candidate: those that do not fit count as invalid\n";
  }
  return text;
}

/// What makes the firmware smaller where a memory overflows: the option that moves the largest part of it.
std::string way_out(const BuildReport& report, const std::string& memory) {
  if (memory == "FLASH") {
    return report.pack ? "a smaller --pack-bytes leaves kernels out" : "bake fewer workloads";
  }
  const std::string smaller_tensors =
      "a network with smaller tensors (temper import --shape), or a board with more RAM (--board)";
  if (!report.needs) {
    return smaller_tensors;
  }
  const BuildNeeds& needs = *report.needs;
  if (needs.arena_bytes > needs.defaults_bytes) {
    return "a smaller --max-trials saves arena, which takes " + number(needs.arena_bytes) + " bytes";
  }
  return "the tensors of " + needs.largest_workload + " alone take " + number(needs.largest_tensor_bytes) + ": " +
         smaller_tensors;
}

std::string fewer_trials(const BuildReport& report) {
  const BuildNeeds& needs = *report.needs;
  if (report.storage_bytes <= needs.history_fixed_bytes + needs.history_trial_bytes) {
    return "not one trial fits: a network of fewer workloads, or a board with more storage (--board)";
  }
  const uint64_t most = (report.storage_bytes - needs.history_fixed_bytes) / needs.history_trial_bytes;
  return "--trials " + number(most) + " fits";
}

nlohmann::ordered_json pack_json(const BuildReport& report) {
  const KernelPack& pack = *report.pack;
  const PackParts& parts = pack.data_parts;
  nlohmann::ordered_json json = {{"variants", pack.variants.size()},
                                 {"kernel_bytes", pack.kernel_bytes},
                                 {"data_bytes", pack.data.size()},
                                 {"limit_bytes", report.limit_bytes},
                                 {"data_parts_bytes",
                                  {{"constraints", parts.constraint},
                                   {"defaults", parts.defaults},
                                   {"shapes", parts.shape},
                                   {"features", parts.features},
                                   {"prior", parts.prior},
                                   {"knobs", parts.knobs},
                                   {"workloads", parts.workloads},
                                   {"variants", parts.variants},
                                   {"rest", parts.rest}}}};
  json["workloads"] = nlohmann::ordered_json::array();
  for (const WorkloadCoverage& at : pack.workloads) {
    json["workloads"].push_back({{"name", at.name},
                                 {"variants", at.variants},
                                 {"configs", at.configs},
                                 {"legal_configs", at.legal_configs},
                                 {"predicted_loss", at.predicted_loss},
                                 {"measured", at.measured},
                                 {"default_in_pack", at.default_chosen},
                                 {"unpacked_in_pack", at.unpacked}});
  }
  return json;
}

nlohmann::ordered_json needs_json(const BuildReport& report) {
  const BuildNeeds& needs = *report.needs;
  nlohmann::ordered_json json;
  json["arena_parts"] = nlohmann::ordered_json::array();
  for (const BuildNeed& need : needs.arena) {
    json["arena_parts"].push_back({{"part", need.part}, {"bytes", need.bytes}});
  }
  json["arena_bytes"] = needs.arena_bytes;
  json["largest_workload"] = needs.largest_workload;
  json["largest_tensor_bytes"] = needs.largest_tensor_bytes;
  json["defaults_bytes"] = needs.defaults_bytes;
  json["every_candidate_bytes"] = needs.every_candidate_bytes;
  json["history_trial_bytes"] = needs.history_trial_bytes;
  json["history_trials"] = trials_of_history(report);
  json["history_bytes"] = needs.history_bytes(trials_of_history(report));
  return json;
}

}  // namespace

std::vector<SizePart> size_parts(const BuildReport& report) {
  std::map<std::string, SizePart> parts;
  for (const MapEntry& entry : report.map.entries) {
    SizePart& part = parts[part_of(entry)];
    const bool zeroed = entry.kind == SectionKind::kZeroed;
    part.flash_bytes += zeroed ? 0 : entry.bytes;
    part.ram_bytes += zeroed || entry.kind == SectionKind::kInitialised ? entry.bytes : 0;
  }
  const auto kernels = parts.find("kernels");
  if (report.pack && kernels != parts.end()) {
    const uint64_t data = std::min<uint64_t>(report.pack->data.size(), kernels->second.flash_bytes);
    kernels->second.flash_bytes -= data;
    parts["pack data"].flash_bytes = data;
  }
  std::vector<SizePart> ordered;
  for (auto& [name, part] : parts) {
    part.name = name;
    ordered.push_back(part);
  }
  return ordered;
}

std::vector<std::string> misfits(const BuildReport& report) {
  std::vector<std::string> reasons;
  for (const auto& [memory, bytes] : report.overflows) {
    reasons.push_back(memory + " is " + number(bytes) + " bytes too small: " + way_out(report, memory));
  }
  if (!report.needs) {
    return reasons;
  }
  const BuildNeeds& needs = *report.needs;
  if (needs.arena_bytes + needs.defaults_bytes > report.pool_bytes) {
    reasons.push_back("arena and the tensors of the defaults take " + number(needs.arena_bytes + needs.defaults_bytes) +
                      " bytes, the program's pool holds " + number(report.pool_bytes) +
                      ": a smaller --max-trials saves arena; " + needs.largest_workload + " alone has " +
                      number(needs.largest_tensor_bytes) + " bytes of tensors");
  }
  const uint64_t history = needs.history_bytes(trials_of_history(report));
  if (report.storage_bytes > 0 && history > report.storage_bytes) {
    reasons.push_back("the history takes " + number(history) + " bytes, the storage has " +
                      number(report.storage_bytes) + ": " + fewer_trials(report));
  }
  return reasons;
}

std::string report_text(const BuildReport& report) {
  std::string text =
      report.network + " for " + report.target + " on " + report.board + ", profile " + report.profile + "\n\n";
  text += report.pack ? pack_text(report) + "\n" : "";
  text += report.map.entries.empty() ? "" : memory_text(report) + "\n";
  text += report.needs ? needs_text(report) : "";
  const std::vector<std::string> reasons = misfits(report);
  for (const std::string& reason : reasons) {
    text += "does not fit: " + reason + "\n";
  }
  return text + (reasons.empty() ? "fits\n" : "");
}

nlohmann::ordered_json report_json(const BuildReport& report) {
  const std::vector<std::string> reasons = misfits(report);
  nlohmann::ordered_json json = {{"schema", 1},           {"network", report.network}, {"target", report.target},
                                 {"board", report.board}, {"profile", report.profile}, {"fits", reasons.empty()}};
  json["misfits"] = reasons;
  if (report.pack) {
    json["pack"] = pack_json(report);
  }
  json["parts"] = nlohmann::ordered_json::array();
  for (const SizePart& part : size_parts(report)) {
    json["parts"].push_back({{"part", part.name}, {"flash_bytes", part.flash_bytes}, {"ram_bytes", part.ram_bytes}});
  }
  json["flash_bytes"] = flash_total(report);
  json["flash_size_bytes"] = memory_length(report, "FLASH");
  json["ram_bytes"] = ram_total(report);
  json["ram_size_bytes"] = memory_length(report, "RAM");
  json["stack_reserved_bytes"] = report.stack_bytes;
  json["pool_bytes"] = report.pool_bytes;
  json["storage_size_bytes"] = report.storage_bytes;
  if (report.needs) {
    json["needs"] = needs_json(report);
  }
  return json;
}

}  // namespace temper
