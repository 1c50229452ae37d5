#include "tests/codegen/object_symbols.h"

#include <elf.h>

#include <cstring>

namespace temper {
namespace {

template <class Type>
Type read(const std::vector<uint8_t>& object, size_t at) {
  Type value;
  std::memcpy(&value, object.data() + at, sizeof value);
  return value;
}

template <class Header, class Section, class Symbol>
ObjectSymbols symbols(const std::vector<uint8_t>& object) {
  ObjectSymbols result;
  const Header header = read<Header>(object, 0);
  for (size_t i = 0; i < header.e_shnum; ++i) {
    const Section section = read<Section>(object, header.e_shoff + i * sizeof(Section));
    if (section.sh_type != SHT_SYMTAB) {
      continue;
    }
    const Section names = read<Section>(object, header.e_shoff + section.sh_link * sizeof(Section));
    for (size_t at = 0; at < section.sh_size; at += sizeof(Symbol)) {
      const Symbol symbol = read<Symbol>(object, section.sh_offset + at);
      const std::string name = reinterpret_cast<const char*>(object.data() + names.sh_offset + symbol.st_name);
      if (symbol.st_info >> 4 == STB_LOCAL || name.empty()) {
        continue;
      }
      (symbol.st_shndx == SHN_UNDEF ? result.undefined : result.defined).push_back(name);
    }
  }
  return result;
}

}  // namespace

ObjectSymbols object_symbols(const std::vector<uint8_t>& object) {
  return object[EI_CLASS] == ELFCLASS64 ? symbols<Elf64_Ehdr, Elf64_Shdr, Elf64_Sym>(object)
                                        : symbols<Elf32_Ehdr, Elf32_Shdr, Elf32_Sym>(object);
}

}  // namespace temper
