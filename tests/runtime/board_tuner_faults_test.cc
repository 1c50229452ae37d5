#include <doctest/doctest.h>

#include <set>

#include "tests/runtime/sim_board.h"
#include "tests/runtime/sim_devices.h"

namespace temper::test {
namespace {

/// Two workloads of one template: six variants by compile knob 0, 48 settings of the run knobs each. The default is of
/// variant 0.
TestPack pack_with_variants() {
  TestPack pack = many_workloads(2, {up_to(6), up_to(8), up_to(6)});
  pack.templates[0].knobs[0].kind = KnobKind::kCompile;
  for (uint16_t value = 1; value <= 6; ++value) {
    pack.variants.push_back({0, {value}, static_cast<uint16_t>(value - 1)});
  }
  return pack;
}

void no_kernel(float*, const float*, const float*, const float*, const float*, void*, const int32_t*, int32_t,
               int32_t) {}
const temper_kernel kNoKernels[6] = {no_kernel, no_kernel, no_kernel, no_kernel, no_kernel, no_kernel};

bool kills(uint32_t workload, const Config& config) {
  return config.choice[0] == 2 || config.choice[0] == 4 || (workload == 1 && config.choice[0] == 0);
}

SimOptions mortal_device(uint64_t seed) {
  SimOptions sim;
  sim.seed = seed;
  sim.noise = 0.02;
  sim.synchronous = true;
  sim.time_ns = [](uint32_t, const Config& config) { return 1e6 * (1.5 - 0.1 * config.choice[0]); };
  return sim;
}

/// Boots until a run ends, the device dying with each candidate that kills. Returns how often it died.
template <typename Kills>
uint32_t boot_until_done(const OpenPack& pack, const RamStorage& storage, SimOptions sim, Kills&& dies,
                         std::set<std::string>* killers) {
  for (uint32_t deaths = 0; deaths < 200; ++deaths) {
    SimBoard board(pack, sim, on(storage));
    REQUIRE(board.start({3600 * kSecond, 0, 40}).ok());
    Status status = TEMPER_MORE;
    uint32_t runs = 0;
    bool dead = false;
    while (status == TEMPER_MORE && !dead) {
      status = board.step();
      const uint32_t now = board.device.check_count + board.device.time_count;
      if (now != runs) {
        runs = now;
        const auto& [workload, config] = board.device.built.back();
        dead = dies(workload, config);
        if (dead) {
          const bool first = killers->insert(text_of(workload, config)).second;
          CHECK((first || is_default(config)));
        }
      }
    }
    if (!dead) {
      CHECK(status.ok());
      return deaths;
    }
  }
  FAIL("tuning does not complete");
  return 0;
}

}  // namespace

TEST_CASE("a variant that takes the device down costs two boots, whatever its run knobs; tuning completes") {
  const OpenPack pack(pack_with_variants(), kNoKernels, 6);
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    RamStorage storage(1 << 20, 1, 0);
    std::set<std::string> killers;
    const uint32_t deaths = boot_until_done(pack, storage, mortal_device(seed), kills, &killers);
    CHECK(deaths >= 2);   // the default of workload 1
    CHECK(deaths <= 10);  // and two of each further variant, of each workload
    SimBoard next(pack, mortal_device(seed), on(storage));
    CHECK(next.run({3600 * kSecond, 0, 40}).ok());
    CHECK(next.tried.empty());
    for (uint32_t w = 0; w < 2; ++w) {
      REQUIRE(next.committed(w));
      CHECK(!kills(w, next.commit(w)));
      CHECK(next.commit(w).choice[0] == 5);
    }
  }
}

TEST_CASE("a workload whose every config takes the device down ends after a few; the other is tuned") {
  const OpenPack pack(pack_with_variants(), kNoKernels, 6);
  RamStorage storage(1 << 20, 1, 0);
  std::set<std::string> killers;
  const auto dies = [](uint32_t workload, const Config&) { return workload == 0; };
  const uint32_t deaths = boot_until_done(pack, storage, mortal_device(1), dies, &killers);
  CHECK(deaths >= 8);
  CHECK(deaths <= 12);
  SimBoard next(pack, mortal_device(1), on(storage));
  CHECK(next.run({3600 * kSecond, 0, 40}).ok());
  CHECK(next.tried.empty());
  CHECK(!next.committed(0));
  CHECK(next.committed(1));
}

}  // namespace temper::test
