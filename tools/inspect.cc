// `temper inspect F`: any of our files, verified, as text or JSON. Tells them apart by their contents.
#include "tools/inspect.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

#include "schedules/network.h"
#include "tools/commands.h"
#include "tools/exit_code.h"
#include "tools/history_journal.h"
#include "tools/json_output.h"
#include "tools/option_values.h"
#include "tools/text_table.h"
#include "tools/whole_file.h"

namespace temper {

Result<Inspection> inspect_workloads(const std::string& path) {
  const Result<Network> network = read_workloads_file(path);
  if (!network) {
    return network.error();
  }
  nlohmann::ordered_json root = {{"schema", 1}, {"kind", "workloads"}, {"network", network->name}};
  root["workloads"] = nlohmann::ordered_json::array();
  TextTable table({{"name"}, {"count", Align::kRight}, {"workload"}});
  for (const NetworkWorkload& entry : network->workloads) {
    const std::string text = canonical_text(entry.workload);
    table.add_row({entry.name, std::to_string(entry.count), text});
    root["workloads"].push_back({{"name", entry.name}, {"count", entry.count}, {"workload", text}});
  }
  return Inspection{path + ": workloads of " + network->name + "\n" + table.text(), root};
}

namespace {

/// FlatBuffers put their identifier behind the offset of the root.
bool has_identifier(const char* data, size_t bytes, const char* identifier) {
  return bytes >= 8 && std::memcmp(data + 4, identifier, 4) == 0;
}

Result<Inspection> inspect_as_history(const std::string& path, std::string_view contents,
                                      std::optional<uint64_t> offset) {
  Result<HistorySource> source = parse_history(path, contents, offset);
  if (source && !offset) {
    source = with_journals(std::move(*source));
  }
  if (!source) {
    return source.error();
  }
  tell_remarks(*source);
  return inspect_history(*source);
}

Result<Inspection> inspect_file(const std::string& path, std::optional<uint64_t> offset) {
  size_t bytes = 0;
  const Result<std::vector<uint64_t>> words = read_whole_file(path, &bytes);
  if (!words) {
    return words.error();
  }
  const char* data = reinterpret_cast<const char*>(words->data());
  if (offset) {
    return inspect_as_history(path, {data, bytes}, offset);
  }
  if (has_identifier(data, bytes, "TMPK")) {
    return inspect_pack(path, data, bytes);
  }
  if (has_identifier(data, bytes, "TMPT")) {
    return inspect_table(path, data, bytes);
  }
  if (bytes > 0 && data[0] == '{') {
    return inspect_workloads(path);
  }
  if (resembles_history({data, bytes})) {
    return inspect_as_history(path, {data, bytes}, offset);
  }
  return Error{TEMPER_BAD_DATA,
               path +
                   ": is no file of ours: neither a history (file, console log or flash image) nor a table, a pack or "
                   "a .workloads file (or its first bytes are damaged)"};
}

int run(const std::string& path, std::optional<uint64_t> offset, const std::string& json) {
  if (Result<bool> apart = keep_apart({json}, {path}); !apart) {
    return report(apart.error());
  }
  const Result<Inspection> inspection = inspect_file(path, offset);
  if (!inspection) {
    return report(inspection.error());
  }
  if (!json.empty()) {
    const Result<bool> written = write_json(inspection->json, json);
    if (!written) {
      return report(written.error());
    }
  }
  if (json != "-") {
    std::fputs(inspection->text.c_str(), stdout);
  }
  return kExitDone;
}

}  // namespace

void add_inspect_command(CLI::App& app, int* exit_code) {
  CLI::App* command = app.add_subcommand(
      "inspect",
      "Shows a history, tuned table, kernel pack or .workloads file, verified; a history also out of a console "
      "log or a flash image");
  auto path = std::make_shared<std::string>();
  auto offset = std::make_shared<std::optional<uint64_t>>();
  auto json = std::make_shared<std::string>();
  command->add_option("FILE", *path, "the file")->required();
  command->add_option("--offset", *offset, "where the history begins in a flash image, in bytes (12 or 0xC)")
      ->transform(byte_offset());
  command->add_option("--json", *json, "write it as JSON ('-': standard output)")->type_name("FILE|-");
  command->footer("Example: temper inspect mobilenet_v2.table");
  command->callback([path, offset, json, exit_code] { *exit_code = run(*path, *offset, *json); });
}

}  // namespace temper
