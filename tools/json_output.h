// Where `--json FILE|-` writes. Used by every command that has results.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "schedules/result.h"

namespace temper {

/// One JSON object to `target`: a file, written beside it and renamed, or standard output for "-".
Result<bool> write_json(const nlohmann::ordered_json& value, const std::string& target);

}  // namespace temper
