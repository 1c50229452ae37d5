#include "tools/exit_code.h"

#include <cstdio>

#include "tools/text_table.h"

namespace temper {

int exit_code_of(temper_status status) {
  switch (status) {
    case TEMPER_OK:
    case TEMPER_MORE:
    case TEMPER_BUDGET_SPENT:
      return kExitDone;
    case TEMPER_NOTHING_TO_TUNE:
      return kExitNegative;
    case TEMPER_INVALID_ARGUMENT:
      return kExitWrongUse;
    case TEMPER_BAD_DATA:
    case TEMPER_BAD_VERSION:
    case TEMPER_NOT_FOUND:
    case TEMPER_UNSUPPORTED:
      return kExitBadInput;
    case TEMPER_CANCELLED:
      return kExitInterrupted;
    case TEMPER_NO_MEMORY:
    case TEMPER_STORAGE_FULL:
    case TEMPER_STORAGE_ERROR:
    case TEMPER_PORT_ERROR:
    case TEMPER_BUSY:
    case TEMPER_STATUS_COUNT:
      return kExitEnvironment;
  }
  return kExitEnvironment;
}

int report(const Error& error) {
  std::fprintf(stderr, "temper: %s\n", printable_lines(error.message).c_str());
  return exit_code_of(error.code);
}

}  // namespace temper
