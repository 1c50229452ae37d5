// Reads the symbols of a relocatable ELF object, 32 or 64 bit, little-endian; enough to see what an object needs and
// offers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace temper {

struct ObjectSymbols {
  std::vector<std::string> defined, undefined;  ///< global ones
};
ObjectSymbols object_symbols(const std::vector<uint8_t>& object);

}  // namespace temper
