// What `temper inspect` shows of each kind of file: one JSON object and the same as text. Each reader verifies the file
// first.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "schedules/result.h"
#include "tools/history_source.h"

namespace temper {

struct Inspection {
  std::string text;
  nlohmann::ordered_json json;
};

Inspection inspect_history(const HistorySource& source);
/// TEMPER_BAD_DATA, TEMPER_BAD_VERSION with what failed; `path` names the file in messages.
Result<Inspection> inspect_pack(const std::string& path, const void* data, size_t bytes);
Result<Inspection> inspect_table(const std::string& path, const void* data, size_t bytes);
Result<Inspection> inspect_workloads(const std::string& path);

}  // namespace temper
