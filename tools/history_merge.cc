#include "tools/history_merge.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "tools/memory_storage.h"

namespace temper {
namespace {

constexpr size_t kMostFingerprints = UINT16_MAX;

// Texts are compared by their bytes; that of fingerprints is sizeof(Fingerprint) long.
using FingerprintBytes = std::string;
using Payload = std::string;
using KnobList = std::vector<std::pair<uint16_t, uint16_t>>;

FingerprintBytes bytes_of(const Fingerprint& fingerprint) {
  return {reinterpret_cast<const char*>(&fingerprint), sizeof fingerprint};
}

Fingerprint fingerprint_of(const FingerprintBytes& bytes) {
  Fingerprint fingerprint;
  std::memcpy(&fingerprint, bytes.data(), sizeof fingerprint);
  return fingerprint;
}

Payload payload_of(const HistoryRecord& record) { return {record.payload.begin(), record.payload.end()}; }

HistoryRecord record_of(const Payload& payload) { return {0, {payload.begin(), payload.end()}}; }

KnobList knobs_of(Span<const format::KnobValue> knobs) {
  KnobList list;
  for (const format::KnobValue& knob : knobs) {
    list.emplace_back(knob.id(), knob.value());
  }
  return list;
}

/// Trials in the order of the canonical form.
auto trial_key(const Payload& payload) {
  const HistoryRecord record = record_of(payload);
  const TrialView view = trial_of(record);
  const format::Trial& trial = view.trial;
  return std::tuple(trial.workload(), trial.template_id(), trial.template_version(), trial.is_default() == 0,
                    knobs_of(view.knobs), trial.sample_count(), trial.median_ns(), payload);
}

/// tuned / default, of one rematch; 1 where the default was kept, or does not run and tells nothing.
double time_ratio(const format::Commit& commit) {
  const bool both = commit.kept_default() == 0 && commit.default_ns() != 0;
  return both ? static_cast<double>(commit.tuned_ns()) / static_cast<double>(commit.default_ns()) : 1.0;
}

/// Commits in the order of the canonical form: the greatest ratio, which is the smallest gain, first.
auto commit_key(const FingerprintBytes& fingerprint, const Payload& payload) {
  const HistoryRecord record = record_of(payload);
  const CommitView view = commit_of(record);
  return std::tuple(view.commit.workload(), -time_ratio(view.commit), payload, fingerprint);
}

/// All that makes a device for look-ups: fingerprints that agree here are one device to them (kFingerprintDecisive
/// holds no field that is compared with tolerance).
auto device_key(const Fingerprint& f) {
  return std::tuple(f.target_hash(), f.core_type(), f.threads(), f.vector_lanes(), f.vector_registers(), f.driver(),
                    f.pack_hash());
}

/// What the histories hold together.
struct Union {
  std::map<uint64_t, NamedWorkload> workloads;
  std::map<FingerprintBytes, std::map<Payload, size_t>> trials;  ///< how often each
  std::map<FingerprintBytes, std::set<Payload>> commits;
  size_t offered = 0;

  void add(const HistoryRecords& history) {
    for (const auto& [key, workload] : history.workloads) {
      const auto [at, fresh] = workloads.emplace(key, workload);
      const auto rank = [](const NamedWorkload& w) { return std::tuple(-int{w.count}, w.name, w.flops); };
      if (!fresh && rank(workload) < rank(at->second)) {
        at->second = workload;
      }
    }
    std::map<std::pair<FingerprintBytes, Payload>, size_t> counts;
    for (const HistoryRecord& record : history.trials) {
      ++counts[{bytes_of(history.fingerprints[record.fingerprint]), payload_of(record)}];
    }
    for (const auto& [trial, count] : counts) {
      size_t& known = trials[trial.first][trial.second];
      known = std::max(known, count);
    }
    for (const HistoryRecord& record : history.commits) {
      commits[bytes_of(history.fingerprints[record.fingerprint])].insert(payload_of(record));
    }
    for (const Fingerprint& fingerprint : history.fingerprints) {
      trials[bytes_of(fingerprint)];  // told even where no record is left of it
    }
    offered += history.trials.size() + history.commits.size();
  }
};

/// Appends frames to a history in memory.
class HistoryWriter {
 public:
  HistoryWriter() : storage_({}, MemoryStorage::Manners::kFile) {
    ScanReport report{};
    status_ = history_.open(storage_.storage(), {buffer_, sizeof buffer_}, nullptr, nullptr, &report);
  }

  Status status() const { return status_; }
  size_t fingerprints() const { return fingerprints_; }
  std::vector<uint8_t> bytes() const { return storage_.bytes(); }

