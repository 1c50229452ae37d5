#include "runtime/config.h"

#include <doctest/doctest.h>

#include <set>

namespace temper {

TEST_CASE("configs that differ in any knob, and equal configs of different workloads, hash apart") {
  std::set<uint32_t> hashes;
  Config config;
  for (uint32_t salt = 0; salt < 4; ++salt) {
    hashes.insert(hash_config(config, salt));
    for (uint32_t knob = 0; knob < TEMPER_MAX_KNOBS; ++knob) {
      for (uint8_t choice = 1; choice < 64; ++choice) {
        config.choice[knob] = choice;
        hashes.insert(hash_config(config, salt));
      }
      config.choice[knob] = 0;
    }
  }
  CHECK(hashes.size() == 4 * (1 + TEMPER_MAX_KNOBS * 63));
  CHECK(hash_config(config, 3) == hash_config(Config(), 3));
}

}  // namespace temper
