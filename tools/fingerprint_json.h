// A fingerprint for people and for JSON, field by field. Used by every command that shows one.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runtime/fingerprint.h"

namespace temper {

nlohmann::ordered_json fingerprint_json(const Fingerprint& fingerprint);

/// "core type 000306a9, 4 cores, 1 thread, 8 lanes of 16 registers, caches 32/1024/8192 KiB, 3.40 GHz, ..."
std::string fingerprint_text(const Fingerprint& fingerprint);

/// 64 bits as 16 hexadecimal digits, as workloads' keys are shown.
std::string hex_key(uint64_t key);

}  // namespace temper
