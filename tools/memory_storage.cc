#include "tools/memory_storage.h"

#include <cstring>

#include "tools/history_source.h"

namespace temper {
namespace {

temper_status refuse_program(void*, uint32_t, const void*, uint32_t) { return TEMPER_STORAGE_ERROR; }

}  // namespace

temper_status MemoryStorage::read_bytes(void* self, uint32_t offset, void* to, uint32_t bytes) {
  auto& storage = *static_cast<MemoryStorage*>(self);
  storage.last_read_ = offset;
  if (offset > storage.bytes_.size() || bytes > storage.bytes_.size() - offset) {
    return TEMPER_NOT_FOUND;
  }
  if (bytes != 0) {
    std::memcpy(to, storage.bytes_.data() + offset, bytes);
  }
  return TEMPER_OK;
}

MemoryStorage::MemoryStorage(std::vector<uint8_t> bytes, Manners manners) : bytes_(std::move(bytes)) {
  const bool flash = manners == Manners::kReadOnlyFlash;
  storage_.self = this;
  storage_.size_bytes = flash ? static_cast<uint32_t>(bytes_.size()) : kHistoryCapacityBytes;
  storage_.program_bytes = 1;
  storage_.erase_bytes = flash ? 1 : 0;
  storage_.read = read_bytes;
  storage_.program = refuse_program;
  storage_.sync = [](void*) { return TEMPER_OK; };
  if (manners == Manners::kFile) {
    storage_.program = [](void* self, uint32_t offset, const void* from, uint32_t count) {
      std::vector<uint8_t>& to = static_cast<MemoryStorage*>(self)->bytes_;
      if (offset != to.size()) {
        return TEMPER_STORAGE_ERROR;
      }
      const auto* const first = static_cast<const uint8_t*>(from);
      to.insert(to.end(), first, first + count);
      return TEMPER_OK;
    };
  }
}

}  // namespace temper
