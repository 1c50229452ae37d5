#include "tools/history_source.h"

#include <algorithm>
#include <cstdio>

#include "tools/console_dump.h"
#include "tools/history_file.h"
#include "tools/memory_storage.h"
#include "tools/text_table.h"
#include "tools/whole_file.h"

namespace temper {
namespace {

using Manners = MemoryStorage::Manners;

constexpr uint8_t kErased = 0xFF;
/// Longer than any torn frame may reach: behind so many erased bytes a history goes on no more.
constexpr size_t kErasedTail = 1024;
/// More than a record ends in: its last knob value may be 65535.
constexpr size_t kErasedSigns = 8;
constexpr size_t kMostPlacesNamed = 4;
// The header frame in every version: frame magic, type 1, 8 bytes of payload, sequence 0; behind its CRC "TMPH".
constexpr std::string_view kHeaderStart("\x7E\x01\x08\0\0\0\0\0", 8);
constexpr std::string_view kHeaderName = "TMPH";
constexpr std::string_view kElf =
    "\x7F"
    "ELF";
constexpr size_t kHeaderNameAt = sizeof(FrameHeader);

struct Scan {
  Status status;
  ScanReport report{};
};

Scan scan_bytes(const std::vector<uint8_t>& bytes, Manners manners,
                const std::function<void(const FrameView& frame)>& visit) {
  const MemoryStorage storage(bytes, manners);
  alignas(8) uint8_t buffer[kHistoryBufferBytes];
  History history;
  Scan scan;
  const auto call = [](void* self, const FrameView& frame) {
    const auto& target = *static_cast<const std::function<void(const FrameView& frame)>*>(self);
    if (target) {
      target(frame);
    }
  };
  auto target = visit;
  scan.status = history.open(storage.storage(), {buffer, sizeof buffer}, &target, call, &scan.report);
  const bool refused = scan.status == TEMPER_STORAGE_ERROR || scan.status == TEMPER_STORAGE_FULL;
  if (refused && scan.report.frames == 0) {
    scan.status = TEMPER_OK;  // an empty history; the header that the device would write first is not needed here
  }
  return scan;
}

/// What a file that was cut off left of its header is zeros, what flash left has bits unset: either may be there. In
/// flash, erased bytes behind the last frame are no part of the history.
Scan scan_as(HistoryForm form, const std::vector<uint8_t>& bytes,
             const std::function<void(const FrameView& frame)>& visit) {
  const Manners usual = form == HistoryForm::kFile ? Manners::kReadOnlyFile : Manners::kReadOnlyFlash;
  const Manners other = form == HistoryForm::kFile ? Manners::kReadOnlyFlash : Manners::kReadOnlyFile;
  const bool foreign = scan_bytes(bytes, usual, nullptr).status == TEMPER_BAD_DATA;
  return scan_bytes(bytes, foreign ? other : usual, visit);
}

std::vector<uint8_t> bytes_of(std::string_view contents) { return {contents.begin(), contents.end()}; }

bool header_at(std::string_view contents, size_t at) {
  return contents.substr(at, kHeaderStart.size()) == kHeaderStart &&
         contents.substr(std::min(at + kHeaderNameAt, contents.size()), kHeaderName.size()) == kHeaderName;
}

/// Megabytes of erased flash need not be looked through.
std::string_view without_long_tail(std::string_view contents) {
  const size_t last = contents.find_last_not_of('\xFF');
  const size_t used = last == std::string_view::npos ? 0 : last + 1;
  return contents.substr(0, std::min(contents.size(), used + kErasedTail));
}

/// From where a history begins up to its erased tail; *behind gets how many bytes follow that are not erased.
std::vector<uint8_t> cut_at_tail(std::string_view contents, size_t* behind) {
  size_t erased = 0, end = 0;
  while (end < contents.size() && erased < kErasedTail) {
    erased = static_cast<uint8_t>(contents[end]) == kErased ? erased + 1 : 0;
    ++end;
  }
  const std::string_view rest = contents.substr(end);
  *behind = static_cast<size_t>(
      std::count_if(rest.begin(), rest.end(), [](char c) { return static_cast<uint8_t>(c) != kErased; }));
  return bytes_of(contents.substr(0, end));
}

/// Offsets where a header stands and either a second frame or erased flash behind it: firmware holds a header too, as
/// the constant that it writes.
std::vector<size_t> history_places(std::string_view contents) {
  std::vector<size_t> places;
  for (size_t at = contents.find(kHeaderStart); at != std::string_view::npos;
       at = contents.find(kHeaderStart, at + 1)) {
    if (!header_at(contents, at)) {
      continue;
    }
    const std::vector<uint8_t> start = bytes_of(contents.substr(at, kErasedTail));
    const Scan scan = scan_bytes(start, Manners::kReadOnlyFlash, nullptr);
    constexpr size_t kFrameBytes = kHeaderNameAt + 8;
    const bool erased_behind =
        std::all_of(start.begin() + kFrameBytes, start.end(), [](uint8_t b) { return b == kErased || b == 0; }) &&
        start.back() == kErased;
    if (scan.status == TEMPER_BAD_VERSION || (scan.status.ok() && (scan.report.frames > 1 || erased_behind))) {
      places.push_back(at);
    }
  }
  return places;
}

Error not_a_history(const std::string& path, const std::string& why) { return {TEMPER_BAD_DATA, path + ": " + why}; }

std::string behind_tail_text(size_t behind) {
  return std::to_string(behind) + " bytes behind its erased tail are not its own and were not read";
}

/// For a file that begins with a history: flash may hold other things behind it.
void leave_out_what_follows(HistorySource* source, uint32_t frames) {
  const std::string_view contents(reinterpret_cast<const char*>(source->bytes.data()), source->bytes.size());
  size_t behind = 0;
  std::vector<uint8_t> own = cut_at_tail(contents, &behind);
  const size_t tail = std::min(own.size(), kErasedSigns);
  const bool erased =
      tail == kErasedSigns && std::all_of(own.end() - tail, own.end(), [](uint8_t byte) { return byte == kErased; });
  source->form = erased ? HistoryForm::kFlashImage : HistoryForm::kFile;
  if (behind > 0 && scan_as(source->form, own, nullptr).report.frames == frames) {
    source->bytes = std::move(own);
    source->remarks.push_back(behind_tail_text(behind));
  }
}

Result<HistorySource> parse_image(const std::string& path, std::string_view contents, uint64_t offset) {
  if (offset >= contents.size()) {
    return not_a_history(path, "ends before offset " + std::to_string(offset));
  }
  HistorySource source;
  source.path = path;
  source.form = HistoryForm::kFlashImage;
  source.offset = offset;
  size_t behind = 0;
  source.bytes = cut_at_tail(contents.substr(static_cast<size_t>(offset)), &behind);
  bool begins = true;  // not somewhere inside one
  uint32_t frames = 0;
  const Scan scan = scan_as(source.form, source.bytes, [&](const FrameView& frame) {
    begins = begins && (frames++ > 0 || frame.type == FrameType::kHeader);
  });
  if (scan.status == TEMPER_BAD_VERSION) {
    return history_error(path, TEMPER_BAD_VERSION);
  }
  if (!scan.status.ok() || !begins) {
    return not_a_history(path, std::string("no history begins at offset ").append(std::to_string(offset)));
  }
  if (behind > 0) {
    source.remarks.push_back(behind_tail_text(behind));
  }
  return source;
}

Result<HistorySource> parse_log(const std::string& path, std::string_view contents) {
  Result<ConsoleDump> dump = read_console_dump(path, contents);
  if (!dump) {
    return dump.error();
  }
  HistorySource source;
  source.path = path;
  source.form = HistoryForm::kConsoleLog;
  source.damaged = dump->damaged;
  source.remarks = std::move(dump->remarks);
  source.bytes = std::move(dump->bytes);
  const Scan scan = scan_as(source.form, source.bytes, nullptr);
  if (scan.status == TEMPER_BAD_VERSION) {
    return history_error(path, TEMPER_BAD_VERSION);
  }
  if (!scan.status.ok()) {
    std::string why = "what the dump holds is no history";
    for (const std::string& remark : source.remarks) {
      why += "; " + remark;
    }
    return not_a_history(path, why + "; let the board print it again");
  }
  return source;
}

Result<HistorySource> search_image(const std::string& path, std::string_view contents) {
  const std::vector<size_t> places = history_places(contents);
  if (places.empty()) {
    return history_error(path, TEMPER_BAD_DATA);
  }
  if (places.size() > 1) {
    std::string text = std::to_string(places.size()) + " histories lie in it, at offsets ";
    for (size_t i = 0; i < places.size() && i < kMostPlacesNamed; ++i) {
      text += (i == 0 ? "" : ", ") + std::to_string(places[i]);
    }
    text += places.size() > kMostPlacesNamed ? ", ..." : "";
    return not_a_history(path, text + "; choose one: temper merge --offset N " + path + " -o FILE");
  }
  Result<HistorySource> source = parse_image(path, contents, places[0]);
  if (source) {
    source->remarks.insert(source->remarks.begin(), "the history in it begins at offset " + std::to_string(places[0]));
  }
  return source;
}

}  // namespace

Result<HistorySource> parse_history(const std::string& path, std::string_view whole, std::optional<uint64_t> offset) {
  const std::string_view contents = offset ? whole : without_long_tail(whole);
  if (offset && *offset != 0) {
    return parse_image(path, contents, *offset);
  }
  HistorySource source;
  source.path = path;
  source.bytes = bytes_of(contents);
  const Scan scan = scan_as(source.form, source.bytes, nullptr);
  if (scan.status == TEMPER_BAD_VERSION) {
    return history_error(path, TEMPER_BAD_VERSION);
  }
  if (scan.status.ok()) {
    leave_out_what_follows(&source, scan.report.frames);
    return source;
  }
  if (offset) {
    return not_a_history(path, "no history begins at offset 0");
  }
  if (contents.substr(0, kElf.size()) == kElf) {  // firmware holds the words that it prints around a dump
    return not_a_history(path,
                         "is a program, not what it left: give the console's log, a flash image or a history file");
  }
  return holds_console_dump(contents) ? parse_log(path, contents) : search_image(path, contents);
}

Result<HistorySource> read_history(const std::string& path, std::optional<uint64_t> offset) {
  size_t bytes = 0;
  const Result<std::vector<uint64_t>> words = read_whole_file(path, &bytes);
  if (!words) {
    return words.error();
  }
  return parse_history(path, {reinterpret_cast<const char*>(words->data()), bytes}, offset);
}

bool resembles_history(std::string_view contents) {
  return (!contents.empty() && static_cast<uint8_t>(contents[0]) == kFrameMagic) || holds_console_dump(contents) ||
         !history_places(contents).empty();
}

ScanReport scan_history(const HistorySource& source, const std::function<void(const FrameView& frame)>& visit) {
  ScanReport report = scan_as(source.form, source.bytes, visit).report;
  report.damaged_bytes += source.joined.damaged_bytes;
  return report;
}

void tell_remarks(const HistorySource& source) {
  for (const std::string& remark : source.remarks) {
    std::fprintf(stderr, "temper: %s: %s\n", printable(source.path).c_str(), printable(remark).c_str());
  }
}

}  // namespace temper
