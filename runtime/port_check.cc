#include "temper/port_check.h"

#include <cstring>

namespace {

constexpr uint32_t kMaxClockReads = 1u << 20;
constexpr uint32_t kWantedSteps = 64;
constexpr uint64_t kWantedNs = 25000000;  // long enough to see a counter of a hundred to a second start again twice
constexpr uint64_t kLargestStepNs = 1000000000;
constexpr uint32_t kThreadIndices = 13;
constexpr uint32_t kMinUnit = 32, kMaxUnit = 256;  // bytes that are written and read at once

temper_status fail(temper_port_report* report, temper_status status, const char* reason) {
  report->reason = reason;
  return status;
}

temper_status check_clock(const temper_port& port, temper_port_report* report) {
  if (port.now_ns == nullptr) {
    return fail(report, TEMPER_PORT_ERROR, "clock: now_ns is NULL; every port needs a clock");
  }
  const uint64_t start = port.now_ns(port.self);
  uint64_t last = start;
  uint64_t smallest = UINT64_MAX;
  uint32_t steps = 0;
  for (uint32_t reads = 0; reads < kMaxClockReads && (steps < kWantedSteps || last - start < kWantedNs); ++reads) {
    const uint64_t now = port.now_ns(port.self);
    if (now < last) {
      return fail(report, TEMPER_PORT_ERROR,
                  "clock: it ran backwards; look at how a wrap of the counter is carried into the upper bits");
    }
    if (now - last > kLargestStepNs) {
      return fail(
          report, TEMPER_PORT_ERROR,
          "clock: it jumped by more than a second; look at how a wrap of the counter is carried, and at the unit");
    }
    if (now != last) {
      ++steps;
      smallest = now - last < smallest ? now - last : smallest;
    }
    last = now;
  }
  if (steps == 0) {
    return fail(report, TEMPER_PORT_ERROR, "clock: it stands still; is the timer started and clocked?");
  }
  report->clock_resolution_ns = smallest;
  if (smallest > TEMPER_COARSEST_CLOCK_NS) {
    return fail(report, TEMPER_PORT_ERROR,
                "clock: too coarse; take a timer that counts at least every 50 us, not the scheduler's tick");
  }
  return TEMPER_OK;
}

void count_index(void* context, uint32_t index) { ++static_cast<uint8_t*>(context)[index]; }

temper_status check_threads(const temper_port& port, uint8_t* memory, temper_port_report* report) {
  if (port.parallel_for == nullptr) {
    return TEMPER_OK;
  }
  std::memset(memory, 0, kThreadIndices);
  port.parallel_for(port.self, kThreadIndices, count_index, memory);
  for (uint32_t i = 0; i < kThreadIndices; ++i) {
    if (memory[i] != 1) {
      return fail(report, TEMPER_PORT_ERROR,
                  "threads: parallel_for must call its body once for each index and return when all calls are done");
    }
  }
  return TEMPER_OK;
}

bool power_of_two(uint32_t value) { return value != 0 && (value & (value - 1)) == 0; }

const char* fault_of_sizes(const temper_storage& storage) {
  if (storage.read == nullptr || storage.program == nullptr || storage.sync == nullptr) {
    return "storage: read, program and sync must not be NULL";
  }
  if (!power_of_two(storage.program_bytes) || storage.program_bytes > kMaxUnit) {
    return "storage: program_bytes must be a power of two from 1 to 256";
  }
  if (storage.size_bytes == 0) {
    return "storage: size_bytes is 0; a board without storage has NULL in its port";
  }
  if (storage.erase_bytes == 0) {
    return nullptr;
  }
  if (storage.erase == nullptr) {
    return "storage: erase is NULL, but erase_bytes is not 0";
  }
  if (!power_of_two(storage.erase_bytes) || storage.erase_bytes < storage.program_bytes ||
      storage.size_bytes % storage.erase_bytes != 0) {
    return "storage: erase_bytes must be a power of two, at least program_bytes, that divides size_bytes";
  }
  return nullptr;
}

/// Tries one erase block, and the one before it where that is free.
class StorageTest {
 public:
  StorageTest(const temper_storage* storage, uint8_t* memory, temper_port_report* report)
      : storage_(*storage), pattern_(memory), found_(memory + kMaxUnit), report_(report) {
    const uint32_t wished = storage->program_bytes < kMinUnit ? kMinUnit : storage->program_bytes;
    unit_bytes_ = wished < storage->erase_bytes ? wished : storage->erase_bytes;
  }

  temper_status read(uint32_t offset, uint32_t bytes) {
    const temper_status status = storage_.read(storage_.self, offset, found_, bytes);
    return status == TEMPER_OK ? status : storage_fault("storage: it cannot be read");
  }

