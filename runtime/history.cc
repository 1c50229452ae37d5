#include "runtime/history.h"

#include <cstddef>
#include <cstring>

#include "runtime/crc32.h"

namespace temper {
namespace {

// The first frame, whole: type and length, sequence 0, CRC (tests compare it with the computed one), payload.
constexpr uint8_t kFirstFrame[] = {
    kFrameMagic,          1, 8, 0, 0, 0, 0, 0, 0xA6, 0x53, 0x70, 0x75, 'T', 'M', 'P', 'H', kHistoryVersion & 0xFF,
    kHistoryVersion >> 8, 0, 0,
};
constexpr uint32_t kHeaderFrame = sizeof kFirstFrame;
constexpr uint32_t kHeaderPayload = kHeaderFrame - sizeof(FrameHeader);
constexpr uint32_t kErased = 0xFF;
constexpr uint32_t kMaxStorageBytes = 0x80000000u;  // offsets plus a frame stay below 2^32
constexpr uint32_t kAlignment = 4;                  // of payloads as visitors see them

uint32_t max(uint32_t a, uint32_t b) { return a > b ? a : b; }
uint32_t min(uint32_t a, uint32_t b) { return a < b ? a : b; }

void copy(uint8_t* to, Span<const uint8_t> from) {
  if (!from.empty()) {
    std::memcpy(to, from.data, from.size);
  }
}
uint32_t round_up(uint32_t bytes, uint32_t unit) { return (bytes + unit - 1) & ~(unit - 1); }

uint32_t frame_crc(const uint8_t* frame, uint32_t payload_bytes) {
  const uint32_t crc =
      crc32(0, frame + offsetof(FrameHeader, type), offsetof(FrameHeader, crc) - offsetof(FrameHeader, type));
  return crc32(crc, frame + sizeof(FrameHeader), payload_bytes);
}

// Fills in the header of a frame whose payload already lies behind it.
void seal(uint8_t* frame, FrameType type, uint32_t payload_bytes, uint32_t sequence) {
  FrameHeader header{kFrameMagic, static_cast<uint8_t>(type), static_cast<uint16_t>(payload_bytes), sequence, 0};
  std::memcpy(frame, &header, sizeof header);
  header.crc = frame_crc(frame, payload_bytes);
  std::memcpy(frame, &header, sizeof header);
}

// The part of the storage that lies in the buffer, moved along by a scan.
struct Window {
  const temper_storage* storage;
  Span<uint8_t> buffer;
  uint32_t limit;  // bytes of the storage that can be read
  uint32_t start;  // what the buffer holds now
  uint32_t bytes;
  Status status;

