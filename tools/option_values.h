// What numbers on the command line must be. Used by the commands for their options; refused values are wrong use.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

namespace temper {

/// Decimal digits alone, from `least` to `most`: no sign, no 0x, and a leading 0 does not make it octal.
CLI::Validator whole_number(uint64_t least, uint64_t most);
/// The same for a place in a file, which may be hexadecimal: 0x1F000.
CLI::Validator byte_offset();
/// A finite number from `least` to `most`.
CLI::Validator real_number(double least, double most);

}  // namespace temper
