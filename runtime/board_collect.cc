// How a run that only collects finds its candidates; linked where temper_collect_start is called.
#include "runtime/board_tuner.h"

namespace temper {
namespace {

constexpr uint32_t kNeighbourTries = 16;  // changes of one or two knobs: most are legal, and new

}  // namespace

// Samples and neighbours of the best in turn: a data set that covers the space and is dense where it matters.
Status BoardTuner::propose_to_collect(BoardTuner& tuner) {
  const Span<const Elite> elites = tuner.searcher_.elites();
  Random random(tuner.config_->seed + tuner.run_.trials);
  for (uint32_t i = 0; tuner.run_.trials % 2 != 0 && !elites.empty() && i < kNeighbourTries; ++i) {
    tuner.candidate_ = tuner.space().mutate(random, elites[0].config);
    if (tuner.space().legal(tuner.candidate_) && tuner.searcher_.visit(tuner.candidate_)) {
      return TEMPER_OK;
    }
  }
  return tuner.searcher_.propose(&tuner.candidate_, 1, kNeighbourTries);
}

}  // namespace temper
