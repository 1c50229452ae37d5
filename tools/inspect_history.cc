// Histories as `temper inspect` shows them: what they were made on in words, and for each workload its trials by
// outcome, the best, the commit with its gain, and configs whose intent was never closed.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "schedules/workload.h"
#include "tools/fingerprint_json.h"
#include "tools/history_records.h"
#include "tools/inspect.h"
#include "tools/text_table.h"

namespace temper {
namespace {

/// What was seen of one workload, on one device or on all.
struct Tally {
  uint32_t trials = 0;
  uint32_t outcomes[TEMPER_OUTCOME_COUNT] = {};
  uint64_t best_ns = 0, default_ns = 0;             ///< 0: none was timed
  std::vector<const HistoryRecord*> open, commits;  ///< the last commit counts
  std::vector<const HistoryRecord*> failed;         ///< crashed, timeout, wrong_result: not tried again
};

using TallyKey = std::pair<uint64_t, size_t>;  ///< workload, fingerprint
constexpr size_t kAllFingerprints = SIZE_MAX;

std::map<TallyKey, Tally> tally(const HistoryRecords& records) {
  std::map<TallyKey, Tally> tallies;
  for (size_t i = 0; i < records.trials.size(); ++i) {
    const HistoryRecord& record = records.trials[i];
    const TrialView view = trial_of(record);
    const bool open =
        std::binary_search(records.open_intents.begin(), records.open_intents.end(), i);  // indices ascend
    const uint64_t median_ns = view.trial.outcome() == TEMPER_OUTCOME_OK ? view.trial.median_ns() : 0;
    for (const size_t fingerprint : {record.fingerprint, kAllFingerprints}) {
      Tally& to = tallies[{view.trial.workload(), fingerprint}];
      if (open) {
        to.open.push_back(&record);
        continue;
      }
      ++to.trials;
      ++to.outcomes[view.trial.outcome()];
      if (is_failure(static_cast<temper_outcome>(view.trial.outcome()))) {
        to.failed.push_back(&record);
      }
      to.best_ns = median_ns != 0 && (to.best_ns == 0 || median_ns < to.best_ns) ? median_ns : to.best_ns;
      to.default_ns = median_ns != 0 && view.trial.is_default() != 0 ? median_ns : to.default_ns;
    }
  }
  for (const HistoryRecord& record : records.commits) {
    for (const size_t fingerprint : {record.fingerprint, kAllFingerprints}) {
      tallies[{commit_of(record).commit.workload(), fingerprint}].commits.push_back(&record);
    }
  }
  return tallies;
}

double microseconds(uint64_t ns) { return static_cast<double>(ns) * 1e-3; }

/// Above 1: faster than the default; 1 where the default was kept or does not run.
double speedup_of(const format::Commit& commit) {
  const bool both = commit.kept_default() == 0 && commit.default_ns() != 0 && commit.tuned_ns() != 0;
  return both ? static_cast<double>(commit.default_ns()) / static_cast<double>(commit.tuned_ns()) : 1.0;
}

std::string commit_text(const Tally& of) {
  if (of.commits.empty()) {
    return "-";
  }
  const CommitView view = commit_of(*of.commits.back());
  if (view.commit.kept_default() != 0) {
    return "default kept";
  }
  std::string text =
      view.commit.default_ns() == 0
          ? "default does not run -> "
          : decimal(speedup_of(view.commit), 3) + "x: " + decimal(microseconds(view.commit.default_ns()), 1) + " -> ";
  text += decimal(microseconds(view.commit.tuned_ns()), 1) + " us:";
  for (const format::KnobValue& knob : view.knobs) {
    text.append(" ").append(std::to_string(knob.id())).append("=").append(std::to_string(knob.value()));
  }
  return text;
}

std::string name_of(const HistoryRecords& records, uint64_t key) {
  const auto found = records.workloads.find(key);
  return found == records.workloads.end() ? hex_key(key) : printable(found->second.name);
}

const char* form_name(HistoryForm form) {
  switch (form) {
    case HistoryForm::kFile:
      return "file";
    case HistoryForm::kConsoleLog:
      return "console log";
    case HistoryForm::kFlashImage:
      return "flash image";
  }
  return "file";
}

size_t trial_count(const HistoryRecords& records) { return records.trials.size() - records.open_intents.size(); }

double bytes_per_trial(const HistoryRecords& records) {
  const size_t trials = trial_count(records);
  return trials == 0 ? 0.0 : static_cast<double>(records.used_bytes) / static_cast<double>(trials);
}

/// The first history is of generation 1; each compaction erases the other half of the storage.
std::string counted_compactions(uint32_t generation) {
  return generation == 2 ? "1 compaction" : std::to_string(generation - 1) + " compactions";
}

std::string header_text(const HistorySource& source, const HistoryRecords& records) {
  std::string text = source.path + ": history (" + form_name(source.form) + "), " + std::to_string(records.frames) +
                     " whole frames, " + std::to_string(records.damaged_bytes) + " damaged bytes, " +
                     std::to_string(records.unreadable) + " frames not understood\n";
  text += std::to_string(records.used_bytes) + " bytes used, " + std::to_string(trial_count(records)) + " trials";
  if (trial_count(records) > 0) {
    text.append(", ").append(decimal(bytes_per_trial(records), 1)).append(" bytes per trial");
  }
  text += "\n";
  if (source.generation > 0) {
    text += "region of generation " + std::to_string(source.generation) + ": " +
            counted_compactions(source.generation) + ", so each erase block of the storage was erased " +
            std::to_string(source.generation / 2) + " times or so since its first history\n";
  }
  if (records.lost_frames > 0) {
    text += std::to_string(records.lost_frames) + " frames are missing\n";
  }
  if (records.orphans > 0) {
    text += std::to_string(records.orphans) + " records are left out: what they were made on is missing\n";
  }
  for (size_t i = 0; i < records.fingerprints.size(); ++i) {
    text.append("made on");
    if (records.fingerprints.size() > 1) {
      text.append(" (").append(std::to_string(i)).append(")");
    }
    text.append(": ").append(fingerprint_text(records.fingerprints[i])).append("\n");
  }
  return text;
}

std::vector<TextTable::Column> columns_of(bool several_devices) {
  std::vector<TextTable::Column> columns = {{"workload"}};
  if (several_devices) {
    columns.push_back({"on", Align::kRight});
  }
  for (int i = 0; i < TEMPER_OUTCOME_COUNT; ++i) {
    columns.push_back({temper_outcome_name(static_cast<temper_outcome>(i)), Align::kRight});
  }
  columns.push_back({"quarantined", Align::kRight});
  columns.push_back({"default us", Align::kRight});
  columns.push_back({"best us", Align::kRight});
  columns.push_back({"commit (knob id=value)"});
  return columns;
}

std::vector<std::string> row_of(const Tally& of) {
  std::vector<std::string> row;
  for (const uint32_t count : of.outcomes) {
    row.push_back(std::to_string(count));
  }
  row.push_back(std::to_string(of.open.size()));
  row.push_back(of.default_ns == 0 ? "-" : decimal(microseconds(of.default_ns), 1));
  row.push_back(of.best_ns == 0 ? "-" : decimal(microseconds(of.best_ns), 1));
  row.push_back(commit_text(of));
  return row;
}

// Open intents among them: the device itself writes them down as crashed.
std::string failed_text(const HistoryRecords& records, const std::map<TallyKey, Tally>& tallies) {
  std::string text;
  const auto add = [&](uint64_t key, const HistoryRecord& record, temper_outcome outcome) {
    text.append("quarantined: ").append(name_of(records, key));
    for (const format::KnobValue& knob : trial_of(record).knobs) {
      text.append(" ").append(std::to_string(knob.id())).append("=").append(std::to_string(knob.value()));
    }
    text.append(": ").append(temper_outcome_name(outcome)).append("\n");
  };
  for (const uint64_t key : records.order) {
    const auto found = tallies.find({key, kAllFingerprints});
    if (found == tallies.end()) {
      continue;
    }
    for (const HistoryRecord* record : found->second.failed) {
      add(key, *record, static_cast<temper_outcome>(trial_of(*record).trial.outcome()));
    }
    for (const HistoryRecord* record : found->second.open) {
      add(key, *record, TEMPER_OUTCOME_CRASHED);
    }
  }
  return text;
}

std::string history_text(const HistorySource& source, const HistoryRecords& records,
                         const std::map<TallyKey, Tally>& tallies) {
  const bool several = records.fingerprints.size() > 1;
  TextTable table(columns_of(several));
  for (const uint64_t key : records.order) {
    bool shown = false;
    for (size_t i = 0; i < records.fingerprints.size(); ++i) {
      const auto found = tallies.find({key, i});
      if (found == tallies.end()) {
        continue;
      }
      std::vector<std::string> row = row_of(found->second);
      if (several) {
        row.insert(row.begin(), std::to_string(i));
      }
      row.insert(row.begin(), name_of(records, key));
      table.add_row(std::move(row));
      shown = true;
    }
    if (!shown) {
      std::vector<std::string> row = row_of({});
      row.insert(row.begin(), several ? 2 : 1, "-");
      row.front() = name_of(records, key);
      table.add_row(std::move(row));
    }
  }
  return header_text(source, records) + (table.empty() ? "" : table.text()) + failed_text(records, tallies);
}

nlohmann::ordered_json config_json(Span<const format::KnobValue> knobs) {
  nlohmann::ordered_json config = nlohmann::ordered_json::object();
  for (const format::KnobValue& knob : knobs) {
    config[std::to_string(knob.id())] = knob.value();
  }
  return config;
}

nlohmann::ordered_json commit_json(const HistoryRecord& record) {
  const CommitView view = commit_of(record);
  return {{"fingerprint", record.fingerprint},
          {"kept_default", view.commit.kept_default() != 0},
          {"default_us", microseconds(view.commit.default_ns())},
          {"tuned_us", microseconds(view.commit.tuned_ns())},
          {"speedup", speedup_of(view.commit)},
          {"config_by_knob_id", config_json(view.knobs)}};
}

/// `commit` is the last of all, `commits` the last of each fingerprint.
nlohmann::ordered_json workload_json(const HistoryRecords& records, uint64_t key,
                                     const std::map<TallyKey, Tally>& tallies) {
  const auto found = tallies.find({key, kAllFingerprints});
  const Tally of = found == tallies.end() ? Tally() : found->second;
  const auto named = records.workloads.find(key);
  const NamedWorkload workload = named == records.workloads.end() ? NamedWorkload() : named->second;
  nlohmann::ordered_json json = {
      {"key", hex_key(key)}, {"workload", name_of(records, key)}, {"count", workload.count}, {"flops", workload.flops}};
  json["trials"] = of.trials;
  nlohmann::ordered_json outcomes = nlohmann::ordered_json::object();
  for (int i = 0; i < TEMPER_OUTCOME_COUNT; ++i) {
    outcomes[temper_outcome_name(static_cast<temper_outcome>(i))] = of.outcomes[i];
  }
  json["outcomes"] = outcomes;
  json["quarantined"] = of.open.size();
  json["quarantined_by_knob_id"] = nlohmann::ordered_json::array();
  for (const HistoryRecord* record : of.open) {
    json["quarantined_by_knob_id"].push_back(config_json(trial_of(*record).knobs));
  }
  json["failed_by_knob_id"] = nlohmann::ordered_json::array();
  for (const HistoryRecord* record : of.failed) {
    const TrialView view = trial_of(*record);
    json["failed_by_knob_id"].push_back(
        {{"config", config_json(view.knobs)},
         {"outcome", temper_outcome_name(static_cast<temper_outcome>(view.trial.outcome()))}});
  }
  json["default_us"] = microseconds(of.default_ns);
  json["best_us"] = microseconds(of.best_ns);
  json["commit"] = of.commits.empty() ? nlohmann::ordered_json() : commit_json(*of.commits.back());
  json["commits"] = nlohmann::ordered_json::array();
  for (size_t i = 0; i < records.fingerprints.size(); ++i) {
    const auto on = tallies.find({key, i});
    if (on != tallies.end() && !on->second.commits.empty()) {
      json["commits"].push_back(commit_json(*on->second.commits.back()));
    }
  }
  return json;
}

nlohmann::ordered_json history_json(const HistorySource& source, const HistoryRecords& records,
                                    const std::map<TallyKey, Tally>& tallies) {
  nlohmann::ordered_json root = {{"schema", 1}, {"kind", "history"}, {"form", form_name(source.form)}};
  root["offset_bytes"] = source.offset;
  root["generation"] = source.generation;
  root["frames"] = records.frames;
  root["trials"] = trial_count(records);
  root["used_bytes"] = records.used_bytes;
  root["bytes_per_trial"] = bytes_per_trial(records);
  root["damaged_bytes"] = records.damaged_bytes;
  root["lost_frames"] = records.lost_frames;
  root["unreadable_frames"] = records.unreadable;
  root["orphaned_records"] = records.orphans;
  root["remarks"] = source.remarks;
  root["fingerprints"] = nlohmann::ordered_json::array();
  for (const Fingerprint& fingerprint : records.fingerprints) {
    root["fingerprints"].push_back(fingerprint_json(fingerprint));
  }
  root["workloads"] = nlohmann::ordered_json::array();
  for (const uint64_t key : records.order) {
    root["workloads"].push_back(workload_json(records, key, tallies));
  }
  return root;
}

}  // namespace

Inspection inspect_history(const HistorySource& source) {
  const HistoryRecords records = read_records(source);
  const std::map<TallyKey, Tally> tallies = tally(records);
  return {history_text(source, records, tallies), history_json(source, records, tallies)};
}

}  // namespace temper