  // Moves the window to `offset`. nullptr when reading failed.
  const uint8_t* load(uint32_t offset) {
    start = offset;
    bytes = min(limit - offset, static_cast<uint32_t>(buffer.size));
    status = storage->read(storage->self, offset, buffer.data, bytes);
    return status.ok() ? buffer.data : nullptr;
  }
  // `wanted` bytes at `offset`; offset + wanted is at most limit and wanted at most the buffer.
  const uint8_t* at(uint32_t offset, uint32_t wanted) {
    return offset >= start && offset + wanted <= start + bytes ? buffer.data + (offset - start) : load(offset);
  }
};

// Bytes of the frame at `offset` with its payload in place; 0 when none is whole there or reading failed.
uint32_t whole_frame(Window& window, uint32_t offset, FrameView* frame) {
  FrameHeader header;
  const uint8_t* at = window.limit - offset < sizeof header ? nullptr : window.at(offset, sizeof header);
  if (at == nullptr) {
    return 0;
  }
  std::memcpy(&header, at, sizeof header);
  const uint32_t total = static_cast<uint32_t>(sizeof header) + header.bytes;
  if (header.magic != kFrameMagic || header.bytes > kMaxPayload || total > window.limit - offset) {
    return 0;
  }
  at = window.at(offset, total);
  if (at != nullptr && (at - window.buffer.data) % kAlignment != 0) {
    at = window.load(offset);
  }
  if (at == nullptr || header.crc != frame_crc(at, header.bytes)) {
    return 0;
  }
  *frame = {static_cast<FrameType>(header.type), header.sequence, {at + sizeof header, header.bytes}};
  return total;
}

Status check_version(const FrameView& header) {
  const Span<const uint8_t> payload = header.payload;
  if (payload.size < kHeaderPayload || std::memcmp(payload.data, kFirstFrame + sizeof(FrameHeader), 4) != 0) {
    return TEMPER_BAD_DATA;
  }
  return payload[4] + 256u * payload[5] == kHistoryVersion ? TEMPER_OK : TEMPER_BAD_VERSION;
}

// Tells foreign bytes from what power cuts leave of the very first frame: torn headers, one behind the other, filled up
// with zeros on a file. A file system may also leave zeros instead of a header; on flash a bit may be half programmed,
// that is still 1.
bool could_be_torn_header(uint32_t offset, uint32_t torn_start, uint8_t byte, bool flash) {
  const uint32_t position = offset - torn_start;
  if (position >= kHeaderFrame) {
    return flash && byte == 0;
  }
  const uint8_t expected = kFirstFrame[position];
  return flash ? (byte & expected) == expected
               : byte == expected || (byte == 0 && (position != 0 || offset < kHeaderFrame));
}

// How far behind its start a torn frame may reach. The next frame must not begin before: its bytes could complete the
// torn one, or, on flash, be programmed twice, because bytes of 0xFF cannot be told from erased ones.
uint32_t torn_extent(const uint8_t* at, uint32_t available) {
  FrameHeader header{};
  std::memcpy(&header, at, min(available, sizeof header));
  return static_cast<uint32_t>(sizeof header) + (header.bytes <= kMaxPayload ? header.bytes : 0);
}

// Walks over what is no frame: erased, padding, or damage.
struct Gap {
  void skip_unit(uint32_t offset, const uint8_t* at, uint32_t available) {
    if (offset >= end) {
      torn_start = offset;
    }
    for (uint32_t i = 0; i < unit && i < available; ++i) {
      if (flash && at[i] == kErased) {
        continue;
      }
      damaged_bytes += at[i] != 0 && at[i] != kErased ? 1u : 0u;
      const bool headless = offset == torn_start && at[0] == kErased;
      foreign = foreign || headless || !could_be_torn_header(offset + i, torn_start, at[i], flash);
      end = max(end, offset + unit);
    }
    if (at[0] == kFrameMagic) {
      end = max(end, offset + round_up(torn_extent(at, available), unit));
    }
  }

