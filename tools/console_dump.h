// A history as a board prints it: Intel HEX records between two marks on its console. Read here from a log of that
// console, among whatever else was printed. Called by the history source alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/result.h"

namespace temper {

/// Opens a line with the number of bytes that the dump covers behind it; the dump's addresses are below that.
inline constexpr std::string_view kDumpBegin = "temper-history-begin";
inline constexpr std::string_view kDumpEnd = "temper-history-end";

struct ConsoleDump {
  std::vector<uint8_t> bytes;        ///< from address 0 on; what no record covers is erased, 0xFF
  uint32_t covered_bytes = 0;        ///< those that a record covers
  bool damaged = false;              ///< not all bytes that were announced are covered
  std::vector<std::string> remarks;  ///< sentences for the user: which lines, which of several dumps
};

bool holds_console_dump(std::string_view text);

/// The last whole dump of the log. Lines may end in CR LF and may have anything before a mark or a record's colon
/// (time stamps); a line that is no whole record, by its length and checksum, is passed over and told. TEMPER_BAD_DATA
/// when no dump begins or none that began ends.
Result<ConsoleDump> read_console_dump(const std::string& path, std::string_view text);

}  // namespace temper
