// Runs another program to its end: cmake, ninja, a linker, nm. Used by build; never through a shell. A signal that
// would end this process (SIGINT, SIGTERM, SIGHUP) first ends the program and all that it started. One at a time.
#pragma once

#include <string>
#include <vector>

#include "schedules/result.h"

namespace temper {

/// Where a program of that name lies on PATH; empty when it is not there. A name with a slash is taken as it is.
std::string find_program(const std::string& name);

/// Runs it with output and errors appended to `log`; returns its exit status, 128 + the signal where one ended it.
/// TEMPER_NOT_FOUND when it is not there, TEMPER_STORAGE_ERROR when the log cannot be written.
Result<int> run_logged(const std::vector<std::string>& command, const std::string& log);

/// What it prints to standard output, where it ends with 0; errors go where ours do. TEMPER_BAD_DATA otherwise.
Result<std::string> output_of(const std::vector<std::string>& command);

}  // namespace temper
