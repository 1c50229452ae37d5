#include "tests/fuzz/repair.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <random>
#include <string_view>

#include "runtime/crc32.h"
#include "runtime/history.h"
#include "runtime/table_view.h"
#include "schedules/pack_checksum.h"

namespace temper::test {
namespace {

using Bytes = std::vector<uint8_t>;

/// What a frame that begins here would take; 0: none does.
uint32_t frame_bytes(const Bytes& bytes, size_t offset) {
  FrameHeader header;
  if (bytes.size() < offset + sizeof header) {
    return 0;
  }
  std::memcpy(&header, bytes.data() + offset, sizeof header);
  const uint32_t total = static_cast<uint32_t>(sizeof header) + header.bytes;
  return header.magic == kFrameMagic && header.bytes <= kMaxPayload && total <= bytes.size() - offset ? total : 0;
}

uint32_t crc_of(const uint8_t* frame, uint32_t bytes) {
  const uint32_t head = crc32(0, frame + offsetof(FrameHeader, type), offsetof(FrameHeader, crc) - 1);
  return crc32(head, frame + sizeof(FrameHeader), bytes - sizeof(FrameHeader));
}

void seal_frames(Bytes* bytes) {
  for (size_t offset = 0; offset < bytes->size();) {
    const uint32_t total = frame_bytes(*bytes, offset);
    if (total != 0) {
      const uint32_t crc = crc_of(bytes->data() + offset, total);
      std::memcpy(bytes->data() + offset + offsetof(FrameHeader, crc), &crc, sizeof crc);
    }
    offset += std::max(total, 1u);
  }
}

/// One structural change: what a mutation of single bytes hardly ever makes.
void move_frames(Bytes* bytes, std::minstd_rand* random) {
  const std::vector<FramePlace> frames = frames_in(*bytes, 1);
  if (frames.empty()) {
    return;
  }
  const auto any = [&] { return frames[(*random)() % frames.size()]; };
  const auto begin = [&](FramePlace f) { return bytes->begin() + f.offset; };
  const auto copy = [&](FramePlace f) { return Bytes(begin(f), begin(f) + f.bytes); };
  const FramePlace one = any(), other = any();
  const Bytes first = copy(one);
  switch ((*random)() % 4) {
    case 0:
      bytes->insert(begin(other), first.begin(), first.end());
      break;
    case 1:
      bytes->erase(begin(one), begin(one) + one.bytes);
      break;
    case 2:
      if (one.bytes == other.bytes) {
        std::swap_ranges(begin(one), begin(one) + one.bytes, begin(other));
      }
      break;
    default:
      bytes->insert(begin(other), 8 - one.bytes % 8, uint8_t{0});
  }
}

int digit(uint8_t c) {
  const std::string_view digits = "0123456789ABCDEF";
  const size_t at = digits.find(static_cast<char>(c));
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

/// Records end in two digits that make the sum of their bytes 0.
void seal_hex_records(Bytes* bytes) {
  for (size_t at = 0; at < bytes->size(); ++at) {
    if ((*bytes)[at] != ':') {
      continue;
    }
    size_t end = at + 1;
    while (end < bytes->size() && digit((*bytes)[end]) >= 0) {
      ++end;
    }
    uint8_t sum = 0;
    const size_t last = end - (end - at - 1) % 2;
    for (size_t i = at + 1; i + 4 <= last; i += 2) {
      sum = static_cast<uint8_t>(sum + digit((*bytes)[i]) * 16 + digit((*bytes)[i + 1]));
    }
    if (last >= at + 5) {
      const uint8_t check = static_cast<uint8_t>(-sum);
      (*bytes)[last - 2] = static_cast<uint8_t>("0123456789ABCDEF"[check >> 4]);
      (*bytes)[last - 1] = static_cast<uint8_t>("0123456789ABCDEF"[check & 15]);
    }
    at = end - 1;
  }
}

}  // namespace

std::vector<FramePlace> frames_in(const Bytes& bytes, uint32_t unit) {
  std::vector<FramePlace> frames;
  for (size_t offset = 0; offset < bytes.size();) {
    const uint32_t total = frame_bytes(bytes, offset);
    FrameHeader header{};
    if (total != 0) {
      std::memcpy(&header, bytes.data() + offset, sizeof header);
    }
    if (total != 0 && crc_of(bytes.data() + offset, total) == header.crc) {
      frames.push_back({static_cast<uint32_t>(offset), total});
      offset += (total + unit - 1) / unit * unit;
    } else {
      offset += unit;
    }
  }
  return frames;
}

void repair_history(Bytes* bytes, uint32_t seed) {
  std::minstd_rand random(seed);
  seal_frames(bytes);
  for (uint32_t moves = seed % 4; moves > 1; --moves) {
    move_frames(bytes, &random);
  }
}

void repair_table(Bytes* bytes, uint32_t) {
  const temper_table table{bytes->data(), bytes->size()};
  const format::TunedTable* root = nullptr;
  const char* reason = "";
  uint32_t crc = 0;
  size_t at = 0;
  // Only behind FlatBuffers' own rules is there a place to look for.
  const bool sound =
      open_table(table, &root, &reason).ok() || std::string_view(reason).find("checksum") != std::string_view::npos;
  if (sound && table_crc(table, &crc, &at)) {
    std::memcpy(bytes->data() + at, &crc, sizeof crc);
  }
}

void repair_pack(Bytes* bytes, uint32_t) { (void)seal_pack(bytes); }

void repair_source(Bytes* bytes, uint32_t seed) {
  repair_history(bytes, seed);
  seal_hex_records(bytes);
}

void leave_alone(Bytes*, uint32_t) {}

}  // namespace temper::test
