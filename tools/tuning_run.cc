#include "tools/tuning_run.h"

#include <algorithm>

#include "schedules/table_writer.h"
#include "schedules/workload.h"

namespace temper {
namespace {

/// Without --budget the clock does not end the run.
constexpr uint64_t kUnlimitedNs = uint64_t{365} * 24 * 3600 * 1'000'000'000;
/// Nothing tunes faster than this, so that a time budget bounds the trials of a run.
constexpr uint64_t kFastestTrialNs = 500'000;
constexpr uint32_t kMostTrials = 4'000'000;
constexpr int kYieldingNiceness = 19;

uint32_t expected_trials(const temper_budget& budget) {
  const uint64_t by_time = budget.time_ns / kFastestTrialNs + 1000;
  const uint64_t most = budget.trials == 0 ? by_time : std::min<uint64_t>(by_time, budget.trials + 1000u);
  return static_cast<uint32_t>(std::min<uint64_t>(most, kMostTrials));
}

JitRunnerOptions runner_options(const TuningSettings& settings) {
  const uint32_t cpus = temper_linux_cpu_count();
  JitRunnerOptions options;
  options.builders = settings.workers != 0 ? settings.workers : std::max(1u, cpus - 1);
  // Where timed threads need every core, builders get what is left over between runs.
  options.builder_niceness = std::max(1u, settings.threads) >= cpus ? kYieldingNiceness : 0;
  return options;
}

}  // namespace

Result<std::unique_ptr<TuningRun>> TuningRun::create(const Network& network, const TuningSettings& settings) {
  std::unique_ptr<TuningRun> run(new TuningRun(settings));
  if (run->settings_.budget.time_ns == 0) {
    run->settings_.budget.time_ns = kUnlimitedNs;
  }
  Result<HostDevice> device = probe_host(settings.threads);
  if (!device) {
    return device.error();
  }
  run->device_ = *device;
  Result<std::unique_ptr<NetworkPack>> pack = NetworkPack::create(network, device->target);
  if (!pack) {
    return pack.error();
  }
  run->pack_ = std::move(*pack);
  run->fingerprint_ = host_fingerprint(run->device_, run->pack_->view());
  std::vector<std::string> names;
  for (const NetworkWorkload& workload : network.workloads) {
    names.push_back(operator_name(workload.workload) + " " + shape_text(workload.workload));
  }
  run->progress_ =
      std::make_unique<Progress>(settings.progress, std::move(names), settings.budget.time_ns, settings.budget.trials);
  Result<std::unique_ptr<JitRunner>> runner =
      JitRunner::create(run->pack_->pack(), run->device_.facts, run->pack_->texts(), runner_options(settings));
  if (!runner) {
    return runner.error();
  }
  run->runner_ = std::move(*runner);
  const Result<bool> opened = run->open_history();
  if (!opened) {
    return opened.error();
  }
  return run;
}

Result<bool> TuningRun::open_history() {
  const std::string path =
      settings_.history_path.empty() ? default_history_path(device_.target) : settings_.history_path;
  Result<HistoryFile> file = open_history_to_append(path);
  if (!file) {
    return file.error();
  }
  history_file_ = std::move(*file);
  if (!history_file_.warning.empty()) {
    progress_->warn("temper: warning: " + history_file_.warning);
  }
  for (const std::string& note : history_file_.notes) {
    progress_->say("temper: " + note);
  }
  history_buffer_.resize(kHistoryBufferBytes / sizeof(uint32_t) + 1);
  const Span<uint8_t> buffer{reinterpret_cast<uint8_t*>(history_buffer_.data()),
                             history_buffer_.size() * sizeof(uint32_t)};
  ScanReport scanned{};
  const auto count = [](void* self, const FrameView& frame) {
    static_cast<TuningRun*>(self)->known_trials_ += frame.type == FrameType::kTrial ? 1 : 0;
  };
  if (history_file_.storage() != nullptr) {  // once to count what must be remembered, once more to remember it
    const Status status = history_.open(history_file_.storage(), buffer, this, count, &scanned);
    if (status == TEMPER_BAD_VERSION || status == TEMPER_BAD_DATA) {
      return history_error(path, status.code());
    }
  }
  if (history_file_.known) {
    scan_history(*history_file_.known, [&](const FrameView& frame) { count(this, frame); });
  }
  const Status placed = place_tuner(known_trials_);
  if (!placed.ok()) {
    return Error{placed.code(), std::string("the tuner could not be set up: ") + temper_status_name(placed.code())};
  }
  if (history_file_.known) {  // the journal holds their fingerprints, and nothing else yet
    scanned = scan_history(*history_file_.known, [this](const FrameView& frame) { on_frame(frame); });
  } else if (history_file_.storage() != nullptr) {
    const auto visit = [](void* self, const FrameView& frame) { static_cast<TuningRun*>(self)->on_frame(frame); };
    static_cast<void>(history_.open(history_file_.storage(), buffer, this, visit, &scanned));
  }
  tell_history(scanned);
  return true;
}

void TuningRun::close_history() {
  for (const std::string& note : temper::close_history(&history_file_)) {
    progress_->say("temper: " + note);
  }
}

Status TuningRun::place_tuner(uint32_t known_trials) {
  TunerOptions& options = settings_.tuner;
  options.max_trials = std::min(kMostTrials, known_trials + expected_trials(settings_.budget));
  const size_t bytes = Tuner::bytes_needed(pack_->view(), options);
  arena_memory_.resize(bytes / sizeof(uint64_t) + 1);
  Arena arena;
  arena.base = reinterpret_cast<uint8_t*>(arena_memory_.data());
  arena.capacity = arena_memory_.size() * sizeof(uint64_t);
  History* history = history_file_.storage() != nullptr ? &history_ : nullptr;
  const Status status = tuner_.init(arena, &pack_->view(), &device_.facts, fingerprint_, runner_->runner(),
                                    analytic_prior(), history, temper_linux_now_ns, nullptr, options);
  tuner_.set_listener(this,
                      [](void* self, const TunerEvent& event) { static_cast<TuningRun*>(self)->on_event(event); });
  return status;
}

void TuningRun::on_frame(const FrameView& frame) {
  ++resumed_frames_;
  Fingerprint made_for;
  if (frame.type == FrameType::kFingerprint && read_fingerprint(frame, &made_for).ok()) {
    last_differs_ = compare(made_for, fingerprint_);
    const bool same = (last_differs_ & kFingerprintDecisive) == 0;
    this_device_seen_ = this_device_seen_ || same;
    if (!same) {
      other_device_seen_ = true;
      other_device_ = made_for;
    }
  }
  tuner_.resume(frame);
}

void TuningRun::tell_history(const ScanReport& scanned) {
  if (scanned.damaged_bytes > 0) {
    progress_->say("temper: warning: " + history_file_.path + ": " + std::to_string(scanned.damaged_bytes) +
                   " damaged bytes were skipped; the other records are used");
  }
  if (other_device_seen_ && !this_device_seen_) {
    progress_->say("temper: " + history_file_.path + " was made on another device (differs in " +
                   fingerprint_fields_text(compare(other_device_, fingerprint_)) + "): its results are hints");
  } else if ((last_differs_ & kFingerprintConfirm) != 0) {
    const bool confirms = settings_.tuner.refresh;
    progress_->say(
        "temper: this device differs from the one of " + history_file_.path + " in " +
        fingerprint_fields_text(last_differs_) +
        (confirms ? ": what it decided is confirmed first" : ": what it decided is still used; --refresh confirms it"));
  }
}

void TuningRun::on_event(const TunerEvent& event) {
  if (event.kind == TunerEvent::Kind::kCommit) {
    committed_now_.insert(event.workload);
  }
  if (event.kind == TunerEvent::Kind::kTrial && is_failure(event.trial.outcome)) {
    quarantined_[event.workload].push_back(
        {config_values(*tuner_.state(event.workload).space, *event.config), event.trial.outcome});
  }
  if (event.kind == TunerEvent::Kind::kStorageLost && history_file_.warning.empty()) {
    const std::string& lost = history_file_.journal.empty() ? history_file_.path : history_file_.journal;
    history_file_.warning = lost + " can no longer be written (" + temper_status_name(history_.failure().code()) +
                            "); further results are kept in memory only";
    progress_->warn("temper: warning: " + history_file_.warning);
  }
  progress_->on_event(tuner_, event);
}

temper_status TuningRun::run(const volatile std::sig_atomic_t* interrupts) {
  temper_budget budget = settings_.budget;
  const uint64_t spent = temper_linux_now_ns(nullptr) - settings_.started_ns;
  budget.time_ns = budget.time_ns > spent ? budget.time_ns - spent : 1;
  Status status = tuner_.start(budget);
  if (!status.ok()) {
    return status.code();
  }
  do {
    if (*interrupts != 0) {
      tuner_.stop();
    }
    status = tuner_.step();
    progress_->refresh(tuner_);
  } while (status == TEMPER_MORE && runner_->broken_reason().empty());
  progress_->end();
  return runner_->broken_reason().empty() ? status.code() : TEMPER_PORT_ERROR;
}

TuneReport TuningRun::report() const {
  TuneReport report;
  report.network = pack_->network().name;
  report.target = device_.target;
  report.fingerprint = fingerprint_;
  report.seed = settings_.tuner.seed;
  report.budget_ns = settings_.budget.time_ns == kUnlimitedNs ? 0 : settings_.budget.time_ns;
  report.elapsed_ns = temper_linux_now_ns(nullptr) - settings_.started_ns;
  report.trials = tuner_.trials();
  report.skipped = pack_->network().skipped;
  for (uint32_t i = 0; i < tuner_.workload_count(); ++i) {
    const WorkloadState& state = tuner_.state(i);
    WorkloadReport workload = describe(pack_->network().workloads[i]);
    const bool tuned = state.committed && !state.kept_default;
    workload.default_ns = state.rematch_default_ns != 0 ? state.rematch_default_ns : state.default_ns;
    workload.tuned_ns = tuned ? state.rematch_best_ns : workload.default_ns;
    workload.trials = state.trials;
    std::copy(std::begin(state.outcomes), std::end(state.outcomes), std::begin(workload.outcomes));
    workload.source = !tuned                                 ? "default"
                      : committed_now_.count(i) == 0         ? "history"
                      : state.stop == StopReason::kConfirmed ? "confirmed"
                                                             : "search";
    workload.config = config_values(*state.space, tuned ? state.best_config : state.default_config);
    const auto quarantined = quarantined_.find(i);
    if (quarantined != quarantined_.end()) {
      workload.quarantined = quarantined->second;
    }
    if (workload.tuned_ns != 0) {
      workload.max_abs_error = 0.0;  // only configs whose output equals the reference's bit for bit are timed at all
    }
    report.workloads.push_back(std::move(workload));
  }
  return report;
}

uint32_t TuningRun::committed_count() const {
  uint32_t count = 0;
  for (uint32_t i = 0; i < tuner_.workload_count(); ++i) {
    count += tuner_.state(i).committed ? 1 : 0;
  }
  return count;
}

Result<std::vector<uint8_t>> TuningRun::table() const {
  std::vector<TableEntry> entries;
  for (uint32_t i = 0; i < tuner_.workload_count(); ++i) {
    const WorkloadState& state = tuner_.state(i);
    if (!state.committed) {
      continue;
    }
    TableEntry entry;
    entry.workload = state.space->workload().key;
    entry.template_id = state.space->view().id;
    entry.template_version = state.space->view().version;
    entry.default_ns = state.rematch_default_ns;
    entry.tuned_ns = state.rematch_best_ns;
    entry.name = state.space->workload().name;
    int32_t values[TEMPER_MAX_KNOBS];
    state.space->values_of(state.best_config, values);
    for (uint32_t knob = 0; knob < state.space->knob_count(); ++knob) {
      entry.knobs.push_back({state.space->view().knob(knob).id, static_cast<uint16_t>(values[knob])});
    }
    entries.push_back(std::move(entry));
  }
  return write_table(std::move(entries), fingerprint_, device_.target);
}

}  // namespace temper
