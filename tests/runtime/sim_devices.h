// Simulated devices and spaces that the tests of both tuners share. Host only.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "tests/runtime/sim_packs.h"
#include "tests/runtime/sim_runner.h"

namespace temper::test {

/// Of most spaces here: 2,304 configs.
inline const std::vector<std::vector<uint16_t>> kFourKnobs = {up_to(8), up_to(8), up_to(6), up_to(6)};

/// The default of every pack here is its first config.
inline bool is_default(const Config& config) { return config == Config{}; }

/// Tells trials apart.
inline std::string text_of(uint32_t workload, const Config& config) {
  return std::to_string(workload) + std::string(reinterpret_cast<const char*>(config.choice), TEMPER_MAX_KNOBS);
}

/// A bowl around the fourth choices: the default, at the first, is several times slower than the best.
inline double bowl(uint32_t, const Config& config) {
  double time = 100000;
  for (uint32_t knob = 0; knob < 4; ++knob) {
    time *= 1 + 0.15 * std::abs(config.choice[knob] - 3.0);
  }
  return time;
}

inline SimOptions bowl_device(uint64_t seed = 1) {
  SimOptions sim;
  sim.seed = seed;
  sim.time_ns = bowl;
  sim.noise = 0.01;
  return sim;
}

/// The bowl, with a corner where configs crash.
inline SimOptions crashing_bowl_device(uint64_t seed = 1) {
  SimOptions sim = bowl_device(seed);
  sim.fate = [](uint32_t, const Config& config) {
    return config.choice[0] == 6 && config.choice[1] > 4 ? SimFate::kCrashes : SimFate::kOk;
  };
  return sim;
}

/// The same landscape, everything at a third of the speed.
inline SimOptions slower_device() {
  SimOptions sim = crashing_bowl_device(2);
  sim.time_ns = [](uint32_t workload, const Config& config) { return 3 * bowl(workload, config); };
  return sim;
}

/// Another landscape, where nothing beats the default.
inline SimOptions flat_device() {
  SimOptions sim = bowl_device(3);
  sim.time_ns = [](uint32_t, const Config& config) { return is_default(config) ? 1e5 : 2e5; };
  return sim;
}

/// What a run's budget has to cope with.
struct TryingDevice {
  const char* name;
  double default_ns;
  uint64_t build_ns;
  SimFate candidate_fate;
  SimFate default_fate;
};

/// Configs from twice as fast to 20 times as slow as the default.
inline SimOptions make_device(const TryingDevice& device, bool synchronous) {
  SimOptions sim;
  sim.build_ns = device.build_ns;
  sim.noise = 0.03;
  sim.synchronous = synchronous;
  sim.time_ns = [device](uint32_t, const Config& config) {
    return is_default(config)
               ? device.default_ns
               : device.default_ns * (0.5 + 0.08 * config.choice[0] * config.choice[1] * config.choice[2]);
  };
  sim.fate = [device](uint32_t, const Config& config) {
    return is_default(config) ? device.default_fate : device.candidate_fate;
  };
  return sim;
}

}  // namespace temper::test