  bool flash;
  uint32_t unit;
  bool foreign;         // something was neither a frame nor part of a header
  uint32_t end;         // behind everything that is not erased, and where torn frames were to end
  uint32_t torn_start;  // of what may be a torn header
  uint32_t damaged_bytes;
};

// A file ends where reads begin to fail; flash ends with its capacity. Bisection: about 32 reads of one byte.
Status find_limit(const temper_storage& storage, uint32_t* limit) {
  uint32_t low = 0, high = storage.size_bytes;
  while (storage.erase_bytes == 0 && low < high) {
    const uint32_t middle = low + (high - low) / 2;
    uint8_t byte;
    const Status status = storage.read(storage.self, middle, &byte, 1);
    if (status.ok()) {
      low = middle + 1;
    } else if (status == TEMPER_NOT_FOUND) {
      high = middle;
    } else {
      return status;
    }
  }
  *limit = high;
  return TEMPER_OK;
}

bool usable(const temper_storage* storage, Span<uint8_t> buffer) {
  if (storage == nullptr || storage->read == nullptr || storage->program == nullptr || storage->sync == nullptr) {
    return false;
  }
  const uint32_t unit = storage->program_bytes;
  return unit != 0 && unit <= kMaxProgramBytes && (unit & (unit - 1)) == 0 && storage->size_bytes % unit == 0 &&
         storage->size_bytes <= kMaxStorageBytes && buffer.data != nullptr && buffer.size >= history_buffer_bytes(unit);
}

}  // namespace

Status History::fail(Status status) {
  failure_ = status;
  return status;
}

Status History::open(const temper_storage* storage, Span<uint8_t> buffer, void* context,
                     void (*visit)(void* context, const FrameView& frame), ScanReport* report) {
  *this = History();
  *report = ScanReport{};
  if (!usable(storage, buffer)) {
    return fail(TEMPER_INVALID_ARGUMENT);
  }
  storage_ = storage;
  const size_t skip = -reinterpret_cast<uintptr_t>(buffer.data) % kAlignment;
  buffer_ = {buffer.data + skip, buffer.size - kAlignment};
  uint32_t limit = 0;
  Status status = find_limit(*storage, &limit);
  if (status.ok()) {
    status = scan(context, visit, limit, report);
  }
  if (!status.ok()) {
    return fail(status);
  }
  if (report->frames == 0) {
    status = append(FrameType::kHeader, {kFirstFrame + sizeof(FrameHeader), kHeaderPayload});
  }
  report->end_offset = end_;
  return status;
}

Status History::scan(void* context, void (*visit)(void* context, const FrameView& frame), uint32_t limit,
                     ScanReport* report) {
  const uint32_t unit = storage_->program_bytes;
  Window window{storage_, buffer_, limit, 0, 0, {}};
  Gap gap{storage_->erase_bytes != 0, unit, false, 0, 0, 0};
  for (uint32_t offset = 0; offset < limit;) {
    // Only a torn or damaged header may precede the first frame: a history inside a foreign file is not ours to extend.
    if (gap.foreign && report->frames == 0 && offset > round_up(kHeaderFrame, unit)) {
      return TEMPER_BAD_DATA;
    }
    FrameView frame{};
    const uint32_t total = whole_frame(window, offset, &frame);
    if (total != 0) {
      const Status version = frame.type == FrameType::kHeader ? check_version(frame) : Status();
      if (!version.ok()) {
        return version;
      }
      if (visit != nullptr) {
        visit(context, frame);
      }
      ++report->frames;
      sequence_ = frame.sequence + 1;
      offset += round_up(total, unit);
      gap.end = offset;
      continue;
    }
    const uint32_t wanted = max(unit, sizeof(FrameHeader));
    const uint32_t available = min(wanted, limit - offset);
    const uint8_t* at = window.status.ok() ? window.at(offset, available) : nullptr;
    if (at == nullptr) {
      return window.status;
    }
    gap.skip_unit(offset, at, available);
    offset += unit;
  }
  end_ = min(gap.end, storage_->size_bytes);
  filler_ = storage_->erase_bytes == 0 && end_ > limit ? end_ - limit : 0;
  report->damaged_bytes = gap.damaged_bytes;
  return report->frames == 0 && gap.foreign ? TEMPER_BAD_DATA : TEMPER_OK;
}

Status History::rescan(void* context, void (*visit)(void* context, const FrameView& frame)) {
  if (storage_ == nullptr || !failure_.ok()) {
    return failure_;
  }
  const History kept = *this;
  ScanReport report{};
  const Status status = scan(context, visit, end_ - filler_, &report);
  *this = kept;
  return status;
}

Status History::append(FrameType type, Span<const uint8_t> payload) { return append(type, payload, {}); }

Status History::append(FrameType type, Span<const uint8_t> head, Span<const uint8_t> tail) {
  if (!failure_.ok()) {
    return failure_;
  }
  if (storage_ == nullptr) {
    return TEMPER_NOT_FOUND;
  }
  if (head.size > kMaxPayload || tail.size > kMaxPayload - head.size) {
    return TEMPER_INVALID_ARGUMENT;
  }
  Status status = fill_up();
  uint8_t* const payload = buffer_.data + sizeof(FrameHeader);
  const uint32_t payload_bytes = static_cast<uint32_t>(head.size + tail.size);
  const uint32_t total = static_cast<uint32_t>(sizeof(FrameHeader)) + payload_bytes;
  const uint32_t padded = round_up(total, storage_->program_bytes);
  copy(payload, head);
  copy(payload + head.size, tail);
  std::memset(payload + payload_bytes, 0, padded - total);
  seal(buffer_.data, type, payload_bytes, sequence_);
  if (status.ok()) {
    status = write(padded);
  }
  if (!status.ok()) {
    return fail(status);
  }
  end_ += padded;
  ++sequence_;
  return TEMPER_OK;
}

// On a file, writes the zeros that a torn frame lacks: whatever it becomes, the next frame lies outside.
Status History::fill_up() {
  const uint32_t bytes = filler_;
  filler_ = 0;
  if (bytes == 0) {
    return TEMPER_OK;
  }
  std::memset(buffer_.data, 0, bytes);
  return storage_->program(storage_->self, end_ - bytes, buffer_.data, bytes);
}

// Programs the first `bytes` of the buffer at end_, compares what storage kept, and syncs.
Status History::write(uint32_t bytes) {
  if (bytes > storage_->size_bytes - end_) {
    return TEMPER_STORAGE_FULL;
  }
  Status status = storage_->program(storage_->self, end_, buffer_.data, bytes);
  for (uint32_t done = 0; status.ok() && done < bytes;) {
    uint8_t kept[32];
    const uint32_t part = min(bytes - done, sizeof kept);
    status = storage_->read(storage_->self, end_ + done, kept, part);
    if (status.ok() && std::memcmp(kept, buffer_.data + done, part) != 0) {
      status = TEMPER_STORAGE_ERROR;
    }
    done += part;
  }
  return status.ok() ? Status(storage_->sync(storage_->self)) : status;
}

}  // namespace temper
