#include "runtime/history.h"

#include <cstddef>
#include <cstring>
#include <initializer_list>

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

uint32_t round_up(uint32_t bytes, uint32_t unit) { return (bytes + unit - 1) & ~(unit - 1); }

uint32_t frame_crc(const uint8_t* frame, uint32_t payload_bytes) {
  const uint32_t crc =
      crc32(0, frame + offsetof(FrameHeader, type), offsetof(FrameHeader, crc) - offsetof(FrameHeader, type));
  return crc32(crc, frame + sizeof(FrameHeader), payload_bytes);
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
// that is still 1, also in the padding of `unit`.
bool could_be_torn_header(uint32_t offset, uint32_t torn_start, uint8_t byte, bool flash, uint32_t unit) {
  const uint32_t position = offset - torn_start;
  if (position >= kHeaderFrame) {
    return flash && position < round_up(kHeaderFrame, unit);
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
      torn_start = header_due ? end : offset;  // any unit may be missing, the first one too
    }
    for (uint32_t i = 0; i < unit && i < available; ++i) {
      if (flash && at[i] == kErased) {
        continue;
      }
      damaged_bytes += at[i] != 0 && at[i] != kErased ? 1u : 0u;
      foreign = foreign || !could_be_torn_header(offset + i, torn_start, at[i], flash, unit);
      end = max(end, header_due && !foreign ? torn_start + round_up(kHeaderFrame, unit) : offset + unit);
    }
    if (at[0] == kFrameMagic) {
      end = max(end, offset + round_up(torn_extent(at, available), unit));
    }
  }

  bool flash;
  bool header_due;  // on flash, and no frame was seen: what is torn is a header
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

Status History::open(const temper_storage* storage, Span<uint8_t> buffer, void* context,
                     void (*visit)(void* context, const FrameView& frame), ScanReport* report) {
  *this = History();
  *report = ScanReport{};
  failure_ = TEMPER_INVALID_ARGUMENT;
  if (!usable(storage, buffer)) {
    return failure_;
  }
  storage_ = storage;
  const size_t skip = -reinterpret_cast<uintptr_t>(buffer.data) % kAlignment;
  buffer_ = {buffer.data + skip, buffer.size - kAlignment};
  uint32_t limit = 0;
  failure_ = find_limit(*storage, &limit);
  if (failure_.ok()) {
    failure_ = scan(context, visit, limit, report);
  }
  if (failure_.ok() && report->frames == 0) {
    uint8_t* payload;
    failure_ = reserve(&payload);
    if (failure_.ok()) {
      std::memcpy(payload, kFirstFrame + sizeof(FrameHeader), kHeaderPayload);
      failure_ = append_reserved(FrameType::kHeader, kHeaderPayload);
    }
  }
  report->end_offset = end_;
  return failure_;
}

Status History::read(uint32_t offset, uint32_t bytes) {
  return storage_->read(storage_->self, offset, buffer_.data, bytes);
}

// Reads what starts at `offset`: a frame that ends at `limit` or before, whole, else at least `available` bytes, and
// then header->magic is 0.
Status History::load_frame(uint32_t offset, uint32_t limit, uint32_t available, FrameHeader* header) {
  header->magic = 0;
  Status status = read(offset, available);
  if (!status.ok() || available < sizeof *header) {
    return status;
  }
  FrameHeader found;
  std::memcpy(&found, buffer_.data, sizeof found);
  const uint32_t total = static_cast<uint32_t>(sizeof found) + found.bytes;
  if (found.magic != kFrameMagic || found.bytes > kMaxPayload || total > limit - offset) {
    return status;
  }
  status = read(offset, total);
  if (status.ok() && found.crc == frame_crc(buffer_.data, found.bytes)) {
    *header = found;
  }
  return status;
}

Status History::scan(void* context, void (*visit)(void* context, const FrameView& frame), uint32_t limit,
                     ScanReport* report) {
  const uint32_t unit = storage_->program_bytes;
  uint32_t sequence = 0;
  Gap gap{storage_->erase_bytes != 0, storage_->erase_bytes != 0, unit, false, 0, 0, 0};
  for (uint32_t offset = 0; offset < limit;) {
    // Only a torn or damaged header may precede the first frame: a history inside a foreign file is not ours to extend.
    if (gap.foreign && report->frames == 0 && offset > round_up(kHeaderFrame, unit)) {
      return TEMPER_BAD_DATA;
    }
    const uint32_t available = min(max(unit, sizeof(FrameHeader)), limit - offset);
    FrameHeader header;
    Status status = load_frame(offset, limit, available, &header);
    if (!status.ok()) {
      return status;
    }
    if (header.magic == 0) {
      gap.skip_unit(offset, buffer_.data, available);
      offset += unit;
      continue;
    }
    const FrameView frame{
        static_cast<FrameType>(header.type), header.sequence, {buffer_.data + sizeof header, header.bytes}};
    status = frame.type == FrameType::kHeader ? check_version(frame) : status;
    if (!status.ok()) {
      return status;
    }
    if (visit != nullptr) {
      visit(context, frame);
    }
    ++report->frames;
    gap.header_due = false;
    sequence = frame.sequence + 1;
    offset += round_up(static_cast<uint32_t>(sizeof header) + header.bytes, unit);
    gap.end = offset;
  }
  sequence_ = sequence;
  end_ = min(gap.end, storage_->size_bytes);
  filler_ = storage_->erase_bytes == 0 && end_ > limit ? end_ - limit : 0;
  report->damaged_bytes = gap.damaged_bytes;
  return report->frames == 0 && gap.foreign ? TEMPER_BAD_DATA : TEMPER_OK;
}

Status History::rescan(void* context, void (*visit)(void* context, const FrameView& frame)) {
  if (storage_ == nullptr || !failure_.ok()) {
    return failure_;
  }
  ScanReport report{};
  return scan(context, visit, end_ - filler_, &report);  // comes to the same end
}

Status History::append(FrameType type, Span<const uint8_t> head, Span<const uint8_t> tail) {
  if (head.size > kMaxPayload || tail.size > kMaxPayload - head.size) {
    return TEMPER_INVALID_ARGUMENT;
  }
  uint8_t* payload;
  const Status status = reserve(&payload);
  if (!status.ok()) {
    return status;
  }
  for (const Span<const uint8_t>& part : {head, tail}) {
    if (!part.empty()) {
      std::memcpy(payload, part.data, part.size);
      payload += part.size;
    }
  }
  return append_reserved(type, static_cast<uint32_t>(head.size + tail.size));
}

// On a file, first writes the zeros that a torn frame lacks: whatever it becomes, the next frame lies outside.
Status History::reserve(uint8_t** payload) {
  if (storage_ == nullptr || !failure_.ok()) {
    return failure_.ok() ? TEMPER_NOT_FOUND : failure_;
  }
  *payload = buffer_.data + sizeof(FrameHeader);
  if (filler_ == 0) {
    return {};
  }
  std::memset(buffer_.data, 0, filler_);
  const Status status = storage_->program(storage_->self, end_ - filler_, buffer_.data, filler_);
  filler_ = 0;
  failure_ = status;
  return status;
}

Status History::append_reserved(FrameType type, uint32_t payload_bytes) {
  FrameHeader header{kFrameMagic, static_cast<uint8_t>(type), static_cast<uint16_t>(payload_bytes), sequence_, 0};
  const uint32_t total = static_cast<uint32_t>(sizeof header) + payload_bytes;
  const uint32_t padded = round_up(total, storage_->program_bytes);
  std::memset(buffer_.data + total, 0, padded - total);
  std::memcpy(buffer_.data, &header, sizeof header);
  header.crc = frame_crc(buffer_.data, payload_bytes);
  std::memcpy(buffer_.data, &header, sizeof header);
  failure_ = padded > storage_->size_bytes - end_ ? Status(TEMPER_STORAGE_FULL) : write(padded, header.crc);
  if (failure_.ok()) {
    end_ += padded;
    ++sequence_;
  }
  return failure_;
}

// Programs the first `bytes` of the buffer, a frame with this CRC, at end_; looks whether storage kept it, and syncs.
Status History::write(uint32_t bytes, uint32_t crc) {
  Status status = storage_->program(storage_->self, end_, buffer_.data, bytes);
  FrameHeader header;
  if (status.ok()) {
    status = load_frame(end_, end_ + bytes, sizeof header, &header);
  }
  if (status.ok() && (header.magic == 0 || header.crc != crc)) {
    status = TEMPER_STORAGE_ERROR;
  }
  return status.ok() ? Status(storage_->sync(storage_->self)) : status;
}

}  // namespace temper
