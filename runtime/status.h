// C++ face of temper_status: [[nodiscard]], for everything in the device core and the host folders; and what outcomes
// mean.
#pragma once

#include <cstdint>

#include "temper/status.h"

namespace temper {

class [[nodiscard]] Status {
 public:
  constexpr Status() = default;
  constexpr Status(temper_status code) : code_(code) {}
  constexpr bool ok() const { return code_ == TEMPER_OK; }
  constexpr temper_status code() const { return static_cast<temper_status>(code_); }
  constexpr bool operator==(Status other) const { return code_ == other.code_; }
  constexpr bool operator!=(Status other) const { return code_ != other.code_; }

 private:
  uint32_t code_ = TEMPER_OK;  // as wide as a register: callers need not extend what is returned
};

/// Whether a trial that ended so was timed; of one that was too slow a lower bound is known.
inline bool has_time(temper_outcome outcome) {
  return outcome == TEMPER_OUTCOME_OK || outcome == TEMPER_OUTCOME_TOO_SLOW;
}

/// Whether the config of a trial that ended so is not tried again; a default that works otherwise is.
inline bool is_failure(temper_outcome outcome) {
  return outcome == TEMPER_OUTCOME_WRONG_RESULT || outcome == TEMPER_OUTCOME_CRASHED ||
         outcome == TEMPER_OUTCOME_TIMEOUT;
}

}  // namespace temper
