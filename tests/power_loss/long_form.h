// Whether the suites of power loss are to try everything: TEMPER_POWER_LOSS=long. Host only.
#pragma once

#include <cstdlib>
#include <string>

namespace temper::test {

inline bool is_long() {
  const char* const asked = std::getenv("TEMPER_POWER_LOSS");
  return asked != nullptr && std::string(asked) == "long";
}

}  // namespace temper::test
