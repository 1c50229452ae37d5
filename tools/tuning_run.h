// One tuning run on this machine: network -> spaces -> tuner over the JIT runner, with history and interrupts. Called
// by the tune command; prints nothing but progress. Never decides what to do with the result.
#pragma once

#include <csignal>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "codegen/jit_runner.h"
#include "runtime/tuner.h"
#include "tools/history_file.h"
#include "tools/host_device.h"
#include "tools/network_pack.h"
#include "tools/progress.h"
#include "tools/tune_report.h"

namespace temper {

struct TuningSettings {
  temper_budget budget{};   ///< time_ns 0: no limit
  uint64_t started_ns = 0;  ///< temper_linux_now_ns when the command began: what was spent before counts
  TunerOptions tuner;       ///< max_trials is set here
  uint32_t threads = 0;
  uint32_t workers = 0;      ///< 0: one less than there are CPUs, at least one
  std::string history_path;  ///< empty: the default place
  ProgressStyle progress = ProgressStyle::kQuiet;
};

class TuningRun {
 public:
  /// TEMPER_INVALID_ARGUMENT, TEMPER_BAD_VERSION or TEMPER_BAD_DATA (the history), TEMPER_PORT_ERROR
  /// (workers).
  static Result<std::unique_ptr<TuningRun>> create(const Network& network, const TuningSettings& settings);
  TuningRun(const TuningRun&) = delete;
  TuningRun& operator=(const TuningRun&) = delete;

  /// Tunes until the budget is spent or *interrupts becomes non-zero; then what is known is confirmed. Returns the
  /// tuner's last status.
  temper_status run(const volatile std::sig_atomic_t* interrupts);

  /// Lets go of the history and joins what other processes left beside it. The last call but those that report.
  void close_history();

  TuneReport report() const;
  /// What was committed, by this run or before, as the bytes of a tuned table.
  Result<std::vector<uint8_t>> table() const;
  uint64_t best_ns(uint32_t workload) const { return tuner_.state(workload).best_ns; }  ///< 0: none was measured
  uint32_t committed_count() const;                                                     ///< workloads in that table
  const HostDevice& device() const { return device_; }
  const HistoryFile& history() const { return history_file_; }
  const JitRunner& runner() const { return *runner_; }

 private:
  TuningRun(const TuningSettings& settings) : settings_(settings) {}
  Result<bool> open_history();
  Status place_tuner(uint32_t known_trials);
  void on_frame(const FrameView& frame);
  void on_event(const TunerEvent& event);
  void tell_history(const ScanReport& scanned);

  TuningSettings settings_;
  HostDevice device_;
  std::unique_ptr<NetworkPack> pack_;
  Fingerprint fingerprint_{};
  HistoryFile history_file_;
  std::vector<uint32_t> history_buffer_;
  History history_;
  std::unique_ptr<JitRunner> runner_;
  std::vector<uint64_t> arena_memory_;
  Tuner tuner_;
  std::unique_ptr<Progress> progress_;
  std::set<uint32_t> committed_now_;
  std::map<uint32_t, std::vector<QuarantinedConfig>> quarantined_;  ///< by workload
  uint32_t known_trials_ = 0;
  uint32_t resumed_frames_ = 0;
  bool other_device_seen_ = false;
  bool this_device_seen_ = false;
  Fingerprint other_device_{};
  uint32_t last_differs_ = 0;  ///< fields in which the history's last fingerprint differs from this device
};

}  // namespace temper
