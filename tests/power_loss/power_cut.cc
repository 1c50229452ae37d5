#include "tests/power_loss/power_cut.h"

#include <algorithm>

namespace temper::test {
namespace {

// A file's unsynced end: it may have grown already, and what it has grown by may hold zeros.
void tear_append(const Operation& operation, Tear tear, Dice* dice, StorageImage* image) {
  std::vector<uint8_t> tail = operation.bytes;
  const uint32_t size = static_cast<uint32_t>(tail.size());
  const uint32_t kept = dice->below(size + 1);
  if (tear == Tear::kNotBegun) {
    return;
  }
  if (tear == Tear::kBytes) {
    tail.resize(kept);
  } else if (tear == Tear::kBits) {
    const uint32_t from = dice->below(size), to = from + dice->below(size - from + 1);
    std::fill(tail.begin() + from, tail.begin() + to, uint8_t{0});
  } else {
    std::fill(tail.begin() + (tear == Tear::kUnsteady ? 0 : kept), tail.end(), uint8_t{0});
  }
  image->bytes.insert(image->bytes.end(), tail.begin(), tail.end());
}

// Where no bit was cleared for good nobody can tell that the unit was begun: it counts as erased.
void tear_program(const StorageShape& shape, const Operation& operation, Tear tear, Dice* dice, StorageImage* image) {
  const uint32_t size = static_cast<uint32_t>(operation.bytes.size());
  const uint32_t kept = dice->below(size + 1);
  const uint32_t strength = 1 + dice->below(7);
  const bool almost_done = dice->below(2) == 0;
  bool cleared = false;
  for (uint32_t i = 0; i < size; ++i) {
    uint8_t& cell = image->bytes[operation.offset + i];
    const uint8_t wanted = static_cast<uint8_t>(cell & ~operation.bytes[i]);  // bits to clear
    uint8_t done = wanted, loose = 0;
    if (tear == Tear::kNotBegun) {
      done = 0;
    } else if (tear == Tear::kBytes) {
      done = i < kept ? wanted : uint8_t{0};
    } else if (tear == Tear::kUnsteady && almost_done) {
      loose = dice->below(size) < 2 ? dice->bits(2) : uint8_t{0};
      done = static_cast<uint8_t>(wanted & ~loose);
    } else {
      done = static_cast<uint8_t>(wanted & dice->bits(strength));
      loose = tear == Tear::kUnsteady ? dice->bits(4) : uint8_t{0};
    }
    cell = static_cast<uint8_t>(cell & ~done);
    cleared = cleared || done != 0;
    if (cleared) {
      image->unsteady[operation.offset + i] = static_cast<uint8_t>(wanted & ~done & loose);
    }
  }
  if (cleared) {
    image->programmed[operation.offset / shape.program_bytes] = true;
  }
}

// However it looks: what was not erased to the end has to be erased again.
void tear_erase(const StorageShape& shape, const Operation& operation, Tear tear, Dice* dice, StorageImage* image) {
  if (tear == Tear::kNotBegun) {
    return;
  }
  const uint32_t kept = dice->below(shape.erase_bytes + 1);
  const uint32_t strength = dice->below(9);  // 0: hardly begun, 8: all but done
  for (uint32_t i = 0; i < shape.erase_bytes; ++i) {
    uint8_t& cell = image->bytes[operation.offset + i];
    if (tear == Tear::kBytes) {
      cell = i < kept ? uint8_t{0xFF} : cell;
    } else if (tear == Tear::kZeros) {
      cell = i < kept ? uint8_t{0} : cell;
    } else {
      const uint8_t old = static_cast<uint8_t>(~cell);
      cell = static_cast<uint8_t>(cell | (old & dice->bits(strength)));
      const bool loosens = tear == Tear::kUnsteady && dice->below(64) == 0;
      image->unsteady[operation.offset + i] = loosens ? static_cast<uint8_t>(old & dice->bits(4)) : uint8_t{0};
    }
  }
  std::fill_n(image->programmed.begin() + operation.offset / shape.program_bytes,
              shape.erase_bytes / shape.program_bytes, true);
  ++image->erases[operation.offset / shape.erase_bytes];
}

void tear_one(const StorageShape& shape, const Operation& operation, Tear tear, Dice* dice, StorageImage* image) {
  if (operation.kind == OperationKind::kSync) {
    return;
  }
  if (shape.is_file()) {
    tear_append(operation, tear, dice, image);
  } else if (operation.kind == OperationKind::kProgram) {
    tear_program(shape, operation, tear == Tear::kZeros ? Tear::kBits : tear, dice, image);
  } else {
    tear_erase(shape, operation, tear, dice, image);
  }
}

// What was not synced: each operation was done, was not, or is torn, but in a block nothing behind an erase that was
// not finished. A file loses its end: nothing behind what is missing.
void lose_unsynced(const StorageShape& shape, const std::vector<Operation>& pending, Tear tear, Dice* dice,
                   StorageImage* image) {
  std::vector<uint32_t> unfinished;  // blocks
  for (const Operation& operation : pending) {
    const uint32_t block = shape.is_file() ? 0 : operation.offset / shape.erase_bytes;
    if (std::find(unfinished.begin(), unfinished.end(), block) != unfinished.end()) {
      continue;
    }
    const uint32_t fate = dice->below(3);
    if (fate == 0) {
      // A unit of 0xFF that was done looks as if it was not: it may be programmed later.
      const bool looks_erased = !operation.bytes.empty() && std::all_of(operation.bytes.begin(), operation.bytes.end(),
                                                                        [](uint8_t byte) { return byte == 0xFF; });
      if (shape.is_file() || !looks_erased) {
        apply(shape, operation, image);
      }
      continue;
    }
    tear_one(shape, operation, fate == 1 ? Tear::kNotBegun : tear, dice, image);
    if (shape.is_file() || operation.kind == OperationKind::kErase) {
      unfinished.push_back(block);
    }
  }
}

}  // namespace

StorageImage CutSeries::cut(uint32_t done, Tear tear, uint64_t seed) {
  Dice dice(seed);
  const bool cached = shape_.cached || shape_.is_file();
  uint32_t settled = done;
  while (cached && settled > settled_count_ && operations_[settled - 1].kind != OperationKind::kSync) {
    --settled;
  }
  for (; settled_count_ < settled; ++settled_count_) {
    apply(shape_, operations_[settled_count_], &settled_);
  }
  StorageImage image = settled_;
  if (cached) {
    const uint32_t end = std::min(done + 1, static_cast<uint32_t>(operations_.size()));
    lose_unsynced(shape_, {operations_.begin() + settled, operations_.begin() + end}, tear, &dice, &image);
  } else if (done < operations_.size()) {
    tear_one(shape_, operations_[done], tear, &dice, &image);
  }
  return image;
}

StorageImage cut_power(const StorageShape& shape, const StorageImage& before, const std::vector<Operation>& operations,
                       uint32_t done, Tear tear, uint64_t seed) {
  return CutSeries(shape, before, operations).cut(done, tear, seed);
}

}  // namespace temper::test
