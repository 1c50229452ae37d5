// A history read as a whole, whatever it lies in: a history file, the log of a board's console with a dump in it, or an
// image of flash. Every command that reads a history reads it here; none is ever written here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/history.h"
#include "schedules/result.h"

namespace temper {

enum class HistoryForm : uint8_t { kFile, kConsoleLog, kFlashImage };

/// A history of a thousand trials takes some 100 KB; this is a bound against run-away growth, not a wish.
inline constexpr uint32_t kHistoryCapacityBytes = 1u << 30;

/// What was lost in the parts of a source that was joined of several (tools/history_journal.h).
struct JoinLosses {
  uint32_t damaged_bytes = 0, lost_frames = 0, unreadable = 0, orphans = 0;
};

struct HistorySource {
  std::string path;
  HistoryForm form = HistoryForm::kFile;
  uint64_t offset = 0;         ///< where it begins in a flash image
  std::vector<uint8_t> bytes;  ///< frames; padding and erased bytes between and behind them may be left in
  bool damaged = false;        ///< a dump that lines are missing of: what they held is not in `bytes`
  uint32_t generation = 0;     ///< of the region that is read, on flash of two; 0: there is one
  bool in_use = false;  ///< somebody appends to it now: an intent at its end is a trial that goes on, not a crash
  JoinLosses joined;
  std::vector<std::string> remarks;  ///< sentences for the user, without the path
};

/// Tells the form by the contents. Of a storage's two regions (runtime/format/HISTORY.md) the newer is read, and a
/// remark says so; `offset` names one to be read whatever it is. An image that holds one history somewhere is searched
/// for it; `offset` says where it begins, needed where there are several. TEMPER_NOT_FOUND: no such file.
/// TEMPER_BAD_DATA: it holds no history, or only damaged dumps; TEMPER_BAD_VERSION; TEMPER_STORAGE_ERROR. Erased flash
/// and an empty file are empty histories.
Result<HistorySource> read_history(const std::string& path, std::optional<uint64_t> offset = std::nullopt);
/// The same for a file that was read already; `path` names it in messages.
Result<HistorySource> parse_history(const std::string& path, std::string_view contents,
                                    std::optional<uint64_t> offset = std::nullopt);
/// Whether parse_history would look for a history in it: it begins with a frame or holds a dump or an image's header.
bool resembles_history(std::string_view contents);

/// Calls `visit` for each whole frame in order; frames and payloads are valid during the visit only.
ScanReport scan_history(const HistorySource& source, const std::function<void(const FrameView& frame)>& visit);

/// The same with where each frame begins in source.bytes.
ScanReport scan_history_places(const HistorySource& source,
                               const std::function<void(const FrameView& frame, uint32_t offset)>& visit);

/// Prints the remarks to standard error, as the commands do.
void tell_remarks(const HistorySource& source);

}  // namespace temper
