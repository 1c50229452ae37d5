// Objects that were built, by workload and config, so that a rematch or a released slot need not build again. Bounded
// by bytes: the oldest go first. Called by jit_runner alone.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/config.h"

namespace temper {

using ObjectBytes = std::shared_ptr<const std::vector<uint8_t>>;

struct CachedObject {
  uint32_t workload;
  Config config;
  uint32_t build_us;  ///< what it cost
  ObjectBytes object;
};

class ObjectCache {
 public:
  explicit ObjectCache(size_t capacity_bytes) : capacity_bytes_(capacity_bytes) {}

  /// The newest is kept even where it alone exceeds the capacity. One that is there already stays, the new one is
  /// dropped: a slot that was released and used again builds twice.
  void add(CachedObject object);
  /// Valid until the next add; nullptr when unknown or gone.
  const CachedObject* find(uint32_t workload, const Config& config) const;

 private:
  using Entry = std::list<CachedObject>::iterator;
  void drop_oldest();

  size_t capacity_bytes_;
  size_t bytes_ = 0;
  std::list<CachedObject> objects_;  ///< newest first
  std::unordered_multimap<uint32_t, Entry> by_hash_;
};

}  // namespace temper
