#include "runtime/history.h"

#include <cstddef>
#include <cstring>
#include <initializer_list>

#include "runtime/crc32.h"

namespace temper {
namespace {

// The first frame of generation 0, whole: type and length, sequence 0, CRC (tests compare it with the computed one),
// payload.
constexpr uint8_t kFirstFrame[] = {
    kFrameMagic,          1, 8, 0, 0, 0, 0, 0, 0xA6, 0x53, 0x70, 0x75, 'T', 'M', 'P', 'H', kHistoryVersion & 0xFF,
    kHistoryVersion >> 8, 0, 0,
};
constexpr uint32_t kHeaderFrame = sizeof kFirstFrame;
static_assert(kHeaderFrame == sizeof(FrameHeader) + kHeaderPayload);
constexpr uint32_t kGenerationAt = 6;  // in its payload
constexpr uint32_t kErased = 0xFF;
constexpr uint32_t kMaxStorageBytes = 0x80000000u;  // offsets plus a frame stay below 2^32
constexpr uint32_t kAlignment = 4;                  // of payloads as visitors see them

uint32_t max(uint32_t a, uint32_t b) { return a > b ? a : b; }
uint32_t min(uint32_t a, uint32_t b) { return a < b ? a : b; }

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
// that is still 1, also in the padding of `unit`, and the CRC is of any generation.
bool could_be_torn_header(uint32_t offset, uint32_t torn_start, uint8_t byte, bool flash, uint32_t unit) {
  const uint32_t position = offset - torn_start;
  if (position >= kHeaderFrame) {
    return flash && position < round_up(kHeaderFrame, unit);
  }
  const uint8_t expected = kFirstFrame[position];
  const bool in_crc = position - offsetof(FrameHeader, crc) < sizeof FrameHeader::crc;
  return flash ? in_crc || (byte & expected) == expected
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
  const uint32_t block = storage->erase_bytes;
  return unit != 0 && (block & ((block - 1) | (unit - 1))) == 0 && unit <= kMaxProgramBytes &&
         (unit & (unit - 1)) == 0 && storage->size_bytes % unit == 0 && storage->size_bytes <= kMaxStorageBytes &&
         buffer.data != nullptr && buffer.size >= history_buffer_bytes(unit);
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
  region_bytes_ = storage->size_bytes;
  failure_ = storage->erase_bytes == 0 ? find_limit(*storage, &limit) : choose_region();
  if (failure_.ok()) {
    failure_ = scan(context, visit, storage->erase_bytes == 0 ? limit : place_.begin + region_bytes_, report);
  }
  if (!failure_.ok()) {
    storage_ = nullptr;
    return failure_;
  }
  const bool unconfirmed = generation_ > 1 && report->headers < 2 && room_bytes() >= kMaxPayload;
  if (report->frames == 0 || unconfirmed) {
    (void)put_header();
  }
  report->end_offset = place_.end;
  return failure_;
}

// Where there are two regions, both are read, and the one that counts is told by its header. A header that is damaged
// does not take its region with it: there is another behind what a compaction moved; and before the first compaction,
// frames without a header are the only ones.
Status History::choose_region() {
  const uint32_t half = (storage_->size_bytes >> 1) & (0u - storage_->erase_bytes);
  if (half == 0 || storage_->erase == nullptr) {
    return {};
  }
  ScanReport report[2];
  bool foreign = false;
  region_bytes_ = half;
  for (uint32_t i = 0; i < 2; ++i) {
    place_.begin = i * half;
    const Status status = scan(nullptr, nullptr, place_.begin + half, &report[i]);
    foreign = foreign || status == TEMPER_BAD_DATA;
    if (!status.ok() && status != TEMPER_BAD_DATA) {
      return status;
    }
  }
  const uint32_t first = report[0].generation, second = report[1].generation;
  const bool headless = first == kNoGeneration && second == kNoGeneration;
  if (headless && foreign) {
    return TEMPER_BAD_DATA;
  }
  if (first == 0) {  // made before there were regions
    region_bytes_ = storage_->size_bytes;
    place_.begin = 0;
    return {};
  }
  const bool newer = first == kNoGeneration || static_cast<int16_t>(second - first) > 0;
  const bool take_second = headless ? report[0].frames == 0 && report[1].frames != 0 : second != kNoGeneration && newer;
  if (!headless && (take_second ? first : second) == kNoGeneration) {
    place_.begin = take_second ? 0 : half;
    erase_torn_header();
  }
  place_.begin = take_second ? half : 0;
  second_begin_ = half;
  generation_ = static_cast<uint16_t>(take_second ? second : first);  // what is read next may not tell it any more
  return {};
}

// A header that power cut may read as whole the next time, with nothing behind it of what was appended to the region in
// use by then. For the same reason a header that has no second is given one.
void History::erase_torn_header() {
  bool blank = read(place_.begin, kHeaderFrame).ok();
  for (uint32_t i = 0; i < kHeaderFrame; ++i) {
    blank = blank && buffer_.data[i] == kErased;
  }
  if (!blank) {
    (void)erase_block(0);
  }
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

Status History::read_next(uint32_t* offset, uint32_t limit, FrameView* frame) {
  const uint32_t unit = storage_->program_bytes;
  FrameHeader header;
  const Status status = load_frame(*offset, limit, min(max(unit, sizeof header), limit - *offset), &header);
  *frame = {};
  if (status.ok() && header.magic != 0) {
    *frame = {static_cast<FrameType>(header.type), header.sequence, {buffer_.data + sizeof header, header.bytes}};
    *offset += frame_bytes(header.bytes, unit);
  } else {
    *offset += unit;
  }
  return status;
}

// From the region's begin to `limit`.
Status History::scan(void* context, void (*visit)(void* context, const FrameView& frame), uint32_t limit,
                     ScanReport* report) {
  const uint32_t unit = storage_->program_bytes;
  const uint32_t begin = place_.begin;
  uint32_t sequence = 0;
  uint32_t last_end = begin;  // of the whole frames
  Gap gap{storage_->erase_bytes != 0, storage_->erase_bytes != 0, unit, false, begin, 0, 0};
  for (uint32_t offset = begin; offset < limit;) {
    // Only a torn or damaged header may precede the first frame: a history inside a foreign file is not ours to extend.
    if (gap.foreign && report->frames == 0 && offset > begin + round_up(kHeaderFrame, unit)) {
      return TEMPER_BAD_DATA;
    }
    const uint32_t at = offset;
    FrameView frame;
    Status status = read_next(&offset, limit, &frame);
    if (!status.ok()) {
      return status;
    }
    if (frame.payload.data == nullptr) {
      gap.skip_unit(at, buffer_.data, min(max(unit, sizeof(FrameHeader)), limit - at));
      continue;
    }
    if (frame.type == FrameType::kHeader) {
      status = check_version(frame);
      if (status.ok()) {
        ++report->headers;
        report->generation = frame.payload[kGenerationAt] + 256u * frame.payload[kGenerationAt + 1];
      } else if (report->frames == 0 || status != TEMPER_BAD_DATA) {
        return status;  // behind the first, what bears another name is one more frame to pass over
      }
    }
    if (visit != nullptr) {
      visit(context, frame);
    }
    ++report->frames;
    gap.header_due = false;
    sequence = frame.sequence + 1;
    gap.end = last_end = offset;
  }
  if (report->generation != kNoGeneration) {
    generation_ = static_cast<uint16_t>(report->generation);
  }
  // What is torn, or reads as torn, may be whole the next time: its numbers are left out. A frame takes a byte at
  // least.
  place_.sequence = report->frames == 0 ? 0 : sequence + (gap.end - last_end);
  place_.end = min(gap.end, begin + region_bytes_);
  filler_ = storage_->erase_bytes == 0 && place_.end > limit ? place_.end - limit : 0;
  report->damaged_bytes = gap.damaged_bytes;
  return report->frames == 0 && gap.foreign ? TEMPER_BAD_DATA : TEMPER_OK;
}

Status History::rescan(void* context, void (*visit)(void* context, const FrameView& frame)) {
  if (storage_ == nullptr) {
    return failure_;
  }
  ScanReport report{};
  return scan(context, visit, place_.end - filler_, &report);  // comes to the same end
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
  const Status status = storage_->program(storage_->self, place_.end - filler_, buffer_.data, filler_);
  filler_ = 0;
  failure_ = status;
  return status;
}

Status History::append_reserved(FrameType type, uint32_t payload_bytes) {
  FrameHeader header{kFrameMagic, static_cast<uint8_t>(type), static_cast<uint16_t>(payload_bytes), place_.sequence, 0};
  const uint32_t total = static_cast<uint32_t>(sizeof header) + payload_bytes;
  const uint32_t padded = round_up(total, storage_->program_bytes);
  std::memset(buffer_.data + total, 0, padded - total);
  std::memcpy(buffer_.data, &header, sizeof header);
  header.crc = frame_crc(buffer_.data, payload_bytes);
  std::memcpy(buffer_.data, &header, sizeof header);
  failure_ = padded > room_bytes() ? Status(TEMPER_STORAGE_FULL) : write(padded, header.crc);
  if (failure_.ok()) {
    place_.end += padded;
    ++place_.sequence;
  }
  return failure_;
}

// Programs the first `bytes` of the buffer, a frame with this CRC, at the end; looks whether storage kept it, and
// syncs.
Status History::write(uint32_t bytes, uint32_t crc) {
  const uint32_t at = place_.end;
  Status status = storage_->program(storage_->self, at, buffer_.data, bytes);
  FrameHeader header;
  if (status.ok()) {
    status = load_frame(at, at + bytes, sizeof header, &header);
  }
  if (status.ok() && (header.magic == 0 || header.crc != crc)) {
    status = TEMPER_STORAGE_ERROR;
  }
  return status.ok() ? Status(storage_->sync(storage_->self)) : status;
}

Status History::put_header() {
  uint8_t* payload;
  const Status status = reserve(&payload);
  if (!status.ok()) {
    return status;
  }
  std::memcpy(payload, kFirstFrame + sizeof(FrameHeader), kHeaderPayload);
  std::memcpy(payload + kGenerationAt, &generation_, sizeof generation_);
  return append_reserved(FrameType::kHeader, kHeaderPayload);
}

// The header's place is left free.
void History::start_move() {
  const uint32_t begin = second_begin_ - place_.begin;
  place_ = {begin, begin + frame_bytes(kHeaderPayload, storage_->program_bytes), 1};
}

Status History::erase_block(uint32_t block) {
  failure_ = storage_->erase(storage_->self, place_.begin + block * storage_->erase_bytes);
  if (failure_.ok()) {
    failure_ = storage_->sync(storage_->self);
  }
  return failure_;
}

// Every frame behind the header was programmed, read back and synced. The second header is for the case that the first
// is damaged one day; where power cuts it, the history is no worse.
Status History::finish_move() {
  const Place filled = place_;
  const uint16_t before = generation_;
  generation_ = static_cast<uint16_t>(generation_ == UINT16_MAX ? 1 : generation_ + 1);
  place_.end = place_.begin;
  place_.sequence = 0;
  const Status status = put_header();
  place_ = filled;
  if (!status.ok()) {
    generation_ = before;
    return status;
  }
  (void)put_header();
  return {};
}

}  // namespace temper
