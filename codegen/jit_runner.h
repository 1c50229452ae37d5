// The host's runner (runtime/runner.h): builder processes turn configs into machine code side by side, one timing
// process loads, checks and times it. Called by the tuner through the callback table, by `temper bench` directly. A
// candidate that crashes, hangs or overwrites memory costs its own trial: the process is started anew and the other
// slots are loaded again from objects kept here. Never forks the application, never runs a candidate in it. Belongs to
// one thread, with which its processes end. Times are real: it waits in poll(2).
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "codegen/object_cache.h"
#include "codegen/reference_digests.h"
#include "codegen/worker_process.h"
#include "runtime/runner.h"
#include "runtime/tuner.h"

namespace temper {

struct JitRunnerOptions {
  WorkerCommand command;
  uint32_t builders = 1;
  int builder_niceness = 0;                  ///< raise where builders and timed threads share cores
  uint64_t build_limit_ns = 10'000'000'000;  ///< a build beyond this is a timeout
  uint64_t digest_limit_ns = 300'000'000'000;
  uint64_t prepare_limit_ns = 20'000'000'000;     ///< linking, filling tensors, packing constants before a run
  uint64_t grace_ns = 50'000'000;                 ///< a run may exceed its limit by this before its process is killed
  size_t cached_object_bytes = size_t{64} << 20;  ///< objects kept so that a rematch need not build again
};

/// What the work cost; for reports.
struct JitRunnerCosts {
  uint32_t builds = 0, builds_from_cache = 0, checks = 0, timings = 0, digests = 0;
  uint64_t build_ns = 0;   ///< as the builders measured it, summed over builders
  uint64_t check_ns = 0;   ///< from request to answer, preparation included
  uint64_t timing_ns = 0;  ///< likewise
  uint64_t kernel_ns = 0;  ///< the part of timing_ns that kernels ran, warm-up not counted
  uint64_t digest_ns = 0;  ///< the reference of each workload, in the builders
  uint32_t builder_restarts = 0, timer_restarts = 0;
};

class JitRunner {
 public:
  /// `pack` (8-byte aligned) and its bytes are copied. `workloads`: canonical texts in the pack's order, for digests
  /// the pack lacks. TEMPER_PORT_ERROR when a worker cannot be started.
  static Result<std::unique_ptr<JitRunner>> create(const temper_pack& pack, const temper_facts& facts,
                                                   std::vector<std::string> workloads, const JitRunnerOptions& options);
  JitRunner(const JitRunner&) = delete;
  JitRunner& operator=(const JitRunner&) = delete;
  ~JitRunner();

  /// Valid while this lives.
  Runner runner();
  const JitRunnerCosts& costs() const { return costs_; }
  /// Why build() and run() return TEMPER_PORT_ERROR; empty while the workers can be started.
  const std::string& broken_reason() const { return broken_reason_; }
  /// Why the last failed build failed; empty when none did.
  const std::string& last_build_error() const { return last_build_error_; }
  /// Of the processes that run now; for tests and diagnostics.
  std::vector<pid_t> worker_pids() const;

 private:
  enum class SlotPhase : uint8_t { kFree, kQueued, kBuilding, kDone };
  struct Slot {
    SlotPhase phase = SlotPhase::kFree;
    uint32_t workload = 0;
    uint32_t ticket = 0;
    Config config;
    temper_outcome outcome = TEMPER_OUTCOME_OK;
    uint32_t build_us = 0;
    ObjectBytes object;
    bool loaded = false;    ///< in the timing process that runs now
    bool prepared = false;  ///< its packed constants are in place there
  };
  enum class Job : uint8_t { kNone, kBuild, kDigest };
  struct Builder {
    WorkerProcess process;
    uint32_t silent_deaths = 0;  ///< in a row, before kReady
    bool ready = false;
    Job job = Job::kNone;
    uint8_t slot = 0;
    uint32_t workload = 0;
    Config config;
    uint32_t ticket = 0;
    uint64_t since_ns = 0;
    uint64_t deadline_ns = 0;
  };
  enum class RunPhase : uint8_t { kNone, kWaitsForDigest, kPreparing, kRunning, kDone };
  struct Run {
    RunPhase phase = RunPhase::kNone;
    uint8_t slot = 0;
    RunKind kind = RunKind::kCheck;
    uint32_t number = 0;
    uint32_t ticket = 0;
    uint64_t limit_ns = 0;
    uint64_t requested_ns = 0;
    uint64_t deadline_ns = 0;
    RunResult result{};
  };

  JitRunner(std::vector<uint8_t> setup, std::vector<std::string> workloads, const JitRunnerOptions& options);

  Status build(uint8_t slot, uint32_t workload, const Config& config);
  bool poll_build(uint8_t slot, temper_outcome* outcome, uint32_t* build_us);
  Status run(uint8_t slot, RunKind kind, uint32_t number, uint64_t limit_ns);
  bool poll_run(RunResult* result);
  void release(uint8_t slot);
  void wait(uint64_t limit_ns);

  void step();
  void read_builder(Builder* builder);
  void read_timer();
  void take_answer(Builder* builder, const Message& message, std::vector<uint8_t> payload);
  void take_timer_answer(const Message& message);
  void give_up_job(Builder* builder, temper_outcome outcome);
  void finish_build(uint8_t slot, temper_outcome outcome, uint32_t build_us, ObjectBytes object);
  void finish_run(temper_outcome outcome, uint64_t elapsed_ns);
  void enforce_deadlines();
  void assign_jobs();
  void assign_job(Builder* builder);
  bool assign_awaited_digest(Builder* builder);
  void send_digest(Builder* builder, uint32_t workload);
  bool assign_build(Builder* builder);
  void send_run();
  void begin_running();
  void restart(Builder* builder);
  void restart_timer();
  void start_process(WorkerProcess* process, WorkerRole role, uint32_t silent_deaths);
  void break_down(const std::string& reason);
  uint64_t nearest_deadline_ns() const;

  JitRunnerOptions options_;
  std::vector<uint8_t> setup_;
  std::vector<std::string> workloads_;
  ReferenceDigests digests_;
  std::vector<std::unique_ptr<Builder>> builders_;
  WorkerProcess timer_;
  bool timer_ready_ = false;
  uint32_t timer_silent_deaths_ = 0;
  std::array<Slot, kMaxSlots> slots_;
  Run run_;
  uint32_t timed_workload_ = 0;  ///< whose tensors the timing process used last
  uint32_t next_ticket_ = 1;
  uint32_t digests_ahead_ = 0;  ///< workloads below this index may have their digest computed in idle time
  bool something_changed_ = false;
  ObjectCache cache_;
  JitRunnerCosts costs_;
  std::string broken_reason_, last_build_error_;
};

}  // namespace temper
