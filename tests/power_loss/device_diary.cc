#include "tests/power_loss/device_diary.h"

#include <algorithm>
#include <tuple>

namespace temper::test {
namespace {

constexpr uint64_t kPermilleOverCost = 1150;  // readings of the clock cost too

bool same_trial(const ReadRecord& a, const ReadRecord& b) {
  return a.device == b.device && a.workload == b.workload && a.knobs == b.knobs && a.outcome == b.outcome;
}

bool plausible(const ReadRecord& trial) {
  if (trial.outcome != TEMPER_OUTCOME_OK) {
    return true;
  }
  const uint64_t cost = cost_ns(trial.knobs);
  return !is_wrong(trial.knobs) && trial.median_ns >= cost && trial.median_ns * 1000 <= cost * kPermilleOverCost;
}

// What puts a config in quarantine for good.
bool is_failure(uint8_t outcome) {
  return outcome == TEMPER_OUTCOME_WRONG_RESULT || outcome == TEMPER_OUTCOME_CRASHED ||
         outcome == TEMPER_OUTCOME_TIMEOUT;
}

const ReadRecord* last_commit(const ReadHistory& history, uint32_t device, uint64_t workload) {
  const ReadRecord* found = nullptr;
  for (const ReadRecord& commit : history.commits) {
    found = commit.device == device && commit.workload == workload ? &commit : found;
  }
  return found;
}

}  // namespace

std::string text_of(const ReadRecord& record) {
  std::string text = "device " + std::to_string(record.device) + " workload " + std::to_string(record.workload);
  for (const ReadKnob& knob : record.knobs) {
    text += ' ';
    text += std::to_string(knob.value);
  }
  return text + " outcome " + std::to_string(record.outcome) + " median " + std::to_string(record.median_ns);
}

std::string complaint_of_trials(const ReadHistory& history, bool doubts) {
  std::map<std::tuple<uint32_t, uint64_t, ReadKnobs, bool>, uint32_t> counts;
  for (const ReadRecord& trial : history.trials) {
    const bool crashed = trial.outcome == TEMPER_OUTCOME_CRASHED;
    // A power cut may look like a crash; twice is no accident.
    const uint32_t allowed = !trial.is_default ? 1 : crashed || doubts ? 2 : 1;
    if (++counts[{trial.device, trial.workload, trial.knobs, crashed}] > allowed) {
      return "recorded twice: " + text_of(trial);
    }
    if (!plausible(trial)) {
      return "not what was measured: " + text_of(trial);
    }
    if (trial.device == 0 && !doubts) {
      return "of no device: " + text_of(trial);
    }
  }
  return "";
}

void DeviceDiary::write(const Promise& promise) {
  if (promise.is_commit) {
    commits_[{promise.record.device, promise.record.workload}] = promise.record;
  } else {
    trials_.push_back(promise.record);
  }
}

bool DeviceDiary::may_be_dropped(const ReadRecord& trial, const ReadHistory& history, uint32_t device) const {
  // Records refer to fingerprints by their order: one that reads as whole and then not takes its records along.
  if (doubts_ && std::find(history.devices.begin(), history.devices.end(), trial.device) == history.devices.end()) {
    return true;
  }
  const ReadRecord* const commit = last_commit(history, device, trial.workload);
  if (history.generation == generation_) {
    return false;
  }
  if (trial.device != device) {
    return pressure_ == Pressure::kHigh || commit != nullptr;
  }
  const bool ordinary = !trial.is_default && !is_failure(trial.outcome);
  const bool replaced = commit != nullptr ? trial.knobs != commit->knobs : doubts_;
  return pressure_ == Pressure::kHigh && ordinary && replaced;
}

std::string DeviceDiary::complaint_of_commits(const ReadHistory& history, uint32_t device) const {
  for (const auto& [place, commit] : commits_) {
    const ReadRecord* const found = last_commit(history, place.first, place.second);
    if (found == nullptr) {
      const bool gone = std::find(history.devices.begin(), history.devices.end(), place.first) == history.devices.end();
      if (doubts_ && gone) {
        continue;
      }
      if (place.first == device || pressure_ == Pressure::kMild || history.generation == generation_) {
        return "lost commit: " + text_of(commit);
      }
    } else if (found->knobs != commit.knobs || found->default_ns != commit.default_ns ||
               found->tuned_ns != commit.tuned_ns) {
      return "another commit than told: " + text_of(commit);
    }
  }
  return "";
}

std::string DeviceDiary::complaint(const ReadHistory& history, uint32_t device) const {
  if (!history.present && !trials_.empty()) {
    return "no history";
  }
  if (!history.ascending) {
    return "frames out of order";
  }
  for (const ReadRecord& trial : trials_) {
    const bool found = std::any_of(history.trials.begin(), history.trials.end(),
                                   [&](const ReadRecord& other) { return same_trial(trial, other); });
    if (!found && !may_be_dropped(trial, history, device)) {
      return "lost trial: " + text_of(trial);
    }
  }
  const std::string of_trials = complaint_of_trials(history, doubts_);
  return of_trials.empty() ? complaint_of_commits(history, device) : of_trials;
}

void DeviceDiary::forget_dropped(const ReadHistory& history) {
  generation_ = history.generation;
  std::erase_if(trials_, [&](const ReadRecord& trial) {
    return std::none_of(history.trials.begin(), history.trials.end(),
                        [&](const ReadRecord& other) { return same_trial(trial, other); });
  });
  std::erase_if(commits_, [&](const auto& entry) {
    return last_commit(history, entry.first.first, entry.first.second) == nullptr;
  });
}

}  // namespace temper::test
