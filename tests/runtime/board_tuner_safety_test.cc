// "Tuned is never slower than untuned", in simulation: whole runs of the board's tuner under noise, their commits held
// against the truth.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "tests/runtime/sim_board.h"

namespace temper::test {
namespace {

const std::vector<std::vector<uint16_t>> kKnobs = {up_to(8), up_to(8), up_to(8), up_to(8)};

bool is_default(const Config& config) { return config == Config{}; }

double uniform(uint32_t workload, const Config& config, uint32_t salt) {
  return (hash_config(config, workload * 7919 + salt) * 2654435761u >> 8) / 16777216.0;
}

// Time relative to the default, of every config but the default.
using Landscape = double (*)(uint32_t workload, const Config& config, uint32_t salt);

double mixed(uint32_t workload, const Config& config, uint32_t salt) {
  return 0.8 + 0.8 * uniform(workload, config, salt);
}
double plateau(uint32_t workload, const Config& config, uint32_t salt) {
  return 1.0 + 0.06 * uniform(workload, config, salt);
}
double slightly_slower(uint32_t, const Config&, uint32_t) { return 1.011; }
double wide(uint32_t workload, const Config& config, uint32_t salt) {
  return 0.3 * std::pow(20, uniform(workload, config, salt));
}

struct Tally {
  int commits = 0, changed = 0, slower = 0;
  double log_gain = 0;
};

Tally tune_many(Landscape landscape, double noise) {
  constexpr uint32_t kWorkloads = 20;
  const OpenPack pack(many_workloads(kWorkloads, kKnobs));
  Tally tally;
  for (uint32_t seed = 0; seed < 50; ++seed) {
    const auto ratio = [=](uint32_t workload, const Config& config) {
      return is_default(config) ? 1.0 : landscape(workload, config, seed);
    };
    SimOptions sim;
    sim.seed = seed;
    sim.noise = noise;
    sim.synchronous = true;
    sim.time_ns = [=](uint32_t workload, const Config& config) { return 300000 * ratio(workload, config); };
    BoardOptions options;
    options.seed = seed;
    SimBoard board(pack, sim, options);
    CHECK(board.run({3600 * kSecond, 0, 24}).ok());
    for (uint32_t w = 0; w < kWorkloads; ++w) {
      REQUIRE(board.committed(w));
      const double truth = ratio(w, board.commit(w));
      ++tally.commits;
      tally.changed += is_default(board.commit(w)) ? 0 : 1;
      tally.slower += truth > 1.01 ? 1 : 0;
      tally.log_gain -= std::log(truth);
    }
  }
  return tally;
}

TEST_CASE("of 1,000 commits under noise at most 1 % are more than 1 % slower than the default") {
  const struct {
    const char* name;
    Landscape landscape;
  } landscapes[] = {{"mixed", mixed}, {"plateau", plateau}, {"slightly slower", slightly_slower}, {"wide", wide}};
  for (const auto& [name, landscape] : landscapes) {
    for (const double noise : {0.02, 0.10}) {
      const Tally tally = tune_many(landscape, noise);
      MESSAGE(std::string(name) << ", noise " << noise << ": of " << tally.commits << " commits " << tally.changed
                                << " changed the config, " << tally.slower << " are more than 1 % slower; mean speedup "
                                << std::exp(tally.log_gain / tally.commits));
      CHECK(tally.commits == 1000);
      CHECK(tally.slower <= 10);
    }
  }
}

TEST_CASE("where much is to gain, it is found and committed in spite of the noise") {
  const Tally tally = tune_many(wide, 0.10);
  CHECK(tally.changed >= 990);
  CHECK(std::exp(tally.log_gain / tally.commits) > 2.0);
}

}  // namespace
}  // namespace temper::test