  /// The last block that is erased, or that this test left written; TEMPER_PORT_READ_STORAGE when there is none. Never
  /// the first block: a history starts there.
  temper_status find_block(uint32_t* block) {
    for (uint32_t at = storage_.size_bytes - storage_.erase_bytes; at > 0; at -= storage_.erase_bytes) {
      Contents contents = Contents::kForeign;
      const temper_status status = inspect(at, &contents);
      if (status != TEMPER_OK || contents != Contents::kForeign) {
        *block = at;
        return status;
      }
    }
    *block = TEMPER_PORT_READ_STORAGE;
    return TEMPER_OK;
  }

  /// What is found first counts, but the block is left erased in any case.
  temper_status run(uint32_t block, bool may_use_neighbour) {
    temper_status status = make_erased(block);
    if (status != TEMPER_OK) {
      return status;
    }
    status = write_block(block);
    if (status == TEMPER_OK && may_use_neighbour) {
      status = try_neighbour(block);
    }
    const char* const reason = report_->reason;
    const temper_status erased = erase(block);
    if (status != TEMPER_OK) {
      report_->reason = reason;
      return status;
    }
    report_->written_block = block;
    return erased;
  }

 private:
  enum class Contents { kErased, kOurs, kForeign };

  temper_status storage_fault(const char* reason) { return fail(report_, TEMPER_STORAGE_ERROR, reason); }

  /// Ours is also what a power failure left of a unit that was being programmed: bits that fell are bits of the
  /// pattern; and of a block that was being erased: its last unit may be left.
  temper_status inspect(uint32_t block, Contents* contents) {
    *contents = Contents::kErased;
    for (uint32_t at = 0; at < storage_.erase_bytes && *contents == Contents::kErased; at += unit_bytes_) {
      const temper_status status = read(block + at, unit_bytes_);
      if (status != TEMPER_OK) {
        return status;
      }
      if (!all_erased()) {
        const bool is_written = at == 0 || at == storage_.erase_bytes - unit_bytes_;
        fill_pattern(block + at);
        *contents = is_written && unit_bytes_ >= kMinUnit && within_pattern() ? Contents::kOurs : Contents::kForeign;
      }
    }
    return TEMPER_OK;
  }

  bool within_pattern() const {
    for (uint32_t i = 0; i < unit_bytes_; ++i) {
      if ((found_[i] & pattern_[i]) != pattern_[i]) {
        return false;
      }
    }
    return true;
  }

  bool all_erased() const {
    for (uint32_t i = 0; i < unit_bytes_; ++i) {
      if (found_[i] != 0xFF) {
        return false;
      }
    }
    return true;
  }

  temper_status make_erased(uint32_t block) {
    Contents contents = Contents::kForeign;
    const temper_status status = inspect(block, &contents);
    return status == TEMPER_OK && contents != Contents::kErased ? erase(block) : status;
  }

  temper_status erase(uint32_t block) {
    if (storage_.erase(storage_.self, block) != TEMPER_OK) {
      return storage_fault("storage: a block cannot be erased");
    }
    Contents contents = Contents::kForeign;
    const temper_status status = inspect(block, &contents);
    return status == TEMPER_OK && contents != Contents::kErased
               ? storage_fault("storage: an erased block must read 0xFF, all of it")
               : status;
  }

  /// Bits of both kinds in every byte, and no unit like another.
  void fill_pattern(uint32_t offset) {
    for (uint32_t i = 0; i < unit_bytes_; ++i) {
      pattern_[i] = static_cast<uint8_t>((offset >> 2) + (offset >> 11) + i * 37 + (i % 2 == 0 ? 0x55 : 0xAA));
    }
  }

  temper_status program(uint32_t offset) {
    fill_pattern(offset);
    if (storage_.program(storage_.self, offset, pattern_, unit_bytes_) != TEMPER_OK) {
      return storage_fault("storage: an erased page cannot be programmed");
    }
    return storage_.sync(storage_.self) == TEMPER_OK ? TEMPER_OK : storage_fault("storage: sync fails");
  }

  temper_status expect_kept(uint32_t offset, const char* reason) {
    fill_pattern(offset);
    const temper_status status = read(offset, unit_bytes_);
    return status == TEMPER_OK && std::memcmp(pattern_, found_, unit_bytes_) != 0 ? storage_fault(reason) : status;
  }

  temper_status expect_erased(uint32_t offset, const char* reason) {
    const temper_status status = read(offset, unit_bytes_);
    return status == TEMPER_OK && !all_erased() ? storage_fault(reason) : status;
  }