  void workload(uint64_t key, const NamedWorkload& named) {
    const format::WorkloadName head(key, named.flops, named.count, static_cast<uint16_t>(named.name.size()), 0);
    append(FrameType::kWorkload, &head, sizeof head, named.name.data(), named.name.size());
  }

  /// Writes the fingerprint unless it is the one last written: records refer to the latest.
  void fingerprint(const FingerprintBytes& bytes) {
    if (fingerprints_ > 0 && bytes == last_) {
      return;
    }
    append(FrameType::kFingerprint, bytes.data(), bytes.size(), nullptr, 0);
    last_ = bytes;
    ++fingerprints_;
  }

  void record(FrameType type, Payload payload) {
    const size_t ordinal = fingerprints_ - 1;
    payload[kFingerprintInResult] = static_cast<char>(ordinal & 0xFF);
    payload[kFingerprintInResult + 1] = static_cast<char>(ordinal >> 8 & 0xFF);
    append(type, payload.data(), payload.size(), nullptr, 0);
  }

 private:
  void append(FrameType type, const void* head, size_t head_bytes, const void* tail, size_t tail_bytes) {
    if (status_.ok()) {
      status_ = history_.append(type, {static_cast<const uint8_t*>(head), head_bytes},
                                {static_cast<const uint8_t*>(tail), tail_bytes});
    }
  }

  MemoryStorage storage_;
  History history_;
  Status status_;
  size_t fingerprints_ = 0;
  FingerprintBytes last_{};
  alignas(8) uint8_t buffer_[kHistoryBufferBytes];
};

void write_trials(const std::map<Payload, size_t>& trials, HistoryWriter* writer) {
  std::map<decltype(trial_key({})), size_t> ordered;
  for (const auto& [payload, count] : trials) {
    ordered.emplace(trial_key(payload), count);
  }
  for (const auto& [key, count] : ordered) {
    for (size_t i = 0; i < count; ++i) {
      writer->record(FrameType::kTrial, std::get<Payload>(key));
    }
  }
}

void write_commits(const Union& all, const std::vector<FingerprintBytes>& device, HistoryWriter* writer) {
  std::set<decltype(commit_key({}, {}))> ordered;
  for (const FingerprintBytes& fingerprint : device) {
    const auto found = all.commits.find(fingerprint);
    if (found != all.commits.end()) {
      for (const Payload& payload : found->second) {
        ordered.insert(commit_key(fingerprint, payload));
      }
    }
  }
  for (const auto& key : ordered) {
    writer->fingerprint(std::get<3>(key));
    writer->record(FrameType::kCommit, std::get<2>(key));
  }
}

void write_all(const Union& all, HistoryWriter* writer) {
  for (const auto& [key, named] : all.workloads) {
    writer->workload(key, named);
  }
  std::map<decltype(device_key({})), std::vector<FingerprintBytes>> devices;
  for (const auto& [fingerprint, trials] : all.trials) {
    devices[device_key(fingerprint_of(fingerprint))].push_back(fingerprint);
  }
  for (const auto& [key, fingerprints] : devices) {
    for (const FingerprintBytes& fingerprint : fingerprints) {
      writer->fingerprint(fingerprint);
      write_trials(all.trials.at(fingerprint), writer);
    }
    write_commits(all, fingerprints, writer);
  }
}

}  // namespace

Result<MergedHistory> merge_histories(const std::vector<HistoryRecords>& histories) {
  Union all;
  for (const HistoryRecords& history : histories) {
    all.add(history);
  }
  HistoryWriter writer;
  write_all(all, &writer);
  if (writer.fingerprints() > kMostFingerprints) {
    return Error{TEMPER_UNSUPPORTED, "the histories were made on " + std::to_string(all.trials.size()) +
                                         " devices, more than one history can tell apart; merge fewer"};
  }
  if (!writer.status().ok()) {
    return Error{writer.status().code(), std::string("the histories do not fit into one: ") +
                                             temper_status_name(writer.status().code()) + "; merge fewer"};
  }
  MergedHistory merged;
  merged.bytes = writer.bytes();
  merged.fingerprints = all.trials.size();
  merged.workloads = all.workloads.size();
  for (const auto& [fingerprint, trials] : all.trials) {
    for (const auto& [payload, count] : trials) {
      merged.trials += count;
    }
  }
  for (const auto& [fingerprint, commits] : all.commits) {
    merged.commits += commits.size();
  }
  merged.duplicates = all.offered - merged.trials - merged.commits;
  return merged;
}

}  // namespace temper
