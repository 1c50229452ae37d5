// A simulated device for tests: a runner over a time landscape, with its own clock, noise, build costs and failures.
// Time passes only in its calls, so tests with hours of budget take moments and are repeatable. Host only.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/runner.h"

namespace temper::test {

enum class SimFate : uint8_t { kOk, kBuildError, kBuildHangs, kWrongResult, kCrashes, kHangs };

struct SimOptions {
  uint8_t slot_count = 4;
  uint8_t build_workers = 2;
  bool synchronous = false;  ///< results are there at once, no wait
  double noise = 0;          ///< standard deviation of the log of each run's time
  uint64_t seed = 1;
  uint64_t build_ns = 1000000;
  uint64_t overhead_ns = 50000;  ///< of each run, besides the kernel
  /// What the clock shows at a moment; nullptr: the truth. Runs are timed by it, and end by the truth.
  std::function<uint64_t(uint64_t true_ns)> clock = nullptr;
  std::function<double(uint32_t workload, const Config&)> time_ns = [](uint32_t, const Config&) { return 1e6; };
  std::function<SimFate(uint32_t workload, const Config&)> fate = [](uint32_t, const Config&) { return SimFate::kOk; };
};

class SimRunner {
 public:
  explicit SimRunner(SimOptions options) : options_(std::move(options)), state_(options_.seed * 2 + 1) {}
  SimRunner(const SimRunner&) = delete;
  SimRunner& operator=(const SimRunner&) = delete;

  Runner runner();
  static uint64_t now_ns(void* self);

  uint64_t clock_ns = 1000000000;
  uint64_t busy_polls = 0;  ///< polls that found nothing new
  uint32_t build_count = 0;
  uint32_t check_count = 0;
  uint32_t time_count = 0;
  uint32_t builds_in_flight_max = 0;
  std::vector<std::string> faults;  ///< every breach of the runner's contract
  std::vector<std::string> logged;  ///< lines of the port's log, where it is the port's self
  std::vector<std::pair<uint32_t, Config>> built;

  /// Kernels that are built or running now: 0 once a run has ended properly.
  uint32_t slots_in_use() const;

 private:
  enum class State : uint8_t { kFree, kBuilding, kReady, kFailed };
  struct Slot {
    State state = State::kFree;
    uint32_t workload = 0;
    Config config;
    uint64_t ready_ns = 0;
    bool warm = false;
  };
  uint8_t known(uint8_t slot, const char* call);
  uint64_t shown(uint64_t true_ns) const { return options_.clock ? options_.clock(true_ns) : true_ns; }
  double noise_factor();
  Status build(uint8_t slot, uint32_t workload, const Config& config);
  bool poll_build(uint8_t slot, temper_outcome* outcome, uint32_t* build_us);
  Status run(uint8_t slot, RunKind kind, uint32_t number, uint64_t limit_ns);
  bool poll_run(RunResult* result);
  void release(uint8_t slot);
  void wait(uint64_t limit_ns);

  SimOptions options_;
  uint64_t state_;
  Slot slots_[16];
  std::set<std::string> checked_;  ///< workload and config
  std::vector<uint64_t> worker_free_ns_ = std::vector<uint64_t>(16, 0);
  bool running_ = false;
  uint8_t running_slot_ = 0;
  uint64_t run_end_ns_ = 0;
  RunResult run_result_{};
};

}  // namespace temper::test
