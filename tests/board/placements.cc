// Counts a history's trials by where they placed packed constant and workspace (the knob that packs for boards with
// several memories add): placements HISTORY prints a line "memory N: ok N, other N" each. Called by the boot tests.
#include <cstdio>
#include <map>

#include "schedules/pack_reduction.h"
#include "tools/history_records.h"

namespace {

struct Outcomes {
  uint32_t ok = 0, other = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const temper::Result<temper::HistorySource> source =
      temper::read_history(argc > 1 ? argv[1] : "no history was named");
  if (!source.ok()) {
    std::fprintf(stderr, "placements: %s\n", source.error().message.c_str());
    return 3;
  }
  std::map<int, Outcomes> memories;
  const temper::HistoryRecords records = temper::read_records(*source);
  for (const temper::HistoryRecord& record : records.trials) {
    const temper::TrialView view = temper::trial_of(record);
    for (const temper::format::KnobValue& knob : view.knobs) {
      if (knob.id() == temper::kMemoryKnobId) {
        Outcomes& counts = memories[knob.value()];
        ++(view.trial.outcome() == TEMPER_OUTCOME_OK ? counts.ok : counts.other);
      }
    }
  }
  for (const auto& [memory, counts] : memories) {
    std::printf("memory %d: ok %u, other %u\n", memory, counts.ok, counts.other);
  }
  return 0;
}
