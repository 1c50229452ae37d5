// Writes a file whole or not at all: to a temporary beside it, synced, then renamed. Used where a half-written result
// would mislead.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/result.h"

namespace temper {

/// Makes the folder when it is missing. TEMPER_STORAGE_FULL or TEMPER_STORAGE_ERROR with the system's reason; the old
/// file, if any, is untouched then.
Result<bool> write_whole_file(const std::string& path, const std::vector<uint8_t>& bytes);

/// TEMPER_NOT_FOUND, TEMPER_STORAGE_ERROR. Memory is aligned to 8 bytes.
Result<std::vector<uint64_t>> read_whole_file(const std::string& path, size_t* bytes);

}  // namespace temper
