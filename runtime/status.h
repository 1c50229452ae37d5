// C++ face of temper_status: [[nodiscard]], for everything in the device core and the host folders.
#pragma once

#include "temper/status.h"

namespace temper {

class [[nodiscard]] Status {
 public:
  constexpr Status() = default;
  constexpr Status(temper_status code) : code_(code) {}
  constexpr bool ok() const { return code_ == TEMPER_OK; }
  constexpr temper_status code() const { return code_; }
  constexpr bool operator==(Status other) const { return code_ == other.code_; }
  constexpr bool operator!=(Status other) const { return code_ != other.code_; }

 private:
  temper_status code_ = TEMPER_OK;
};

}  // namespace temper
