#include "tools/winner_choice.h"

#include <algorithm>
#include <cstring>

#include "runtime/table_view.h"
#include "schedules/pack_reduction.h"
#include "tools/fingerprint_json.h"
#include "tools/history_journal.h"
#include "tools/history_records.h"
#include "tools/history_source.h"
#include "tools/whole_file.h"

namespace temper {
namespace {

/// Its index, after it was added where it is new.
size_t index_of(const Fingerprint& fingerprint, std::vector<Fingerprint>* known) {
  const auto same = [&](const Fingerprint& other) {
    return std::memcmp(&other, &fingerprint, sizeof fingerprint) == 0;
  };
  const auto found = std::find_if(known->begin(), known->end(), same);
  if (found != known->end()) {
    return static_cast<size_t>(found - known->begin());
  }
  known->push_back(fingerprint);
  return known->size() - 1;
}

void take_knobs(Span<const format::KnobValue> knobs, Recommendation* to) {
  for (const format::KnobValue& knob : knobs) {
    if (knob.id() == kMemoryKnobId) {
      to->memory = knob.value();
    } else {
      to->knobs.push_back({knob.id(), knob.value()});
    }
  }
}

/// Of a trial, a commit or an entry of a table; times and origin are yet to be filled in.
template <class Record>
Recommendation recommendation_of(const Record& record, Span<const format::KnobValue> knobs, size_t fingerprint,
                                 const std::string& file) {
  Recommendation made;
  made.workload = record.workload();
  made.template_id = record.template_id();
  made.template_version = record.template_version();
  take_knobs(knobs, &made);
  made.fingerprint = fingerprint;
  made.file = file;
  return made;
}

void add_history(const HistorySource& source, BakeSources* all) {
  const HistoryRecords records = read_records(source);
  std::vector<size_t> fingerprints;
  for (const Fingerprint& fingerprint : records.fingerprints) {
    fingerprints.push_back(index_of(fingerprint, &all->fingerprints));
  }
  for (const HistoryRecord& record : records.trials) {
    const TrialView view = trial_of(record);
    if (view.trial.is_default() != 0) {
      all->defaults.push_back(recommendation_of(view.trial, view.knobs, fingerprints[record.fingerprint], source.path));
    }
  }
  for (const HistoryRecord& record : records.commits) {
    const CommitView view = commit_of(record);
    Recommendation commit = recommendation_of(view.commit, view.knobs, fingerprints[record.fingerprint], source.path);
    commit.default_ns = view.commit.default_ns();
    commit.tuned_ns = view.commit.tuned_ns();
    all->commits.push_back(std::move(commit));
  }
}

Result<bool> add_table(const std::string& path, const temper_table& table, BakeSources* all) {
  TableView view;
  const char* reason = "";
  const Status opened = TableView::open(table, &view, &reason);
  if (!opened.ok()) {
    return Error{opened.code(), path + ": not a tuned table that this build reads: " + reason};
  }
  const size_t fingerprint = index_of(view.fingerprint(), &all->fingerprints);
  for (uint32_t i = 0; i < view.count(); ++i) {
    const TableEntryView entry = view.entry(i);
    Recommendation made;
    made.workload = entry.workload;
    made.template_id = entry.template_id;
    made.template_version = entry.template_version;
    take_knobs(entry.knobs, &made);
    made.default_ns = entry.default_ns;
    made.tuned_ns = entry.tuned_ns;
    made.fingerprint = fingerprint;
    made.kind = RecommendationKind::kTable;
    made.file = path;
    all->commits.push_back(std::move(made));
  }
  return true;
}

Result<bool> add_file(const std::string& path, BakeSources* all) {
  size_t bytes = 0;
  const Result<std::vector<uint64_t>> words = read_whole_file(path, &bytes);
  if (!words) {
    return words.error();
  }
  const char* const data = reinterpret_cast<const char*>(words->data());
  if (bytes >= 8 && std::memcmp(data + 4, format::TunedTableIdentifier(), 4) == 0) {
    return add_table(path, {data, bytes}, all);
  }
  Result<HistorySource> source = parse_history(path, std::string_view(data, bytes));
  source = source ? with_journals(std::move(*source)) : source;
  if (!source) {
    return source.error();
  }
  for (const std::string& remark : source->remarks) {
    all->remarks.push_back(path + ": " + remark);
  }
  add_history(*source, all);
  return true;
}

bool of_device(const Recommendation& recommendation, const TunedDevice& device) {
  return std::find(device.fingerprints.begin(), device.fingerprints.end(), recommendation.fingerprint) !=
         device.fingerprints.end();
}

/// The config that is meant, where it is legal in this space.
bool translate(const Recommendation& recommendation, const Space& space, BakeChoice* choice) {
  if (recommendation.template_id != space.view().id || recommendation.template_version != space.view().version ||
      recommendation.knobs.size() > TEMPER_MAX_KNOBS) {
    return false;
  }
  std::vector<format::KnobValue> knobs;
  for (const TableKnob& knob : recommendation.knobs) {
    knobs.emplace_back(knob.id, knob.value);
  }
  Config meant;
  if (!config_from_knobs(space, {knobs.data(), knobs.size()}, &meant).ok() || !space.legal(meant)) {
    return false;
  }
  *choice = {meant, recommendation.memory};
  return true;
}

}  // namespace

Result<BakeSources> read_bake_sources(const std::vector<std::string>& files) {
  BakeSources all;
  for (const std::string& file : files) {
    const Result<bool> added = add_file(file, &all);
    if (!added) {
      return added.error();
    }
  }
  return all;
}

std::vector<TunedDevice> tuned_devices(const BakeSources& sources, const std::vector<uint64_t>& workloads) {
  std::vector<TunedDevice> devices;
  for (size_t i = 0; i < sources.fingerprints.size(); ++i) {
    const Fingerprint& fingerprint = sources.fingerprints[i];
    const auto same = [&](const TunedDevice& device) {
      return (compare(device.fingerprint, fingerprint) & kFingerprintDecisive) == 0;
    };
    auto device = std::find_if(devices.begin(), devices.end(), same);
    if (device == devices.end()) {
      device = devices.insert(devices.end(), TunedDevice{});
    }
    device->fingerprint = fingerprint;
    device->fingerprints.push_back(i);
  }
  for (const Recommendation& commit : sources.commits) {
    if (std::find(workloads.begin(), workloads.end(), commit.workload) == workloads.end()) {
      continue;
    }
    for (TunedDevice& device : devices) {
      device.commit_count += of_device(commit, device) ? 1 : 0;
    }
  }
  return devices;
}

Result<size_t> choose_device(const std::vector<TunedDevice>& devices, uint64_t target_hash, const std::string& target,
                             std::optional<uint32_t> wanted) {
  if (wanted) {
    if (*wanted < 1 || *wanted > devices.size()) {
      return Error{TEMPER_INVALID_ARGUMENT, "--fingerprint " + std::to_string(*wanted) + ": the files hold " +
                                                std::to_string(devices.size()) + ", counted from 1"};
    }
    if (devices[*wanted - 1].fingerprint.target_hash() != target_hash) {
      return Error{TEMPER_INVALID_ARGUMENT, "--fingerprint " + std::to_string(*wanted) +
                                                ": made on another target than " + target + "; name it with --target"};
    }
    return *wanted - 1;
  }
  std::optional<size_t> best;
  std::string others;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].fingerprint.target_hash() != target_hash) {
      others += (others.empty() ? "" : ", ") + hex_key(devices[i].fingerprint.target_hash());
    } else if (devices[i].commit_count > 0 && (!best || devices[i].commit_count >= devices[*best].commit_count)) {
      best = i;
    }
  }
  if (!best) {
    return Error{TEMPER_NOTHING_TO_TUNE, "no file holds a commit of this network's workloads made on target " + target +
                                             " (" + hex_key(target_hash) + ")" +
                                             (others.empty() ? "" : "; there are some of targets " + others) +
                                             ". Tune there first, or name the target with --target"};
  }
  return *best;
}

const Recommendation* choose_winner(const BakeSources& sources, const TunedDevice& device, const Space& space,
                                    BakeChoice* choice, uint32_t* illegal) {
  const Recommendation* winner = nullptr;
  for (const Recommendation& commit : sources.commits) {
    if (commit.workload != space.workload().key || !of_device(commit, device)) {
      continue;
    }
    if (winner != nullptr && winner->kind == RecommendationKind::kHistory &&
        commit.kind == RecommendationKind::kTable) {
      continue;
    }
    if (translate(commit, space, choice)) {
      winner = &commit;
    } else {
      ++*illegal;
    }
  }
  return winner;
}

Status choose_default(const BakeSources& sources, const TunedDevice& device, const Space& space, BakeChoice* choice) {
  bool found = false;
  for (const Recommendation& trial : sources.defaults) {
    if (trial.workload == space.workload().key && of_device(trial, device)) {
      found = translate(trial, space, choice) || found;
    }
  }
  return found ? Status() : space.default_config(&choice->config);
}

}  // namespace temper
