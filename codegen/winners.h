// The archive of `temper bake`: winners' kernels with everything constant, the table that plans them, prepacked
// constants, and the temper_winners object that ties them together (temper/winners.h). Host only; called by tools/bake.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/kernel_compiler.h"

namespace temper {

struct PrepackedConstant {
  std::string symbol;  ///< for people who read the map
  std::vector<uint8_t> bytes;
};

struct WinnersContents {
  std::string name;                          ///< a C identifier; the archive defines NAME_winners
  std::vector<uint8_t> table;                ///< schedules/table_writer.h
  std::vector<KernelRequest> kernels;        ///< in the order of the table's kernel indices; symbols unique
  std::vector<PrepackedConstant> constants;  ///< in the order of the table's constant indices
};

struct WinnersArchive {
  std::vector<uint8_t> bytes;   ///< ar format with a symbol table; the same for the same input
  uint32_t kernel_bytes = 0;    ///< code and its constants
  uint32_t constant_bytes = 0;  ///< prepacked
};

/// TEMPER_INVALID_ARGUMENT when the name is no C identifier; TEMPER_UNSUPPORTED when a kernel cannot be compiled for
/// the target, with its symbol and the reason.
Result<WinnersArchive> compile_winners(const Target& target, const WinnersContents& contents);

}  // namespace temper
