#include "tests/power_loss/sim_flash.h"

#include <algorithm>
#include <utility>

namespace temper::test {
namespace {

SimFlash* self_of(void* self) { return static_cast<SimFlash*>(self); }

}  // namespace

StorageImage::StorageImage(const StorageShape& shape) {
  if (!shape.is_file()) {
    bytes.assign(shape.size_bytes, 0xFF);
    unsteady.assign(shape.size_bytes, 0);
    programmed.assign(shape.size_bytes / shape.program_bytes, false);
    erases.assign(shape.size_bytes / shape.erase_bytes, 0);
  }
}

void apply(const StorageShape& shape, const Operation& operation, StorageImage* image) {
  if (operation.kind == OperationKind::kSync) {
    return;
  }
  if (shape.is_file()) {
    image->bytes.insert(image->bytes.end(), operation.bytes.begin(), operation.bytes.end());
    return;
  }
  if (operation.kind == OperationKind::kProgram) {
    for (uint32_t i = 0; i < operation.bytes.size(); ++i) {
      image->bytes[operation.offset + i] &= operation.bytes[i];
    }
    image->programmed[operation.offset / shape.program_bytes] = true;
    return;
  }
  const uint32_t units = shape.erase_bytes / shape.program_bytes;
  std::fill_n(image->bytes.begin() + operation.offset, shape.erase_bytes, uint8_t{0xFF});
  std::fill_n(image->unsteady.begin() + operation.offset, shape.erase_bytes, uint8_t{0});
  std::fill_n(image->programmed.begin() + operation.offset / shape.program_bytes, units, false);
  ++image->erases[operation.offset / shape.erase_bytes];
}

SimFlash::SimFlash(const StorageShape& shape, StorageImage image, uint64_t seed)
    : shape_(shape), image_(std::move(image)), dice_(seed) {
  storage_.self = this;
  storage_.size_bytes = shape.size_bytes;
  storage_.program_bytes = shape.program_bytes;
  storage_.erase_bytes = shape.erase_bytes;
  storage_.read = [](void* self, uint32_t offset, void* to, uint32_t bytes) {
    return self_of(self)->read(offset, static_cast<uint8_t*>(to), bytes);
  };
  storage_.program = [](void* self, uint32_t offset, const void* from, uint32_t bytes) {
    return self_of(self)->program(offset, static_cast<const uint8_t*>(from), bytes);
  };
  if (!shape.is_file()) {
    storage_.erase = [](void* self, uint32_t offset) { return self_of(self)->erase(offset); };
  }
  storage_.sync = [](void* self) {
    self_of(self)->operations_.push_back({OperationKind::kSync, 0, {}});
    return TEMPER_OK;
  };
}

void SimFlash::wear_out_after(uint32_t erases, WornOut how, uint64_t part) {
  Dice dice(part);
  endurance_.clear();
  for (size_t block = 0; block < image_.erases.size(); ++block) {
    endurance_.push_back(erases + dice.below(4));
  }
  worn_out_ = how;
}

bool SimFlash::worn(uint32_t offset) const {
  const uint32_t block = shape_.is_file() ? 0 : offset / shape_.erase_bytes;
  return !endurance_.empty() && image_.erases[block] > endurance_[block];
}

temper_status SimFlash::refuse(const char* what, uint32_t offset, uint32_t bytes) {
  faults_.push_back(std::string(what) + ": " + std::to_string(bytes) + " bytes at " + std::to_string(offset));
  return TEMPER_STORAGE_ERROR;
}

temper_status SimFlash::read(uint32_t offset, uint8_t* to, uint32_t bytes) {
  const size_t size = image_.bytes.size();
  if (offset > size || bytes > size - offset) {
    return shape_.is_file() ? TEMPER_NOT_FOUND : refuse("read outside", offset, bytes);
  }
  for (uint32_t i = 0; i < bytes; ++i) {
    const uint8_t loose = shape_.is_file() ? uint8_t{0} : image_.unsteady[offset + i];
    to[i] = loose == 0 ? image_.bytes[offset + i]
                       : static_cast<uint8_t>((image_.bytes[offset + i] & ~loose) | (dice_.bits(4) & loose));
  }
  return TEMPER_OK;
}

temper_status SimFlash::program(uint32_t offset, const uint8_t* from, uint32_t bytes) {
  const uint32_t unit = shape_.program_bytes;
  const bool inside = offset <= shape_.size_bytes && bytes <= shape_.size_bytes - offset;
  if (offset % unit != 0 || bytes % unit != 0 || bytes == 0 || !inside) {
    return refuse("program unaligned or outside", offset, bytes);
  }
  if (shape_.is_file()) {
    if (offset != image_.bytes.size()) {
      return refuse("program of a file elsewhere than at its end", offset, bytes);
    }
    operations_.push_back({OperationKind::kProgram, offset, {from, from + bytes}});
    apply(shape_, operations_.back(), &image_);
    return TEMPER_OK;
  }
  for (uint32_t done = 0; done < bytes; done += unit) {
    if (image_.programmed[(offset + done) / unit]) {
      return refuse("program of what was programmed before", offset + done, unit);
    }
    operations_.push_back({OperationKind::kProgram, offset + done, {from + done, from + done + unit}});
    std::vector<uint8_t>& kept = operations_.back().bytes;
    if (worn(offset) && worn_out_ == WornOut::kProgramFails) {
      has_failed_ = true;
      for (uint8_t& byte : kept) {
        byte = static_cast<uint8_t>(byte | dice_.bits(2));
      }
    }
    apply(shape_, operations_.back(), &image_);
    has_failed_ = has_failed_ || !std::equal(kept.begin(), kept.end(), image_.bytes.begin() + offset + done);
    if (worn(offset) && worn_out_ == WornOut::kProgramFails) {
      return TEMPER_STORAGE_ERROR;
    }
  }
  return TEMPER_OK;
}

temper_status SimFlash::erase(uint32_t offset) {
  if (offset % shape_.erase_bytes != 0 || offset >= shape_.size_bytes) {
    return refuse("erase unaligned or outside", offset, shape_.erase_bytes);
  }
  const std::vector<uint8_t> before(image_.bytes.begin() + offset, image_.bytes.begin() + offset + shape_.erase_bytes);
  operations_.push_back({OperationKind::kErase, offset, {}});
  apply(shape_, operations_.back(), &image_);
  if (!worn(offset) || worn_out_ == WornOut::kProgramFails) {
    return TEMPER_OK;
  }
  const bool fails = worn_out_ == WornOut::kEraseFails;
  has_failed_ = has_failed_ || fails;  // bits that stick are found when they are programmed
  for (uint32_t i = 0; i < shape_.erase_bytes; ++i) {
    // Few bits stick, in few bytes; an erase that fails leaves about half of what was there.
    const uint8_t back = fails ? dice_.bits(4) : dice_.below(32) == 0 ? dice_.bits(7) : uint8_t{0xFF};
    image_.bytes[offset + i] = static_cast<uint8_t>(fails ? before[i] | back : back);
  }
  if (fails) {
    std::fill_n(image_.programmed.begin() + offset / shape_.program_bytes, shape_.erase_bytes / shape_.program_bytes,
                true);
  }
  return fails ? TEMPER_STORAGE_ERROR : TEMPER_OK;
}

}  // namespace temper::test
