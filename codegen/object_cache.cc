#include "codegen/object_cache.h"

#include <iterator>
#include <utility>

namespace temper {

void ObjectCache::add(CachedObject object) {
  if (find(object.workload, object.config) != nullptr) {
    return;
  }
  bytes_ += object.object->size();
  const uint32_t hash = hash_config(object.config, object.workload);
  objects_.push_front(std::move(object));
  by_hash_.emplace(hash, objects_.begin());
  while (bytes_ > capacity_bytes_ && objects_.size() > 1) {
    drop_oldest();
  }
}

const CachedObject* ObjectCache::find(uint32_t workload, const Config& config) const {
  const auto [from, to] = by_hash_.equal_range(hash_config(config, workload));
  for (auto it = from; it != to; ++it) {
    if (it->second->workload == workload && it->second->config == config) {
      return &*it->second;
    }
  }
  return nullptr;
}

void ObjectCache::drop_oldest() {
  const Entry oldest = std::prev(objects_.end());
  const auto [from, to] = by_hash_.equal_range(hash_config(oldest->config, oldest->workload));
  for (auto it = from; it != to; ++it) {
    if (it->second == oldest) {
      by_hash_.erase(it);
      break;
    }
  }
  bytes_ -= oldest->object->size();
  objects_.erase(oldest);
}

}  // namespace temper
