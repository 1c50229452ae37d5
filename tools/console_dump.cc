#include "tools/console_dump.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace temper {
namespace {

constexpr uint32_t kMostBytes = 1u << 26;  // more than a console prints in a day; bounds what a false mark can cost
constexpr size_t kMostLinesNamed = 8;
constexpr uint8_t kErased = 0xFF;

// Types of Intel's Hexadecimal Object File Format Specification, revision A.
enum RecordType : uint8_t { kData = 0, kEnd = 1, kSegment = 2, kStartSegment = 3, kLinear = 4, kStartLinear = 5 };

struct Record {
  uint8_t type;
  uint16_t address;
  std::vector<uint8_t> data;
};

int digit(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                : -1;
}

std::string_view trimmed(std::string_view line) {
  while (!line.empty() && static_cast<unsigned char>(line.back()) <= ' ') {
    line.remove_suffix(1);
  }
  return line;
}

/// Behind the last colon, so that time stamps before it may hold some too. Nothing when length or checksum are wrong.
std::optional<Record> parse_record(std::string_view line) {
  const size_t colon = line.rfind(':');
  if (colon == std::string_view::npos || (line.size() - colon) % 2 == 0) {
    return std::nullopt;
  }
  std::vector<uint8_t> bytes;
  uint8_t sum = 0;
  for (size_t i = colon + 1; i < line.size(); i += 2) {
    const int high = digit(line[i]), low = digit(line[i + 1]);
    if (high < 0 || low < 0) {
      return std::nullopt;
    }
    bytes.push_back(static_cast<uint8_t>(high * 16 + low));
    sum = static_cast<uint8_t>(sum + bytes.back());
  }
  constexpr size_t kFrame = 5;  // length, address, type; checksum
  if (bytes.size() < kFrame || bytes.size() != kFrame + bytes[0] || sum != 0) {
    return std::nullopt;
  }
  return Record{bytes[3], static_cast<uint16_t>(bytes[1] * 256 + bytes[2]), {bytes.begin() + 4, bytes.end() - 1}};
}

/// The text behind a mark; nothing where the line does not hold it, or only as a part of a longer word.
std::optional<std::string_view> behind_mark(std::string_view line, std::string_view mark) {
  const size_t at = line.rfind(mark);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view rest = line.substr(at + mark.size());
  return rest.empty() || rest[0] == ' ' ? std::optional(rest) : std::nullopt;
}

std::optional<uint32_t> bytes_announced(std::string_view line) {
  std::optional<std::string_view> rest = behind_mark(line, kDumpBegin);
  if (!rest || rest->size() < 2) {
    return std::nullopt;
  }
  uint32_t bytes = 0;
  const auto [end, error] = std::from_chars(rest->data() + 1, rest->data() + rest->size(), bytes);
  const bool whole = error == std::errc() && end == rest->data() + rest->size();
  return whole && bytes <= kMostBytes ? std::optional(bytes) : std::nullopt;
}

std::string named_lines(const std::vector<size_t>& lines) {
  std::string text = lines.size() == 1 ? "line " : "lines ";
  for (size_t i = 0; i < lines.size() && i < kMostLinesNamed; ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(lines[i]);
  }
  return lines.size() > kMostLinesNamed ? text + " and " + std::to_string(lines.size() - kMostLinesNamed) + " more"
                                        : text;
}

/// One dump, from its first mark on.
class DumpReader {
 public:
  DumpReader(size_t first_line, uint32_t announced) : first_line_(first_line), announced_(announced) {}

  size_t first_line() const { return first_line_; }

  void add(size_t number, std::string_view line) {
    if (line.empty()) {
      return;
    }
    const std::optional<Record> record = parse_record(line);
    if (!record || !take(*record)) {
      passed_over_.push_back(number);
    }
  }

