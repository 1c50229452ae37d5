#include "codegen/reference_digests.h"

#include <algorithm>

namespace temper {
namespace {

constexpr uint8_t kTries = 2;

}  // namespace

void ReferenceDigests::set_known(uint32_t workload, uint32_t digest) {
  if (digest != 0) {
    entries_[workload].value = digest;
    entries_[workload].state = State::kKnown;
  }
}

void ReferenceDigests::want(uint32_t workload) {
  if (entries_[workload].state == State::kUnknown) {
    entries_[workload].state = State::kWanted;
  }
}

bool ReferenceDigests::pending(uint32_t workload) const {
  const State state = entries_[workload].state;
  return state == State::kWanted || state == State::kComputing;
}

bool ReferenceDigests::start_wanted(uint32_t workload) {
  if (entries_[workload].state != State::kWanted) {
    return false;
  }
  entries_[workload].state = State::kComputing;
  return true;
}

std::optional<uint32_t> ReferenceDigests::start_first(State state, size_t end) {
  for (uint32_t workload = 0; workload < std::min(end, entries_.size()); ++workload) {
    if (entries_[workload].state == state) {
      entries_[workload].state = State::kComputing;
      return workload;
    }
  }
  return std::nullopt;
}

std::optional<uint32_t> ReferenceDigests::start_any(uint32_t ahead) {
  const std::optional<uint32_t> wanted = start_first(State::kWanted, entries_.size());
  return wanted ? wanted : start_first(State::kUnknown, ahead);
}

void ReferenceDigests::finish(uint32_t workload, std::optional<uint32_t> digest) {
  entries_[workload].value = digest.value_or(0);
  entries_[workload].state = digest ? State::kKnown : State::kFailed;
}

void ReferenceDigests::give_up(uint32_t workload) {
  Entry& entry = entries_[workload];
  entry.state = ++entry.failures < kTries ? State::kWanted : State::kFailed;
}

}  // namespace temper
