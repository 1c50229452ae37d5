// The runner: finds or builds the variant of a config and executes it. From a pack, by the JIT in a worker, replayed or
// simulated; the tuner is the same. A table of callbacks so that the core needs no dynamic linking and hosts can supply
// their own.
#pragma once

#include <cstdint>

#include "runtime/config.h"
#include "runtime/status.h"

namespace temper {

enum class RunKind : uint8_t {
  kCheck = 0,  ///< one run on small integers into a poisoned, guarded output; outcome ok or wrong_result
  kTime = 1,   ///< `number` back-to-back calls
};

struct RunResult {
  temper_outcome outcome;  ///< ok, or why not
  uint64_t elapsed_ns;     ///< of all `number` calls together; meaningful when ok
};

/// Slots hold candidates side by side, so that builds overlap timing. The tuner never has more than one run in flight.
struct Runner {
  void* self;
  uint8_t slot_count;  ///< at least 1; rematch uses as many as there are contenders, up to slot_count

  /// Starts to find or build the kernel of `config`, which stays as it is until the build is over. The slot is free or
  /// was released.
  Status (*build)(void* self, uint8_t slot, uint32_t workload, const Config& config);
  /// False while building. True: *outcome is ok (ready to run) or why not; *build_us is what it cost.
  bool (*poll_build)(void* self, uint8_t slot, temper_outcome* outcome, uint32_t* build_us);
  /// Starts a run of a ready slot. Beyond limit_ns the runner ends it as timeout (as soon as it is able to).
  Status (*run)(void* self, uint8_t slot, RunKind kind, uint32_t number, uint64_t limit_ns);
  /// False while running.
  bool (*poll_run)(void* self, RunResult* result);
  /// Gives the slot up; cancels a build or a run of it that is in flight.
  void (*release)(void* self, uint8_t slot);
  /// Waits until something may have changed, at most limit_ns. nullptr: results are there at once.
  void (*wait)(void* self, uint64_t limit_ns);
};

}  // namespace temper
