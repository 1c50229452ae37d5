// What the C API tells of the history's storage; in a file of its own, so that a firmware that does not ask links none.
#include "runtime/api_context.h"

temper_status temper_get_history_info(const temper_context* t, temper_history_info* info) {
  if (t == nullptr || info == nullptr) {
    return TEMPER_INVALID_ARGUMENT;
  }
  *info = {};
  const temper::History& history = t->history;
  const temper_storage* const storage = history.storage();
  if (storage == nullptr) {
    return TEMPER_NOT_FOUND;
  }
  info->generation = history.generation();
  info->region_bytes = history.region_bytes();
  info->free_bytes = history.room_bytes();
  info->used_bytes = info->region_bytes - info->free_bytes;
  info->writable = history.writable();
  if (history.has_other_region()) {
    info->erased_blocks = (info->generation - 1) * (info->region_bytes / storage->erase_bytes);
  }
  return TEMPER_OK;
}
