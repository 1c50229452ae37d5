// The exit codes of `temper` and how an Error becomes one. Used by every command.
#pragma once

#include "schedules/result.h"

namespace temper {

enum ExitCode : int {
  kExitDone = 0,
  kExitNegative = 1,  ///< a tuning or check result is negative
  kExitWrongUse = 2,
  kExitBadInput = 3,     ///< a file that was named is missing, damaged or foreign
  kExitEnvironment = 4,  ///< disk full, no compiler, no device
  kExitInterrupted = 130,
};

int exit_code_of(temper_status status);

/// Prints "temper: MESSAGE" to standard error; returns the exit code.
int report(const Error& error);

}  // namespace temper
