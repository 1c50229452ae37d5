// The text of .workloads files: a Network as JSON and back. Called for files and for the built-in networks; touches no
// file.
#pragma once

#include <string>

#include "schedules/network.h"

namespace temper {

/// `where` (a path or a network's name) opens every message. TEMPER_BAD_DATA or TEMPER_BAD_VERSION.
Result<Network> parse_workloads_text(const std::string& text, const std::string& where);
std::string workloads_text(const Network& network);

}  // namespace temper
