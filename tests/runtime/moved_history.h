// Moves a history to its other region as a compaction does, with less of a decision: for the tests of two regions, on
// the device and on the host. Host only.
#pragma once

#include <doctest/doctest.h>

#include "runtime/history.h"

namespace temper::test {

/// Keeps the frames whose index, without the header, `keeps`. Where the move fails, the history stays what it was.
template <class Keeps>
Status move_some(History& history, Keeps keeps) {
  const History::Place source = history.place();
  history.start_move();
  Status status;
  for (uint32_t block = 0; status.ok() && block * history.storage()->erase_bytes < history.region_bytes(); ++block) {
    status = history.erase_block(block);
  }
  uint32_t index = 0;
  for (uint32_t offset = source.begin; status.ok() && offset < source.end;) {
    FrameView frame{};
    status = history.read_next(&offset, source.end, &frame);
    if (status.ok() && frame.payload.data != nullptr && frame.type != FrameType::kHeader && keeps(index++)) {
      uint8_t* payload = nullptr;
      status = history.reserve(&payload);
      REQUIRE(payload == frame.payload.data);
      status = status.ok() ? history.append_reserved(frame.type, static_cast<uint32_t>(frame.payload.size)) : status;
    }
  }
  status = status.ok() ? history.finish_move() : status;
  if (!status.ok()) {
    history.cancel_move(source);
  }
  return status;
}

}  // namespace temper::test
