// Version of the kernel generator: part of the fingerprint, so that results of code that is no longer made become
// hints. Raise it with every change that alters the machine code of existing configs. Read by the host tools alone.
#pragma once

#include <cstdint>

namespace temper {

inline constexpr uint32_t kGeneratorVersion = 5;

}  // namespace temper
