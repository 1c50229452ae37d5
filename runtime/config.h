// A config: one choice per knob. In memory it holds indices into the knobs' value lists; on storage, ids and values.
#pragma once

#include <cstdint>
#include <cstring>

#include "temper/kernel.h"

namespace temper {

struct Config {
  uint8_t choice[TEMPER_MAX_KNOBS] = {};  ///< unused knobs are 0, so that configs compare and hash as a whole

  bool operator==(const Config& other) const { return std::memcmp(choice, other.choice, sizeof choice) == 0; }
};

/// FNV-1a over the choices; `salt` tells configs of different workloads apart.
uint32_t hash_config(const Config& config, uint32_t salt);

}  // namespace temper
