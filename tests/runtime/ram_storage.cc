#include "tests/runtime/ram_storage.h"

#include <algorithm>
#include <cstring>

namespace temper::test {

RamStorage::RamStorage(uint32_t size_bytes, uint32_t program_bytes, uint32_t erase_bytes) {
  storage_.self = this;
  storage_.size_bytes = size_bytes;
  storage_.program_bytes = program_bytes;
  storage_.erase_bytes = erase_bytes;
  storage_.read = [](void* self, uint32_t offset, void* to, uint32_t bytes) {
    return static_cast<RamStorage*>(self)->read(offset, to, bytes);
  };
  storage_.program = [](void* self, uint32_t offset, const void* from, uint32_t bytes) {
    return static_cast<RamStorage*>(self)->program(offset, static_cast<const uint8_t*>(from), bytes);
  };
  if (erase_bytes != 0) {
    storage_.erase = [](void* self, uint32_t offset) { return static_cast<RamStorage*>(self)->erase(offset); };
    bytes_.assign(size_bytes, 0xFF);
    programmed_.assign(size_bytes, false);
  }
  storage_.sync = [](void* self) {
    RamStorage* const ram = static_cast<RamStorage*>(self);
    ++ram->syncs_;
    return ram->sync_fails || ram->operations_left_ == 0 ? TEMPER_STORAGE_ERROR : TEMPER_OK;
  };
}

void RamStorage::set_bytes(const std::vector<uint8_t>& bytes) {
  if (storage_.erase_bytes == 0) {
    bytes_ = bytes;
    programmed_.assign(bytes.size(), true);
    return;
  }
  std::copy(bytes.begin(), bytes.end(), bytes_.begin());
  std::fill_n(programmed_.begin(), bytes.size(), true);
}

temper_status RamStorage::read(uint32_t offset, void* to, uint32_t bytes) {
  if (read_fails || operations_left_ == 0) {
    return TEMPER_STORAGE_ERROR;
  }
  if (offset > bytes_.size() || bytes > bytes_.size() - offset) {
    return TEMPER_NOT_FOUND;
  }
  if (bytes != 0) {
    std::memcpy(to, bytes_.data() + offset, bytes);
  }
  return TEMPER_OK;
}

temper_status RamStorage::program(uint32_t offset, const uint8_t* from, uint32_t bytes) {
  const uint32_t unit = storage_.program_bytes;
  ++program_calls_;
  const bool inside = offset <= storage_.size_bytes && bytes <= storage_.size_bytes - offset;
  if (offset % unit != 0 || bytes % unit != 0 || !inside || (storage_.erase_bytes == 0 && offset != bytes_.size())) {
    misused_ = true;
    return TEMPER_STORAGE_ERROR;
  }
  if (read_only) {
    return TEMPER_STORAGE_ERROR;
  }
  for (uint32_t done = 0; done < bytes; done += unit) {
    const temper_status status = program_unit(offset + done, from + done);
    if (status != TEMPER_OK) {
      return status;
    }
  }
  return TEMPER_OK;
}

temper_status RamStorage::program_unit(uint32_t offset, const uint8_t* from) {
  const uint32_t unit = storage_.program_bytes;
  if (operations_left_ == 0) {
    power_failed_ = true;
    return TEMPER_STORAGE_ERROR;
  }
  if (room_bytes < unit) {
    return TEMPER_STORAGE_FULL;
  }
  room_bytes -= room_bytes == UINT32_MAX ? 0 : unit;
  operations_left_ -= operations_left_ == UINT32_MAX ? 0 : 1;
  ++operations_;
  if (storage_.erase_bytes == 0) {
    bytes_.resize(offset + unit, 0);
    programmed_.resize(offset + unit, false);
  }
  for (uint32_t i = offset; i < offset + unit; ++i) {
    if (programmed_[i]) {
      misused_ = true;
      return TEMPER_STORAGE_ERROR;
    }
    programmed_[i] = true;
    bytes_[i] = static_cast<uint8_t>(i == stuck_offset ? from[i - offset] & 0xFE : from[i - offset]);
  }
  return TEMPER_OK;
}

temper_status RamStorage::erase(uint32_t offset) {
  if (offset % storage_.erase_bytes != 0 || offset >= storage_.size_bytes) {
    misused_ = true;
    return TEMPER_STORAGE_ERROR;
  }
  if (read_only || offset == unerasable_offset || power_failed_) {
    return TEMPER_STORAGE_ERROR;
  }
  power_failed_ = operations_left_ == 0;
  const uint32_t bytes = power_failed_ ? storage_.erase_bytes / 2 : storage_.erase_bytes;
  std::fill_n(bytes_.begin() + offset, bytes, uint8_t{0xFF});
  std::fill_n(programmed_.begin() + offset, bytes, false);
  if (power_failed_) {
    return TEMPER_STORAGE_ERROR;
  }
  operations_left_ -= operations_left_ == UINT32_MAX ? 0 : 1;
  ++operations_;
  ++erases_;
  return TEMPER_OK;
}

}  // namespace temper::test
