#include "tools/history_source.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "tools/console_dump.h"
#include "tools/history_file.h"
#include "tools/history_regions.h"
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

using FrameVisitor = std::function<void(const FrameView& frame, uint32_t offset)>;

Scan scan_bytes(const std::vector<uint8_t>& bytes, Manners manners, const FrameVisitor& visit) {
  const MemoryStorage storage(bytes, manners);
  alignas(8) uint8_t buffer[kHistoryBufferBytes];
  History history;
  Scan scan;
  struct Target {
    const FrameVisitor& visit;
    const MemoryStorage& storage;
  } target{visit, storage};
  const auto call = [](void* self, const FrameView& frame) {
    const auto& to = *static_cast<const Target*>(self);
    if (to.visit) {
      to.visit(frame, to.storage.last_read());
    }
  };
  scan.status = history.open(storage.storage(), {buffer, sizeof buffer}, &target, call, &scan.report);
  const bool refused = scan.status == TEMPER_STORAGE_ERROR || scan.status == TEMPER_STORAGE_FULL;
  if (refused) {
    scan.status = TEMPER_OK;  // a header that the device would write, the first or a second, is not needed here
  }
  return scan;
}

/// What a file that was cut off left of its header is zeros, what flash left has bits unset: either may be there. In
/// flash, erased bytes behind the last frame are no part of the history.
Scan scan_as(HistoryForm form, const std::vector<uint8_t>& bytes, const FrameVisitor& visit) {
  const Manners usual = form == HistoryForm::kFile ? Manners::kReadOnlyFile : Manners::kReadOnlyFlash;
  const Manners other = form == HistoryForm::kFile ? Manners::kReadOnlyFlash : Manners::kReadOnlyFile;
  const bool foreign = scan_bytes(bytes, usual, nullptr).status == TEMPER_BAD_DATA;
  return scan_bytes(bytes, foreign ? other : usual, visit);
}

std::vector<uint8_t> bytes_of(std::string_view contents) { return {contents.begin(), contents.end()}; }

