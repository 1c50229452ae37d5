#include "codegen/object_cache.h"

#include <doctest/doctest.h>

namespace temper {
namespace {

CachedObject object_of(uint32_t workload, uint8_t choice, size_t bytes) {
  CachedObject object{workload, Config{}, 7, std::make_shared<const std::vector<uint8_t>>(bytes)};
  object.config.choice[0] = choice;
  return object;
}

Config config_of(uint8_t choice) {
  Config config;
  config.choice[0] = choice;
  return config;
}

TEST_CASE("objects are found by workload and config and nothing else") {
  ObjectCache cache(1000);
  cache.add(object_of(1, 2, 10));
  cache.add(object_of(2, 2, 20));
  REQUIRE(cache.find(1, config_of(2)) != nullptr);
  CHECK(cache.find(1, config_of(2))->object->size() == 10);
  CHECK(cache.find(2, config_of(2))->object->size() == 20);
  CHECK(cache.find(1, config_of(3)) == nullptr);
  CHECK(cache.find(3, config_of(2)) == nullptr);
}

TEST_CASE("an object that was built twice takes the room of one") {
  ObjectCache cache(100);
  cache.add(object_of(0, 1, 30));
  for (int i = 0; i < 5; ++i) {
    cache.add(object_of(0, 2, 30));
  }
  CHECK(cache.find(0, config_of(1)) != nullptr);
  CHECK(cache.find(0, config_of(2)) != nullptr);
}

TEST_CASE("the oldest objects go when the capacity is reached, the newest stays whatever its size") {
  ObjectCache cache(100);
  for (uint8_t choice = 0; choice < 10; ++choice) {
    cache.add(object_of(0, choice, 30));
  }
  for (uint8_t choice = 0; choice < 7; ++choice) {
    CHECK(cache.find(0, config_of(choice)) == nullptr);
  }
  for (uint8_t choice = 7; choice < 10; ++choice) {
    CHECK(cache.find(0, config_of(choice)) != nullptr);
  }
  cache.add(object_of(0, 20, 5000));
  CHECK(cache.find(0, config_of(20)) != nullptr);
  CHECK(cache.find(0, config_of(9)) == nullptr);
}

}  // namespace
}  // namespace temper
