// Reads a GNU linker's map: which object takes how much of what, how large the memories are, and what did not fit. Used
// by the size report of build.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace temper {

enum class SectionKind : uint8_t { kCode, kConstants, kInitialised, kZeroed };

/// One object's contribution to the program.
struct MapEntry {
  SectionKind kind;
  std::string object;  ///< as the linker names it: "path/libx.a(y.cc.obj)" or "path/z.o"
  uint64_t bytes;
};

struct LinkMap {
  std::vector<MapEntry> entries;             ///< without empty ones
  std::map<std::string, uint64_t> memories;  ///< length by name; empty on an operating system
};

/// Sections that are not part of a program's memory (debug, notes) and what was discarded are left out.
LinkMap parse_link_map(std::string_view text);

/// By how much each memory overflowed, from what the linker printed; empty when none did.
std::map<std::string, uint64_t> parse_overflows(std::string_view log);

/// The file's own name without folders; of an archive's member, the member's: "y" of "path/libx.a(y.cc.obj)".
std::string object_stem(const std::string& object);

}  // namespace temper
