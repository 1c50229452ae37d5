#include "tests/power_loss/cut_points.h"

#include <algorithm>
#include <set>
#include <utility>

namespace temper::test {
namespace {

constexpr size_t kMostFailures = 5;  // told; the rest is of the same kind

bool is_unsteady(const StorageImage& image) {
  return std::any_of(image.unsteady.begin(), image.unsteady.end(), [](uint8_t bits) { return bits != 0; });
}

// Its trial may be there though nobody was told; then a rematch may run it.
bool knows(const ReadHistory& history, uint32_t device, const Attempt& attempt) {
  return std::any_of(history.trials.begin(), history.trials.end(), [&](const ReadRecord& trial) {
    return trial.device == device && Attempt(trial.workload, trial.knobs) == attempt;
  });
}

}  // namespace

void CutPoints::check(const std::string& where, const std::string& complaint) {
  if (!complaint.empty() && tally_.failures.size() < kMostFailures) {
    tally_.failures.push_back(where + ": " + complaint);
  }
}

uint64_t CutPoints::seed_of(uint32_t operation, uint32_t tear) const {
  return choice_.seed * 0x100000001B3u + operation * 64 + tear;
}

void CutPoints::run(const std::vector<Stage>& stages) {
  for (size_t i = 0; i < stages.size(); ++i) {
    const Stage& stage = stages[i];
    const std::string where = "stage " + std::to_string(i);
    SimFlash flash(shape_, image_, choice_.seed);
    const BootResult result = life_.boot(stage, &flash);
    check(where, flash.faults().empty() ? "" : flash.faults().front());
    const bool lost = result.memory_only && stage.kind != StageKind::kCollect;
    check(where, result.status == TEMPER_OK && !lost ? "" : "is not completed even without a cut");
    reference_trials_ = result.trials;
    tally_.trials += result.trials;
    cut_boot(stage, {image_, diary_, 0, 0, where, {}}, flash, result,
             choose(static_cast<uint32_t>(flash.operations().size())), choice_.tears, choice_.again_depth);

    image_ = flash.image();
    for (const Promise& promise : result.promises) {
      diary_.write(promise);
    }
    const ReadHistory history = read_history(shape_, image_);
    check(where + " without a cut", diary_.complaint(history, stage.device));
    check_second_boot(stage, image_, where + " without a cut");
    diary_.forget_dropped(history);
    tally_.generations = history.generation;
  }
  for (const uint32_t erases : image_.erases) {
    tally_.erases += erases;
  }
}

// Ascending; a sync of a storage that keeps what it is given at once is no operation to cut.
std::vector<uint32_t> CutPoints::choose(uint32_t count) {
  std::vector<uint32_t> chosen;
  uint32_t next = 0;
  for (uint32_t at = 0; at < count; ++at) {
    const bool its_turn = choice_.spread == CutSpread::kEach ||
                          (choice_.spread == CutSpread::kAtRandom && dice_.below(choice_.sparse) == 0) ||
                          (choice_.spread == CutSpread::kLogarithmic && at == next);
    next += at == next ? 1 + dice_.below(2 * at / choice_.sparse + 1) : 0;
    if (its_turn) {
      chosen.push_back(at);
    }
  }
  return chosen;
}

// Cuts the boot that made these operations at the chosen ones.
void CutPoints::cut_boot(const Stage& stage, const Situation& before, const SimFlash& flash, const BootResult& result,
                         const std::vector<uint32_t>& chosen, uint32_t tears, uint32_t depth) {
  const std::vector<Operation>& operations = flash.operations();
  CutSeries series(shape_, before.image, operations);
  DeviceDiary diary = before.diary;
  uint32_t written = 0, executed = 0, trials = before.stage_trials;
  Attempt told;
  for (const uint32_t at : chosen) {
    for (; written < result.promises.size() && result.promises[written].operations <= at; ++written) {
      diary.write(result.promises[written]);
      if (!result.promises[written].is_commit) {
        told = {result.promises[written].record.workload, result.promises[written].record.knobs};
        ++trials;
      }
    }
    while (executed < result.executions.size() && result.executions[executed].operations <= at) {
      ++executed;
    }
    const bool idle = operations[at].kind == OperationKind::kSync && !shape_.cached && !shape_.is_file();
    const uint32_t first = dice_.below(static_cast<uint32_t>(Tear::kCount));
    for (uint32_t i = 0; i < tears && !idle && tally_.failures.size() < kMostFailures; ++i) {
      const uint32_t tear = (first + i) % static_cast<uint32_t>(Tear::kCount);
      const std::string where = before.where + ", cut " + std::to_string(before.cuts + 1) + " at operation " +
                                std::to_string(at) + " torn " + std::to_string(tear) + " seed " +
                                std::to_string(choice_.seed);
      Situation cut{series.cut(at, static_cast<Tear>(tear), seed_of(at, i)), diary, trials, before.cuts + 1, where, {}};
      if (executed != 0 && result.executions[executed - 1].attempt != told) {
        cut.in_flight = result.executions[executed - 1].attempt;
      }
      recover(stage, std::move(cut), depth);
    }
  }
}

void CutPoints::recover(const Stage& stage, Situation cut, uint32_t depth) {
  ++tally_.cut_points;
  if (is_unsteady(cut.image)) {
    cut.diary.doubt_last_frame();  // a boot may read as whole what the next one cannot
  }
  const bool steady = !cut.diary.doubts();
  const ReadHistory torn = read_history(shape_, cut.image);
  check(cut.where + ", before the next boot", cut.diary.complaint(torn, stage.device));
  tally_.trials_checked += cut.diary.trial_count();
  if (cut.in_flight.has_value() && knows(torn, stage.device, *cut.in_flight)) {
    cut.in_flight.reset();
  }

  SimFlash flash(shape_, cut.image, seed_of(cut.cuts, 63));
  const BootResult result = life_.boot(stage, &flash);
  ++tally_.reboots;
  check(cut.where, flash.faults().empty() ? "" : flash.faults().front());
  // A run that collects drops nothing of its own for room: its flash is full some day.
  const bool lost = result.memory_only && stage.kind != StageKind::kCollect;
  check(cut.where, lost ? "the history took no more" : "");
  DeviceDiary diary = cut.diary;
  for (const Promise& promise : result.promises) {
    diary.write(promise);
  }
  const ReadHistory after = read_history(shape_, flash.image());
  tally_.trials_checked += diary.trial_count();
  check(cut.where + ", after the next boot", diary.complaint(after, stage.device));
  if (steady) {
    check_quarantine(cut, torn.open_intents(), result, after, stage.device);
  }
  if (stage.kind == StageKind::kTune) {
    check(cut.where, result.status == TEMPER_OK && result.committed == life_.workload_count() ? "" : "not completed");
    // A cut that quarantines an earlier winner makes a whole search of what was to be confirmed.
    const bool quarantines = std::any_of(after.trials.begin(), after.trials.end(), [&](const ReadRecord& trial) {
      return trial.device == stage.device && trial.outcome == TEMPER_OUTCOME_CRASHED;
    });
    const uint32_t whole = life_.workload_count() * stage.trials;
    const uint32_t most = quarantines ? std::max(reference_trials_, whole) : reference_trials_;
    check(cut.where, cut.stage_trials + result.trials <= most + cut.cuts
                         ? ""
                         : "more trials than without a cut: " + std::to_string(cut.stage_trials + result.trials));
    if (steady) {
      check_second_boot(stage, flash.image(), cut.where);
    }
  }
  const uint32_t count = static_cast<uint32_t>(flash.operations().size());
  for (uint32_t i = 0; depth > 0 && count != 0 && i < choice_.again; ++i) {
    cut_boot(stage, cut, flash, result, {dice_.below(count)}, 1, depth - 1);
  }
}

// What was being tried when power failed is tried no more: it counts as a crash, but for a default, which is given a
// second chance.
void CutPoints::check_quarantine(const Situation& cut, const std::vector<ReadRecord>& open, const BootResult& result,
                                 const ReadHistory& after, uint32_t device) {
  std::set<Attempt> tried;
  for (const Execution& execution : result.executions) {
    tried.insert(execution.attempt);
  }
  for (const ReadRecord& intent : open) {
    const auto crashes = std::count_if(after.trials.begin(), after.trials.end(), [&](const ReadRecord& trial) {
      return trial.device == device && trial.workload == intent.workload && trial.knobs == intent.knobs &&
             trial.outcome == TEMPER_OUTCOME_CRASHED;
    });
    // Where the history takes no more, the intent stays open for the boots to come.
    check(cut.where, crashes != 0 || result.memory_only ? "" : "an open intent is no crash: " + text_of(intent));
    const bool again = !is_default(intent.knobs) && tried.count({intent.workload, intent.knobs}) != 0;
    check(cut.where, again ? "what was in quarantine was tried again: " + text_of(intent) : "");
  }
  if (cut.in_flight.has_value() && !is_default(cut.in_flight->second)) {
    check(cut.where, tried.count(*cut.in_flight) == 0 ? "" : "what power failed in was tried again");
  }
}

void CutPoints::check_second_boot(const Stage& stage, const StorageImage& image, const std::string& where) {
  if (stage.kind != StageKind::kTune) {
    return;
  }
  SimFlash flash(shape_, image, 0);
  const BootResult result = life_.boot(stage, &flash);
  ++tally_.reboots;
  const bool nothing = result.trials == 0 && result.executions.empty() && flash.operations().empty();
  check(where, nothing && flash.faults().empty() ? "" : "the second boot does something");
}

}  // namespace temper::test
