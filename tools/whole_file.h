// Writes a file whole or not at all: to a temporary beside it, synced, then renamed. Every file of the command but the
// history is written by this; reads whole files too. Devices, pipes and what a link names are written in place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/result.h"

namespace temper {

/// The file that a link names; any other path as it is.
std::string named_file(const std::string& path);

/// TEMPER_STORAGE_FULL or TEMPER_STORAGE_ERROR with the system's reason; the old file, if any, is untouched then. The
/// folder must exist. A link stays one: the file that it names is replaced.
Result<bool> write_whole_file(const std::string& path, std::string_view bytes);
Result<bool> write_whole_file(const std::string& path, const std::vector<uint8_t>& bytes);

struct WholeFile {
  std::string path;
  std::string_view bytes;
};

/// All or none: nothing is renamed before all are written and synced, and where a rename fails those before it are
/// undone (on file systems with links). Only a crash between two renames leaves some new and some old. Statuses as
/// above.
Result<bool> write_whole_files(const std::vector<WholeFile>& files);

/// Whether `path` could be written now, so that a long run need not end in vain. Leaves nothing behind.
Result<bool> can_write(const std::string& path);

/// That no file is lost: TEMPER_INVALID_ARGUMENT, naming it, where one of `outputs` is one of `inputs` or named twice,
/// whatever links lead there. Empty names and "-" are none; devices and pipes may be named as often as one likes.
Result<bool> keep_apart(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs);

/// Makes the folder that a file at `path` lies in. That it failed shows when the file is written.
void make_folder_of(const std::string& path);

/// TEMPER_NOT_FOUND; TEMPER_BAD_DATA when it is no file or larger than any of ours; TEMPER_STORAGE_ERROR. Memory is
/// aligned to 8 bytes.
Result<std::vector<uint64_t>> read_whole_file(const std::string& path, size_t* bytes);

}  // namespace temper