  /// A part smaller than size_bytes answers at several addresses.
  temper_status expect_no_mirror(uint32_t block) {
    fill_pattern(block);
    for (uint32_t distance = storage_.erase_bytes; distance != 0 && distance < storage_.size_bytes; distance *= 2) {
      const uint32_t other = block ^ distance;
      if (other >= storage_.size_bytes) {
        continue;
      }
      const temper_status status = read(other, unit_bytes_);
      if (status != TEMPER_OK) {
        return status;
      }
      if (unit_bytes_ >= kMinUnit && std::memcmp(pattern_, found_, unit_bytes_) == 0) {
        return storage_fault(
            "storage: what is written to one block appears in another; is size_bytes that of the part?");
      }
    }
    return TEMPER_OK;
  }

  temper_status write_block(uint32_t block) {
    const uint32_t last = block + storage_.erase_bytes - unit_bytes_;
    const uint32_t second = block + unit_bytes_;
    const char* const lost = "storage: it does not keep what was written";
    temper_status status = program(block);
    if (status == TEMPER_OK && second < last) {
      status = expect_erased(second, "storage: programming a page changed the one behind it; see program_bytes");
    }
    if (status == TEMPER_OK && last != block) {
      status = program(last);
    }
    if (status == TEMPER_OK) {
      status = expect_kept(block, lost);
    }
    if (status == TEMPER_OK) {
      status = expect_kept(last, lost);
    }
    return status == TEMPER_OK ? expect_no_mirror(block) : status;
  }

  /// A part whose blocks are larger than erase_bytes loses the neighbour's contents too.
  temper_status try_neighbour(uint32_t block) {
    const uint32_t neighbour = block - storage_.erase_bytes;
    Contents contents = Contents::kForeign;
    temper_status status = neighbour == 0 ? TEMPER_OK : inspect(neighbour, &contents);
    if (status != TEMPER_OK || contents == Contents::kForeign) {
      return status;
    }
    status = make_erased(neighbour);
    if (status == TEMPER_OK) {
      status = program(neighbour);
    }
    if (status == TEMPER_OK) {
      status = erase(block);
    }
    if (status == TEMPER_OK) {
      status = expect_kept(neighbour, "storage: erasing a block changed the one before it; see erase_bytes");
    }
    const temper_status erased = status == TEMPER_OK ? erase(neighbour) : storage_.erase(storage_.self, neighbour);
    return status == TEMPER_OK ? erased : status;
  }

  const temper_storage& storage_;
  uint8_t* pattern_;     ///< kMaxUnit bytes: what is written
  uint8_t* found_;       ///< kMaxUnit bytes: what is read
  uint32_t unit_bytes_;  ///< written and read at once
  temper_port_report* report_;
};

temper_status check_storage(const temper_port& port, uint32_t block, uint8_t* memory, temper_port_report* report) {
  if (port.storage == nullptr) {
    return TEMPER_OK;
  }
  const temper_storage& storage = *port.storage;
  const char* const fault = fault_of_sizes(storage);
  if (fault != nullptr) {
    return fail(report, TEMPER_PORT_ERROR, fault);
  }
  if (storage.erase_bytes == 0) {
    const temper_status status = storage.read(storage.self, 0, memory, 1);
    return status == TEMPER_OK || status == TEMPER_NOT_FOUND
               ? TEMPER_OK
               : fail(report, TEMPER_STORAGE_ERROR, "storage: the file cannot be read");
  }
  StorageTest test(&storage, memory, report);
  const bool choose = block == TEMPER_PORT_FREE_BLOCK;
  if (choose) {
    const temper_status status = test.find_block(&block);
    if (status != TEMPER_OK) {
      return status;
    }
  }
  if (block == TEMPER_PORT_READ_STORAGE) {
    return test.read(0, storage.program_bytes);
  }
  if (block % storage.erase_bytes != 0 || block >= storage.size_bytes) {
    return fail(report, TEMPER_INVALID_ARGUMENT, "storage: the block given to the test is not one of the storage");
  }
  return test.run(block, choose);
}

}  // namespace

temper_status temper_check_port(const temper_port* port, uint32_t block, void* memory, temper_port_report* report) {
  if (port == nullptr || memory == nullptr || report == nullptr) {
    return TEMPER_INVALID_ARGUMENT;
  }
  *report = {"ok", 0, TEMPER_PORT_READ_STORAGE};
  temper_status status = check_clock(*port, report);
  if (status == TEMPER_OK) {
    status = check_threads(*port, static_cast<uint8_t*>(memory), report);
  }
  return status == TEMPER_OK ? check_storage(*port, block, static_cast<uint8_t*>(memory), report) : status;
}
