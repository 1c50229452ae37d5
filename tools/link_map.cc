#include "tools/link_map.h"

#include <charconv>
#include <optional>

namespace temper {
namespace {

struct SectionPrefix {
  std::string_view prefix;
  SectionKind kind;
};
// The first that matches counts.
constexpr SectionPrefix kPrefixes[] = {
    {".text", SectionKind::kCode},
    {".vectors", SectionKind::kCode},
    {".init", SectionKind::kCode},
    {".fini", SectionKind::kCode},
    {".plt", SectionKind::kCode},
    {".rodata", SectionKind::kConstants},
    {".eh_frame", SectionKind::kConstants},
    {".gcc_except", SectionKind::kConstants},
    {".ARM.exidx", SectionKind::kConstants},
    {".ARM.extab", SectionKind::kConstants},
    {".data", SectionKind::kInitialised},
    {".tdata", SectionKind::kInitialised},
    {".sdata", SectionKind::kInitialised},
    {".got", SectionKind::kInitialised},
    {".bss", SectionKind::kZeroed},
    {".sbss", SectionKind::kZeroed},
    {".tbss", SectionKind::kZeroed},
    {"COMMON", SectionKind::kZeroed},
};

std::optional<SectionKind> kind_of(std::string_view section) {
  for (const SectionPrefix& entry : kPrefixes) {
    if (section.substr(0, entry.prefix.size()) == entry.prefix) {
      return entry.kind;
    }
  }
  return std::nullopt;
}

std::string_view next_line(std::string_view* text) {
  const size_t end = text->find('\n');
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(end == std::string_view::npos ? text->size() : end + 1);
  return line;
}

std::string_view next_word(std::string_view* line) {
  const size_t begin = std::min(line->find_first_not_of(" \t\r"), line->size());
  const size_t end = std::min(line->find_first_of(" \t\r", begin), line->size());
  const std::string_view word = line->substr(begin, end - begin);
  line->remove_prefix(end);
  return word;
}

std::optional<uint64_t> hexadecimal(std::string_view word) {
  uint64_t value = 0;
  if (word.substr(0, 2) != "0x") {
    return std::nullopt;
  }
  const auto [end, error] = std::from_chars(word.data() + 2, word.data() + word.size(), value, 16);
  return error == std::errc() && end == word.data() + word.size() ? std::optional(value) : std::nullopt;
}

void parse_memories(std::string_view* text, LinkMap* map) {
  while (!text->empty()) {
    std::string_view line = next_line(text);
    if (line.find("Linker script and memory map") != std::string_view::npos) {
      return;
    }
    const std::string_view name = next_word(&line);
    const auto origin = hexadecimal(next_word(&line)), length = hexadecimal(next_word(&line));
    if (origin && length && name != "*default*") {
      map->memories[std::string(name)] = *length;
    }
  }
}

/// " .text.f  0xADDRESS 0xSIZE object", or the section alone where it is long, the rest on the next line.
void parse_entry(std::string_view line, std::string_view* text, LinkMap* map) {
  const std::string_view section = next_word(&line);
  const std::optional<SectionKind> kind = kind_of(section);
  std::string_view address = next_word(&line);
  if (address.empty() && kind) {
    line = next_line(text);
    address = next_word(&line);
  }
  const auto at = hexadecimal(address), bytes = hexadecimal(next_word(&line));
  const size_t begin = line.find_first_not_of(' ');
  if (!kind || !at || !bytes || *bytes == 0 || begin == std::string_view::npos) {
    return;
  }
  map->entries.push_back({*kind, std::string(line.substr(begin)), *bytes});
}

}  // namespace

LinkMap parse_link_map(std::string_view text) {
  LinkMap map;
  const size_t memories = text.find("Memory Configuration");
  text.remove_prefix(memories == std::string_view::npos ? text.size() : memories);
  parse_memories(&text, &map);
  while (!text.empty()) {
    const std::string_view line = next_line(&text);
    const bool input_section = line.size() > 2 && line[0] == ' ' && line[1] != ' ' && line[1] != '*';
    if (line.substr(0, 9) == "/DISCARD/") {
      // What follows was left out, up to the next output section at the line's begin.
      while (!text.empty() && (text[0] == ' ' || text[0] == '\n')) {
        next_line(&text);
      }
    } else if (input_section) {
      parse_entry(line, &text, &map);
    }
  }
  return map;
}

std::map<std::string, uint64_t> parse_overflows(std::string_view log) {
  std::map<std::string, uint64_t> overflows;
  constexpr std::string_view kBegin = "region `", kMiddle = "' overflowed by ";
  while (!log.empty()) {
    const std::string_view line = next_line(&log);
    const size_t begin = line.find(kBegin), middle = line.find(kMiddle);
    if (begin == std::string_view::npos || middle == std::string_view::npos || middle < begin) {
      continue;
    }
    const std::string name(line.substr(begin + kBegin.size(), middle - begin - kBegin.size()));
    const std::string_view digits = line.substr(middle + kMiddle.size());
    uint64_t bytes = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), bytes);
    overflows[name] = std::max(overflows[name], bytes);
  }
  return overflows;
}

std::string object_stem(const std::string& object) {
  const size_t member = object.rfind('(');
  std::string name = member != std::string::npos ? object.substr(member + 1) : object;
  const size_t slash = name.rfind('/');
  name.erase(0, slash == std::string::npos ? 0 : slash + 1);
  return name.substr(0, name.find('.'));
}

}  // namespace temper
