// Durations on the command line: "500ms", "20s", "5m", "2h". Used by every command with a budget.
#pragma once

#include <cstdint>
#include <string>

#include "schedules/result.h"

namespace temper {

/// Nanoseconds, at least 1 and below 2^62. TEMPER_INVALID_ARGUMENT with how to write it.
Result<uint64_t> parse_duration(const std::string& text);

/// For people, three digits at most: "850 ns", "12.3 us", "4.56 ms", "1.2 s".
std::string duration_text(uint64_t ns);

}  // namespace temper
