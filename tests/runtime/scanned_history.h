// Opens a history and keeps copies of the frames it showed, for tests.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "runtime/history.h"

namespace temper::test {

struct ScannedFrame {
  FrameType type;
  uint32_t sequence;
  std::vector<uint8_t> payload;

  bool operator==(const ScannedFrame&) const = default;
};

/// An open history with its buffer. `frames` leaves the header out.
class ScannedHistory {
 public:
  explicit ScannedHistory(const temper_storage* storage) {
    status = history.open(storage, {buffer_, sizeof buffer_}, this, visit, &report);
  }
  ScannedHistory(const ScannedHistory&) = delete;
  ScannedHistory& operator=(const ScannedHistory&) = delete;

  Status append(FrameType type, const std::vector<uint8_t>& payload) {
    return history.append(type, {payload.data(), payload.size()});
  }
  std::vector<std::vector<uint8_t>> payloads() const {
    std::vector<std::vector<uint8_t>> all;
    for (const ScannedFrame& frame : frames) {
      all.push_back(frame.payload);
    }
    return all;
  }

  History history;
  Status status;
  ScanReport report{};
  std::vector<ScannedFrame> frames;
  bool aligned = true;  ///< every payload was aligned to 4 bytes

 private:
  static void visit(void* self, const FrameView& frame) {
    auto* scanned = static_cast<ScannedHistory*>(self);
    scanned->aligned = scanned->aligned && reinterpret_cast<uintptr_t>(frame.payload.data) % 4 == 0;
    if (frame.type != FrameType::kHeader) {
      scanned->frames.push_back({frame.type, frame.sequence, {frame.payload.begin(), frame.payload.end()}});
    }
  }

  alignas(8) uint8_t buffer_[kHistoryBufferBytes];
};

inline std::map<FrameType, int> count_frames(const temper_storage* storage) {
  std::map<FrameType, int> counts;
  const ScannedHistory scanned(storage);
  for (const ScannedFrame& frame : scanned.frames) {
    ++counts[frame.type];
  }
  return counts;
}

}  // namespace temper::test
