// The life of a small device through the C API: boots that tune or collect on a simulated storage, with kernels that
// cost simulated time. Tells what the caller was told, and when. Host only; one at a time.
#pragma once

#include <utility>
#include <vector>

#include "temper/temper.h"
#include "tests/power_loss/history_reader.h"
#include "tests/power_loss/sim_flash.h"
#include "tests/runtime/sim_packs.h"

namespace temper::test {

/// A workload's key and a config of it.
using Attempt = std::pair<uint64_t, ReadKnobs>;

enum class StageKind : uint8_t { kTune, kCollect };
/// What a device is to do from one boot on, until a boot completes it.
struct Stage {
  StageKind kind;
  uint32_t device;  ///< its core type; another one is another device
  uint32_t trials;  ///< of a tuning run: for each workload; of a collecting one: of all
  uint64_t seed = 1;
};

/// What the device was told to be recorded, and how much was done on the storage by then.
struct Promise {
  uint32_t operations;
  bool is_commit;
  ReadRecord record;  ///< a trial's median is about what it cost
};

/// A kernel began to run, after so many operations.
struct Execution {
  uint32_t operations;
  Attempt attempt;
};

struct BootResult {
  temper_status status;
  uint32_t trials;  ///< finished in it
  uint32_t committed;
  bool memory_only;  ///< said so
  std::vector<Promise> promises;
  std::vector<Execution> executions;  ///< one for each change of the config
};

class SimLife {
 public:
  explicit SimLife(uint32_t workload_count);

  /// Boots, does the stage to its end, or until `storage` has seen so many operations (the caller cuts there).
  BootResult boot(const Stage& stage, SimFlash* storage) const;
  uint32_t workload_count() const { return workload_count_; }

 private:
  uint32_t workload_count_;
  OpenPack pack_;
};

/// Of a call; the default's is the slowest of those that are right.
uint64_t cost_ns(const ReadKnobs& knobs);
bool is_wrong(const ReadKnobs& knobs);
inline bool is_default(const ReadKnobs& knobs) { return knobs[0].value == 1 && knobs[1].value == 1; }

}  // namespace temper::test
