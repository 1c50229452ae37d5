// Which workloads' reference digests are known, wanted or being computed, for the runner whose builders compute them.
// Called by jit_runner alone. Never computes one itself.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace temper {

class ReferenceDigests {
 public:
  explicit ReferenceDigests(size_t workload_count) : entries_(workload_count) {}

  /// A pack brought it; 0 says that it did not.
  void set_known(uint32_t workload, uint32_t digest);
  /// A build of it was asked for.
  void want(uint32_t workload);

  bool known(uint32_t workload) const { return entries_[workload].state == State::kKnown; }
  /// Given up: computed too often in vain.
  bool failed(uint32_t workload) const { return entries_[workload].state == State::kFailed; }
  /// Wanted, and will be known or failed.
  bool pending(uint32_t workload) const;
  uint32_t value(uint32_t workload) const { return entries_[workload].value; }

  /// True when the workload is wanted and nobody computes it yet; the caller does so now.
  bool start_wanted(uint32_t workload);
  /// Likewise for the first that is wanted, else the first of the workloads before `ahead` that nobody asked for yet.
  std::optional<uint32_t> start_any(uint32_t ahead);
  /// The answer to a start; nothing: its computation failed for good.
  void finish(uint32_t workload, std::optional<uint32_t> digest);
  /// Whoever computed it died: it is wanted again, a few times.
  void give_up(uint32_t workload);

 private:
  enum class State : uint8_t { kUnknown, kWanted, kComputing, kKnown, kFailed };
  struct Entry {
    State state = State::kUnknown;
    uint32_t value = 0;
    uint8_t failures = 0;
  };
  std::optional<uint32_t> start_first(State state, size_t end);

  std::vector<Entry> entries_;
};

}  // namespace temper