  ConsoleDump finish() {
    ConsoleDump dump;
    dump.covered_bytes = static_cast<uint32_t>(std::count(covered_.begin(), covered_.end(), true));
    const uint32_t missing = announced_ - dump.covered_bytes;
    dump.damaged = missing > 0;
    if (!passed_over_.empty()) {
      dump.remarks.push_back(named_lines(passed_over_) +
                             (passed_over_.size() == 1 ? " is no whole record and was passed over"
                                                       : " are no whole records and were passed over") +
                             (missing == 0 ? "; nothing is missing" : ""));
    }
    if (missing > 0) {
      dump.remarks.push_back(std::to_string(missing) + " of " + std::to_string(announced_) +
                             " bytes are in no record and count as erased");
    }
    if (!ended_) {
      dump.remarks.push_back("the dump from line " + std::to_string(first_line_) + " on has no end record");
    }
    dump.bytes = std::move(bytes_);
    return dump;
  }

 private:
  bool take(const Record& record) {
    if (ended_) {
      return false;
    }
    switch (record.type) {
      case kData:
        return take_data(base_ + record.address, record.data);
      case kEnd:
        ended_ = record.data.empty();
        return ended_;
      case kSegment:
      case kLinear:
        if (record.data.size() != 2) {
          return false;
        }
        base_ = static_cast<uint64_t>(record.data[0] * 256u + record.data[1]) << (record.type == kLinear ? 16 : 4);
        return true;
      case kStartSegment:
      case kStartLinear:
        return true;  // where a program would begin: a history has no such place
      default:
        return false;
    }
  }

  /// What lies outside, or contradicts an earlier record, is not believed.
  bool take_data(uint64_t address, const std::vector<uint8_t>& data) {
    if (address + data.size() > announced_) {
      return false;
    }
    const size_t start = static_cast<size_t>(address);
    if (bytes_.size() < start + data.size()) {
      bytes_.resize(start + data.size(), kErased);
      covered_.resize(bytes_.size(), false);
    }
    for (size_t i = 0; i < data.size(); ++i) {
      if (covered_[start + i] && bytes_[start + i] != data[i]) {
        return false;
      }
    }
    for (size_t i = 0; i < data.size(); ++i) {
      covered_[start + i] = true;
      bytes_[start + i] = data[i];
    }
    return true;
  }

  size_t first_line_;
  uint32_t announced_;
  uint64_t base_ = 0;
  bool ended_ = false;
  std::vector<uint8_t> bytes_;
  std::vector<bool> covered_;
  std::vector<size_t> passed_over_;
};

struct Found {
  std::optional<DumpReader> open, whole;
  size_t whole_count = 0, last_line = 0;
  std::vector<size_t> unfinished;  ///< first lines of dumps that do not end
};

Found find_dumps(std::string_view text) {
  Found found;
  size_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (const std::optional<uint32_t> announced = bytes_announced(line)) {
      if (found.open) {
        found.unfinished.push_back(found.open->first_line());
      }
      found.open.emplace(number, *announced);
    } else if (found.open && behind_mark(line, kDumpEnd)) {
      found.whole = std::move(found.open);
      found.open.reset();
      found.last_line = number;
      ++found.whole_count;
    } else if (found.open) {
      found.open->add(number, line);
    }
  }
  if (found.open) {
    found.unfinished.push_back(found.open->first_line());
  }
  return found;
}

}  // namespace

bool holds_console_dump(std::string_view text) { return text.find(kDumpBegin) != std::string_view::npos; }

Result<ConsoleDump> read_console_dump(const std::string& path, std::string_view text) {
  Found found = find_dumps(text);
  const std::string end_mark(kDumpEnd), begin_mark(kDumpBegin);
  if (!found.whole) {
    const std::string what = found.unfinished.empty()
                                 ? ": no line of it begins a dump: '" + begin_mark + " BYTES' was expected"
                                 : ": the dump that begins at line " + std::to_string(found.unfinished.back()) +
                                       " has no '" + end_mark + "'";
    return Error{TEMPER_BAD_DATA, path + what + "; let the board print it again"};
  }
  ConsoleDump dump = found.whole->finish();
  if (found.whole_count > 1) {
    dump.remarks.insert(dump.remarks.begin(), std::to_string(found.whole_count) + " dumps; the last, lines " +
                                                  std::to_string(found.whole->first_line()) + " to " +
                                                  std::to_string(found.last_line) + ", is read");
  }
  if (!found.unfinished.empty()) {
    dump.remarks.push_back("the dump that begins at " + named_lines(found.unfinished) + " has no '" + end_mark +
                           "' and is not read");
  }
  return dump;
}

}  // namespace temper
