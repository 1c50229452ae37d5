// Histories as `temper inspect` shows them: fingerprints, and for each workload its trials by outcome, the best, the
// commit and configs whose intent was never closed.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/history.h"
#include "schedules/workload.h"
#include "tools/fingerprint_json.h"
#include "tools/history_file.h"
#include "tools/inspect.h"
#include "tools/text_table.h"

namespace temper {
namespace {

using Knobs = std::vector<std::pair<uint16_t, uint16_t>>;

struct WorkloadLog {
  std::string name;
  uint32_t count = 0;
  uint32_t outcomes[TEMPER_OUTCOME_COUNT] = {};
  uint64_t best_ns = 0;
  bool committed = false, kept_default = false;
  uint64_t default_ns = 0, tuned_ns = 0;
  Knobs config;
  std::set<Knobs> open;  ///< intents without a trial
};

struct HistoryLog {
  std::vector<Fingerprint> fingerprints;
  std::vector<uint64_t> order;
  std::map<uint64_t, WorkloadLog> workloads;
  uint32_t unreadable = 0;  ///< whole frames whose payload does not verify, or of a type this build does not know

  WorkloadLog& of(uint64_t key) {
    if (workloads.count(key) == 0) {
      order.push_back(key);
      workloads[key].name = hex_key(key);
    }
    return workloads[key];
  }
};

Knobs copied(Span<const format::KnobValue> knobs) {
  Knobs out;
  for (const format::KnobValue& knob : knobs) {
    out.emplace_back(knob.id(), knob.value());
  }
  return out;
}

bool note_trial(const FrameView& frame, HistoryLog* log) {
  TrialView view{};
  if (!read_trial(frame, &view).ok()) {
    return false;
  }
  WorkloadLog& workload = log->of(view.trial.workload());
  ++workload.outcomes[view.trial.outcome()];
  workload.open.erase(copied(view.knobs));
  const uint64_t median_ns = view.trial.median_ns();
  if (view.trial.outcome() == TEMPER_OUTCOME_OK && (workload.best_ns == 0 || median_ns < workload.best_ns)) {
    workload.best_ns = median_ns;
  }
  return true;
}

bool note_commit(const FrameView& frame, HistoryLog* log) {
  CommitView view{};
  if (!read_commit(frame, &view).ok()) {
    return false;
  }
  WorkloadLog& workload = log->of(view.commit.workload());
  workload.committed = true;
  workload.kept_default = view.commit.kept_default() != 0;
  workload.default_ns = view.commit.default_ns();
  workload.tuned_ns = view.commit.tuned_ns();
  workload.config = copied(view.knobs);
  return true;
}

bool note_frame(const FrameView& frame, HistoryLog* log) {
  switch (frame.type) {
    case FrameType::kHeader:
      return true;
    case FrameType::kFingerprint: {
      Fingerprint fingerprint;
      if (!read_fingerprint(frame, &fingerprint).ok()) {
        return false;
      }
      log->fingerprints.push_back(fingerprint);
      return true;
    }
    case FrameType::kWorkload: {
      WorkloadNameView view{};
      if (!read_workload(frame, &view).ok()) {
        return false;
      }
      WorkloadLog& workload = log->of(view.head.workload());
      workload.name.assign(view.name, view.head.name_bytes());
      workload.count = view.head.count();
      return true;
    }
    case FrameType::kIntent: {
      IntentView view{};
      if (!read_intent(frame, &view).ok()) {
        return false;
      }
      log->of(view.intent.workload()).open.insert(copied(view.knobs));
      return true;
    }
    case FrameType::kTrial:
      return note_trial(frame, log);
    case FrameType::kCommit:
      return note_commit(frame, log);
  }
  return false;
}

double microseconds(uint64_t ns) { return static_cast<double>(ns) * 1e-3; }

std::string commit_text(const WorkloadLog& workload) {
  if (!workload.committed) {
    return "-";
  }
  if (workload.kept_default) {
    return "default kept";
  }
  std::string text =
      decimal(microseconds(workload.default_ns), 1) + " -> " + decimal(microseconds(workload.tuned_ns), 1) + " us:";
  for (const auto& [id, value] : workload.config) {
    text += ' ';
    text += std::to_string(id);
    text += '=';
    text += std::to_string(value);
  }
  return text;
}

std::string history_text(const std::string& path, const ScanReport& scanned, const HistoryLog& log) {
  std::string text = path + ": history, " + std::to_string(scanned.frames) + " whole frames, " +
                     std::to_string(scanned.damaged_bytes) + " damaged bytes, " + std::to_string(log.unreadable) +
                     " frames not understood\n";
  for (const Fingerprint& fingerprint : log.fingerprints) {
    text += "made on: " + fingerprint_text(fingerprint) + "\n";
  }
  std::vector<TextTable::Column> columns = {{"workload"}};
  for (int i = 0; i < TEMPER_OUTCOME_COUNT; ++i) {
    columns.push_back({temper_outcome_name(static_cast<temper_outcome>(i)), Align::kRight});
  }
  columns.push_back({"quarantined", Align::kRight});
  columns.push_back({"best us", Align::kRight});
  columns.push_back({"commit (knob id=value)"});
  TextTable table(columns);
  for (const uint64_t key : log.order) {
    const WorkloadLog& workload = log.workloads.at(key);
    std::vector<std::string> row = {workload.name};
    for (const uint32_t count : workload.outcomes) {
      row.push_back(std::to_string(count));
    }
    row.push_back(std::to_string(workload.open.size()));
    row.push_back(workload.best_ns == 0 ? "-" : decimal(microseconds(workload.best_ns), 1));
    row.push_back(commit_text(workload));
    table.add_row(row);
  }
  return text + (table.empty() ? "" : table.text());
}

nlohmann::ordered_json workload_json(uint64_t key, const WorkloadLog& workload) {
  nlohmann::ordered_json json = {{"key", hex_key(key)}, {"workload", workload.name}, {"count", workload.count}};
  nlohmann::ordered_json outcomes = nlohmann::ordered_json::object();
  for (int i = 0; i < TEMPER_OUTCOME_COUNT; ++i) {
    outcomes[temper_outcome_name(static_cast<temper_outcome>(i))] = workload.outcomes[i];
  }
  json["outcomes"] = outcomes;
  json["quarantined"] = workload.open.size();
  json["best_us"] = microseconds(workload.best_ns);
  json["commit"] = nullptr;
  if (workload.committed) {
    nlohmann::ordered_json config = nlohmann::ordered_json::object();
    for (const auto& [id, value] : workload.config) {
      config[std::to_string(id)] = value;
    }
    json["commit"] = {{"kept_default", workload.kept_default},
                      {"default_us", microseconds(workload.default_ns)},
                      {"tuned_us", microseconds(workload.tuned_ns)},
                      {"config_by_knob_id", config}};
  }
  return json;
}

nlohmann::ordered_json history_json(const ScanReport& scanned, const HistoryLog& log) {
  nlohmann::ordered_json root = {{"schema", 1}, {"kind", "history"}, {"frames", scanned.frames}};
  root["damaged_bytes"] = scanned.damaged_bytes;
  root["unreadable_frames"] = log.unreadable;
  root["fingerprints"] = nlohmann::ordered_json::array();
  for (const Fingerprint& fingerprint : log.fingerprints) {
    root["fingerprints"].push_back(fingerprint_json(fingerprint));
  }
  root["workloads"] = nlohmann::ordered_json::array();
  for (const uint64_t key : log.order) {
    root["workloads"].push_back(workload_json(key, log.workloads.at(key)));
  }
  return root;
}

}  // namespace

Result<Inspection> inspect_history(const std::string& path) {
  Result<HistoryFile> file = open_history_to_read(path);
  if (!file) {
    return file.error();
  }
  std::vector<uint64_t> words(kHistoryBufferBytes / sizeof(uint64_t) + 1);
  const Span<uint8_t> buffer{reinterpret_cast<uint8_t*>(words.data()), words.size() * sizeof(uint64_t)};
  HistoryLog log;
  ScanReport scanned{};
  History history;
  const auto visit = [](void* context, const FrameView& frame) {
    HistoryLog* into = static_cast<HistoryLog*>(context);
    into->unreadable += note_frame(frame, into) ? 0 : 1;
  };
  const Status opened = history.open(file->storage(), buffer, &log, visit, &scanned);
  if (!opened.ok()) {
    return history_error(path, opened.code());
  }
  return Inspection{history_text(path, scanned, log), history_json(scanned, log)};
}

}  // namespace temper
