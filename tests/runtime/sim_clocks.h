// Clocks that break their contract in the middle of a run, and what a run over one is held to: shared by the clock
// tests of both tuners. Host only.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/runtime/sim_devices.h"

namespace temper::test {

inline constexpr uint64_t kHour = 3600 * kSecond;
inline constexpr uint64_t kClockStart = kSecond;  ///< of the simulated devices

struct BrokenClock {
  std::string name;
  std::function<uint64_t(uint64_t true_ns)> shows;
  uint64_t hidden_ns;  ///< time that no look at the clock can tell
};

/// Each breaks `at` after the start.
inline std::vector<BrokenClock> broken_clocks(uint64_t at) {
  const uint64_t from = kClockStart + at;
  const auto jump = [=](int64_t by) {
    return [=](uint64_t t) { return t < from ? t + 10 * kHour : t + 10 * kHour + static_cast<uint64_t>(by); };
  };
  const int64_t hour = static_cast<int64_t>(kHour);
  return {
      {"forwards by three hours", jump(3 * hour), 0},
      {"forwards by two days", jump(48 * hour), 0},
      {"forwards by a second", jump(static_cast<int64_t>(kSecond)), 0},
      {"backwards by three hours", jump(-3 * hour), 0},
      {"backwards by half a second", jump(-static_cast<int64_t>(kSecond / 2)), 0},
      {"back to zero", [=](uint64_t t) { return t < from ? t + 10 * kHour : t - from; }, 0},
      {"stands for five seconds",
       [=](uint64_t t) { return t < from                 ? t
                                : t < from + 5 * kSecond ? from
                                                         : t - 5 * kSecond; }, 5 * kSecond},
      {"one look shows hours ahead", [=](uint64_t t) { return t >= from && t < from + 200000 ? t + 3 * kHour : t; }, 0},
      {"one look shows zero", [=](uint64_t t) { return t >= from && t < from + 200000 ? 0 : t; }, 0},
      {"32 bits of nanoseconds", [](uint64_t t) { return t & UINT32_MAX; }, 0},
      {"32 bits of which a tick is 20 us, close to their end",
       [=](uint64_t t) { return ((t / 20000 + UINT32_MAX - from / 20000) & UINT32_MAX) * 20000; }, 0},
  };
}

/// Default 1 ms, candidates from 0.7 to 2 times as slow, 2 % noise; synchronous as a device with a pack is.
inline double clock_landscape(uint32_t workload, const Config& config) {
  const uint32_t hash = hash_config(config, workload * 7919) * 2654435761u >> 8;
  return is_default(config) ? 1e6 : 1e6 * (0.7 + 1.3 * hash / 16777216.0);
}

inline SimOptions clock_device(const BrokenClock& clock, uint64_t seed, bool synchronous) {
  SimOptions sim;
  sim.seed = seed;
  sim.noise = 0.02;
  sim.synchronous = synchronous;
  sim.time_ns = clock_landscape;
  sim.clock = clock.shows;
  return sim;
}

}  // namespace temper::test