std::string_view contents_of(const std::vector<uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

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

std::vector<Region> regions_in(HistoryForm form, const std::vector<uint8_t>& bytes) {
  std::vector<ScannedFrame> frames;
  scan_as(form, bytes, [&frames](const FrameView& frame, uint32_t offset) {
    ScannedFrame scanned{offset, frame.sequence, std::nullopt};
    if (frame.type == FrameType::kHeader && frame.payload.size >= 8) {
      scanned.generation = static_cast<uint16_t>(frame.payload[6] + 256u * frame.payload[7]);
    }
    frames.push_back(scanned);
  });
  return find_regions(frames, static_cast<uint32_t>(bytes.size()));
}

/// Leaves in the source what lies in the region that counts. `which` kFirst: in the one that it begins with. False:
/// it holds histories of several storages.
enum class Which : uint8_t { kNewest, kFirst };
bool take_region(HistorySource* source, Which which) {
  const std::vector<Region> regions = regions_in(source->form, source->bytes);
  if (regions.empty()) {
    return true;
  }
  RegionChoice choice;
  if (which == Which::kNewest) {
    choice = choose_region(regions, source->offset);
  }
  if (choice.several) {
    return false;
  }
  const bool has_regions = regions[0].generation.value_or(0) != 0;
  const Region region = choice.region ? *choice.region : regions[0];
  source->generation = region.generation.value_or(0);
  if (!choice.region && (which == Which::kNewest || !has_regions)) {
    return true;
  }
  source->bytes = {source->bytes.begin() + region.begin, source->bytes.begin() + region.end};
  source->offset += region.begin;
  if (!choice.remark.empty()) {
    source->remarks.push_back(choice.remark);
  }
  if (choice.older && scan_as(source->form, source->bytes, nullptr).report.damaged_bytes > 0) {
    source->remarks.push_back("the newer is damaged; what was before it is read with --offset " +
                              std::to_string(source->offset - region.begin + *choice.older));
  }
  return true;
}

Error not_a_history(const std::string& path, const std::string& why) { return {TEMPER_BAD_DATA, path + ": " + why}; }

std::string behind_tail_text(size_t behind) {
  return std::to_string(behind) + " bytes behind its erased tail are not its own and were not read";
}

/// For a file that begins with a history: flash may hold other things behind it.
void leave_out_what_follows(HistorySource* source, uint32_t frames) {
  const std::string_view contents = contents_of(source->bytes);
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

/// Where a header frame begins: the generation that it tells.
uint16_t generation_at(std::string_view contents, size_t at) {
  constexpr size_t kGenerationAt = kHeaderNameAt + 6;
  if (!header_at(contents, at) || contents.size() - at < kGenerationAt + 2) {
    return 0;
  }
  return static_cast<uint16_t>(static_cast<uint8_t>(contents[at + kGenerationAt]) +
                               256u * static_cast<uint8_t>(contents[at + kGenerationAt + 1]));
}

Error several_histories(const std::string& path, const std::vector<size_t>& places) {
  std::string text = std::to_string(places.size()) + " histories lie in it, at offsets ";
  for (size_t i = 0; i < places.size() && i < kMostPlacesNamed; ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(places[i]);
  }
  text += places.size() > kMostPlacesNamed ? ", ..." : "";
  return not_a_history(path, text + "; choose one: temper merge --offset N " + path + " -o FILE");
}

Result<HistorySource> parse_image(const std::string& path, std::string_view contents, uint64_t offset, Which which) {
  if (offset >= contents.size()) {
    return not_a_history(path, "ends before offset " + std::to_string(offset));
  }
  HistorySource source;
  source.path = path;
  source.form = HistoryForm::kFlashImage;
  source.offset = offset;
  size_t behind = 0;
  const std::string_view from_there = contents.substr(static_cast<size_t>(offset));
  if (generation_at(from_there, 0) != 0) {
    source.bytes = bytes_of(from_there);
    if (!take_region(&source, which)) {
      return several_histories(path, history_places(contents));
    }
    source.bytes = cut_at_tail(contents_of(source.bytes), &behind);
  } else {
    source.bytes = cut_at_tail(from_there, &behind);
  }
  bool begins = true;  // not somewhere inside one
  uint32_t frames = 0;
  const Scan scan = scan_as(source.form, source.bytes, [&](const FrameView& frame, uint32_t) {
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

/// A line lost at the begin of a dump takes the header with it. That a history follows the marks say, so that the rest
/// need not be refused as foreign. False when the header is not what is missing.
bool put_header_back(HistorySource* source) {
  MemoryStorage empty({}, Manners::kFile);
  alignas(8) uint8_t buffer[kHistoryBufferBytes];
  History history;
  ScanReport report{};
  if (!history.open(empty.storage(), {buffer, sizeof buffer}, nullptr, nullptr, &report).ok()) {
    return false;
  }
  const std::vector<uint8_t>& header = empty.bytes();
  std::vector<uint8_t>& bytes = source->bytes;
  const auto erased = [](uint8_t byte) { return byte == kErased; };
  if (bytes.size() < header.size() || !std::all_of(bytes.begin(), bytes.begin() + header.size(), erased)) {
    return false;
  }
  std::copy(header.begin(), header.end(), bytes.begin());
  source->remarks.push_back("the history's header is in no record either; what is behind it is read");
  return true;
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
  Scan scan = scan_as(source.form, source.bytes, nullptr);
  if (scan.status == TEMPER_BAD_DATA && source.damaged && put_header_back(&source)) {
    scan = scan_as(source.form, source.bytes, nullptr);
  }
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
  if (!take_region(&source, Which::kNewest)) {
    return not_a_history(path, "the dump holds histories of several storages; let the board print one at a time");
  }
  return source;
}

Result<HistorySource> search_image(const std::string& path, std::string_view contents) {
  std::vector<size_t> places = history_places(contents);
  if (places.empty()) {
    return history_error(path, TEMPER_BAD_DATA);
  }
  std::vector<size_t> regions;  // firmware holds a header of generation 0, as the constant that it writes
  std::copy_if(places.begin(), places.end(), std::back_inserter(regions),
               [&](size_t at) { return generation_at(contents, at) != 0; });
  places = regions.empty() ? places : regions;
  if (places.size() > 1 && regions.empty()) {
    return several_histories(path, places);
  }
  Result<HistorySource> source = parse_image(path, contents, places[0], Which::kNewest);
  if (source) {
    source->remarks.insert(source->remarks.begin(),
                           "the history in it begins at offset " + std::to_string(source->offset));
  }
  return source;
}

}  // namespace

Result<HistorySource> parse_history(const std::string& path, std::string_view whole, std::optional<uint64_t> offset) {
  const std::string_view contents = offset ? whole : without_long_tail(whole);
  if (offset && *offset != 0) {
    return parse_image(path, contents, *offset, Which::kFirst);
  }
  HistorySource source;
  source.path = path;
  source.bytes = bytes_of(contents);
  const Scan scan = scan_as(source.form, source.bytes, nullptr);
  if (scan.status == TEMPER_BAD_VERSION) {
    return history_error(path, TEMPER_BAD_VERSION);
  }
  if (scan.status.ok() && scan.report.generation != kNoGeneration && scan.report.generation != 0) {
    source.form = HistoryForm::kFlashImage;
    return take_region(&source, offset ? Which::kFirst : Which::kNewest)
               ? Result<HistorySource>(std::move(source))
               : Result<HistorySource>(several_histories(path, history_places(contents)));
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

ScanReport scan_history_places(const HistorySource& source,
                               const std::function<void(const FrameView& frame, uint32_t offset)>& visit) {
  ScanReport report = scan_as(source.form, source.bytes, visit).report;
  report.damaged_bytes += source.joined.damaged_bytes;
  return report;
}

ScanReport scan_history(const HistorySource& source, const std::function<void(const FrameView& frame)>& visit) {
  return scan_history_places(source, [&visit](const FrameView& frame, uint32_t) { visit(frame); });
}

void tell_remarks(const HistorySource& source) {
  for (const std::string& remark : source.remarks) {
    std::fprintf(stderr, "temper: %s: %s\n", printable(source.path).c_str(), printable(remark).c_str());
  }
}

}  // namespace temper
