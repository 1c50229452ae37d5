#include "tests/power_loss/history_reader.h"

#include <algorithm>
#include <array>

namespace temper::test {
namespace {

constexpr uint32_t kHeaderBytes = 12, kMostPayload = 224;
enum : uint8_t { kHeader = 1, kFingerprint, kName, kIntent, kTrial, kCommit };

uint64_t number(const uint8_t* at, uint32_t bytes) {
  uint64_t value = 0;
  for (uint32_t i = bytes; i > 0; --i) {
    value = value << 8 | at[i - 1];
  }
  return value;
}
uint16_t u16(const uint8_t* at) { return static_cast<uint16_t>(number(at, 2)); }
uint32_t u32(const uint8_t* at) { return static_cast<uint32_t>(number(at, 4)); }

// CRC-32 as of IEEE 802.3, reflected.
uint32_t checksum(uint32_t crc, const uint8_t* at, uint32_t bytes) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> made{};
    for (uint32_t byte = 0; byte < 256; ++byte) {
      uint32_t value = byte;
      for (int bit = 0; bit < 8; ++bit) {
        value = value >> 1 ^ ((value & 1u) != 0 ? 0xEDB88320u : 0u);
      }
      made[byte] = value;
    }
    return made;
  }();
  crc = ~crc;
  for (uint32_t i = 0; i < bytes; ++i) {
    crc = crc >> 8 ^ table[(crc ^ at[i]) & 0xFF];
  }
  return ~crc;
}

struct Frame {
  uint8_t type;
  uint32_t sequence;
  bool steady;
  const uint8_t* payload;
  uint32_t bytes;
};

struct Region {
  bool has_header = false;
  bool ascending = true;
  uint32_t next_sequence = 0;
  uint16_t generation = 0;
  std::vector<Frame> frames;  ///< but for headers
};

bool read_frame(const StorageImage& image, uint32_t offset, uint32_t end, Frame* frame) {
  const uint8_t* const at = image.bytes.data() + offset;
  if (end - offset < kHeaderBytes || at[0] != 0x7E) {
    return false;
  }
  const uint32_t bytes = u16(at + 2);
  if (bytes > kMostPayload || bytes > end - offset - kHeaderBytes) {
    return false;
  }
  if (checksum(checksum(0, at + 1, 7), at + kHeaderBytes, bytes) != u32(at + 8)) {
    return false;
  }
  const auto loose = image.unsteady.begin() + (image.unsteady.empty() ? 0 : offset);
  const bool steady = image.unsteady.empty() ||
                      std::all_of(loose, loose + kHeaderBytes + bytes, [](uint8_t bits) { return bits == 0; });
  *frame = {at[1], u32(at + 4), steady, at + kHeaderBytes, bytes};
  return true;
}

Region read_region(const StorageShape& shape, const StorageImage& image, uint32_t begin, uint32_t end) {
  Region region;
  for (uint32_t offset = begin; offset < end;) {
    Frame frame;
    if (!read_frame(image, offset, end, &frame)) {
      offset += shape.program_bytes;
      continue;
    }
    const uint32_t total = kHeaderBytes + frame.bytes;
    offset += (total + shape.program_bytes - 1) / shape.program_bytes * shape.program_bytes;
    if (frame.type != kHeader) {
      region.ascending = region.ascending && frame.sequence >= region.next_sequence;
      region.next_sequence = frame.sequence + 1;
      region.frames.push_back(frame);
    } else if (frame.bytes >= 8 && u32(frame.payload) == 0x48504D54u && u16(frame.payload + 4) == 1) {
      region.has_header = true;
      region.generation = u16(frame.payload + 6);
    }
  }
  return region;
}

ReadKnobs read_knobs(const uint8_t* at, uint32_t count) {
  ReadKnobs knobs;
  for (uint32_t k = 0; k < count; ++k) {
    knobs.push_back({u16(at + 4 * k), u16(at + 4 * k + 2)});
  }
  return knobs;
}

void add_record(const Frame& frame, ReadHistory* history) {
  ReadRecord record{};
  record.sequence = frame.sequence;
  record.steady = frame.steady;
  const uint8_t* const at = frame.payload;
  const auto device = [&](uint32_t ordinal) {
    return ordinal < history->devices.size() ? history->devices[ordinal] : 0;
  };
  if (frame.type == kIntent && frame.bytes >= 16) {
    record.workload = number(at, 8);
    record.knobs = read_knobs(at + 16, at[12]);
    history->intents.push_back(record);
  } else if (frame.type == kTrial && frame.bytes >= 40) {
    record.workload = number(at, 8);
    record.median_ns = number(at + 8, 8);
    record.device = device(u16(at + 28));
    record.outcome = at[30];
    record.is_default = at[33] != 0;
    record.knobs = read_knobs(at + 40, at[32]);
    history->trials.push_back(record);
  } else if (frame.type == kCommit && frame.bytes >= 32) {
    record.workload = number(at, 8);
    record.default_ns = number(at + 8, 8);
    record.tuned_ns = number(at + 16, 8);
    record.device = device(u16(at + 28));
    record.is_default = at[31] != 0;
    record.knobs = read_knobs(at + 32, at[30]);
    history->commits.push_back(record);
  } else if (frame.type == kFingerprint && frame.bytes >= 56) {
    history->devices.push_back(u32(at + 8));
  } else if (frame.type == kName) {
    ++history->names;
  }
}

}  // namespace

std::vector<ReadRecord> ReadHistory::open_intents() const {
  std::vector<ReadRecord> open;
  for (const ReadRecord& intent : intents) {
    const bool closed = std::any_of(trials.begin(), trials.end(), [&](const ReadRecord& trial) {
      return trial.workload == intent.workload && trial.knobs == intent.knobs && trial.sequence > intent.sequence;
    });
    if (!closed) {
      open.push_back(intent);
    }
  }
  return open;
}

ReadHistory read_history(const StorageShape& shape, const StorageImage& image) {
  const uint32_t size = static_cast<uint32_t>(image.bytes.size());
  const uint32_t half = shape.is_file() ? 0 : size / 2 / shape.erase_bytes * shape.erase_bytes;
  Region regions[2];
  regions[0] = read_region(shape, image, 0, half == 0 ? size : half);
  if (half != 0) {
    regions[1] = read_region(shape, image, half, 2 * half);
  }
  if (regions[0].has_header && regions[0].generation == 0) {
    regions[0] = read_region(shape, image, 0, size);  // of before there were regions
    regions[1] = {};
  }
  ReadHistory history;
  const int16_t newer = static_cast<int16_t>(regions[1].generation - regions[0].generation);
  if (regions[0].has_header == regions[1].has_header) {
    history.region = regions[0].has_header ? newer > 0 : regions[0].frames.empty();
  } else {
    history.region = regions[1].has_header;
  }
  const Region& chosen = regions[history.region];
  history.present = chosen.has_header || !chosen.frames.empty();
  history.generation = chosen.generation;
  history.ascending = chosen.ascending;
  history.frames = static_cast<uint32_t>(chosen.frames.size());
  for (const Frame& frame : chosen.frames) {
    add_record(frame, &history);
  }
  return history;
}

}  // namespace temper::test
