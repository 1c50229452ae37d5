// "Tuned is never slower than untuned", in simulation: whole runs of a tuner under noise, their commits held against
// the truth. Used by the safety test of each tuner. Host only.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/runtime/sim_devices.h"

namespace temper::test {

/// Time relative to the default, of every config but the default.
using Landscape = double (*)(uint32_t workload, const Config& config, uint32_t salt);

/// Tunes every workload of the pack with 24 trials each and returns what was committed, by workload.
using TuneAll = std::vector<Config> (*)(const OpenPack& pack, const SimOptions& sim, uint64_t seed);

namespace landscape {

inline double uniform(uint32_t workload, const Config& config, uint32_t salt) {
  return (hash_config(config, workload * 7919 + salt) * 2654435761u >> 8) / 16777216.0;
}
inline double mixed(uint32_t workload, const Config& config, uint32_t salt) {
  return 0.8 + 0.8 * uniform(workload, config, salt);
}
inline double plateau(uint32_t workload, const Config& config, uint32_t salt) {
  return 1.0 + 0.06 * uniform(workload, config, salt);
}
inline double slightly_slower(uint32_t, const Config&, uint32_t) { return 1.011; }
inline double wide(uint32_t workload, const Config& config, uint32_t salt) {
  return 0.3 * std::pow(20, uniform(workload, config, salt));
}

}  // namespace landscape

struct Tally {
  int commits = 0, changed = 0, slower = 0;
  double log_gain = 0;
};

inline Tally tune_many(TuneAll tune_all, Landscape relative_time, double noise) {
  constexpr uint32_t kWorkloads = 20;
  const OpenPack pack(many_workloads(kWorkloads, {up_to(8), up_to(8), up_to(8), up_to(8)}));
  Tally tally;
  for (uint32_t seed = 0; seed < 50; ++seed) {
    const auto ratio = [=](uint32_t workload, const Config& config) {
      return is_default(config) ? 1.0 : relative_time(workload, config, seed);
    };
    SimOptions sim;
    sim.seed = seed;
    sim.noise = noise;
    sim.time_ns = [=](uint32_t workload, const Config& config) { return 300000 * ratio(workload, config); };
    const std::vector<Config> commits = tune_all(pack, sim, seed);
    REQUIRE(commits.size() == kWorkloads);
    for (uint32_t w = 0; w < kWorkloads; ++w) {
      const double truth = ratio(w, commits[w]);
      ++tally.commits;
      tally.changed += is_default(commits[w]) ? 0 : 1;
      tally.slower += truth > 1.01 ? 1 : 0;
      tally.log_gain -= std::log(truth);
    }
  }
  return tally;
}

inline void check_never_slower(TuneAll tune_all) {
  const struct {
    const char* name;
    Landscape relative_time;
  } landscapes[] = {{"mixed", landscape::mixed},
                    {"plateau", landscape::plateau},
                    {"slightly slower", landscape::slightly_slower},
                    {"wide", landscape::wide}};
  for (const auto& [name, relative_time] : landscapes) {
    for (const double noise : {0.02, 0.10}) {
      const Tally tally = tune_many(tune_all, relative_time, noise);
      MESSAGE(std::string(name) << ", noise " << noise << ": of " << tally.commits << " commits " << tally.changed
                                << " changed the config, " << tally.slower << " are more than 1 % slower; mean speedup "
                                << std::exp(tally.log_gain / tally.commits));
      CHECK(tally.commits == 1000);
      CHECK(tally.slower <= 10);
    }
  }
}

inline void check_gain_is_found(TuneAll tune_all) {
  const Tally tally = tune_many(tune_all, landscape::wide, 0.10);
  CHECK(tally.changed >= 990);
  CHECK(std::exp(tally.log_gain / tally.commits) > 2.0);
}

}  // namespace temper::test
