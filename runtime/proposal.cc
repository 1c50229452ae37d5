// How searchers come to a proposal, one candidate at a time: walks over the cost model as corrected by trials, the
// climb around the incumbent, samples and the grid. See runtime/searcher.h.
#include "runtime/learning.h"
#include "runtime/searcher.h"

namespace temper {
namespace {

using Stage = Proposal::Stage;

constexpr uint32_t kGridSteps = 16384;  // configs looked at by one proposal at most
constexpr uint32_t kSamples = 16;
constexpr uint32_t kNearTries = 12;
constexpr uint32_t kMisses = 96;  // illegal candidates in a row that count as a try
constexpr uint32_t kClimbFrom = 192;
constexpr int32_t kWorst = INT32_MAX;

// Metropolis with base 2: accepts a step that is worse by delta with probability 2^(-delta / temperature), both log2
// Q8.
bool accept(Random& random, int32_t delta, int32_t temperature_q8) {
  if (delta <= 0) {
    return true;
  }
  const int32_t luck_q8 = 16 * 256 - log2_q8(1u + (random.next() >> 16));  // -log2 of a uniform number
  return ((luck_q8 * temperature_q8) >> 8) >= delta;
}

// What is tried where a stage found nothing: the models first, at last enumeration as far as its bound reaches.
Stage fallback(Stage stage) {
  switch (stage) {
    case Stage::kNear:
    case Stage::kClimb:
      return Stage::kSeed;
    case Stage::kSeed:
    case Stage::kAnneal:
      return Stage::kSample;
    default:
      return Stage::kGrid;
  }
}

}  // namespace

void Searcher::enter(Stage stage) {
  Proposal& p = *proposal_;
  p.stage = stage;
  p.step = 0;
  p.misses = 0;
  p.knob = 0;
  p.best_score = kWorst;
  if (stage == Stage::kNear) {
    p.base = elites_.entry[random_.below(2) == 0 ? 0 : random_.below(elites_.count)].config;
  }
}

// One in eight anywhere; the rest around what was measured, the more the nearer the end is; else where the models
// point.
Stage Searcher::choose_stage() {
  if (kind_ == SearcherKind::kGrid || kind_ == SearcherKind::kRandom) {
    return kind_ == SearcherKind::kGrid ? Stage::kGrid : Stage::kSample;
  }
  const uint32_t draw = random_.below(256);
  if (kind_ == SearcherKind::kCollect) {
    return draw < 128 ? Stage::kSample : draw < 192 || elites_.count == 0 ? Stage::kSeed : Stage::kNear;
  }
  const uint32_t near = elites_.count == 0 ? 0 : 64 + spent_q8_ * 3 / 8;
  if (draw < 32) {
    return Stage::kSample;
  }
  if (draw >= 32 + near) {
    return Stage::kSeed;
  }
  return spent_q8_ >= kClimbFrom && random_.below(2) == 0 ? Stage::kClimb : Stage::kNear;
}

int32_t Searcher::predict(const Config& config) const {
  int32_t predicted = 0;
  model_.predict(model_.self, *space_, {&config, 1}, &predicted);
  return predicted;
}

int32_t Searcher::score(const Config& config) const {
  const int32_t predicted = predict(config);
  return learned_ == nullptr ? predicted
                             : predicted + learning_->adjust(*learned_, *space_, config, predicted, 256u - spent_q8_);
}

// The candidate's score, kWorst when it is illegal; the best that is new is kept.
int32_t Searcher::consider(const Config& config) {
  if (!space_->legal(config)) {
    return kWorst;
  }
  const int32_t found = score(config);
  if (found < proposal_->best_score && !visited(config)) {
    proposal_->best_score = found;
    proposal_->best = config;
  }
  return found;
}

// Where rejection found nothing once, it is not asked again.
Status Searcher::sample_step(Config* out) {
  if (sparse_) {
    return TEMPER_NOT_FOUND;
  }
  const Status status =
      space_->sample_step(random_, &proposal_->sampler, out, learning_ == nullptr ? nullptr : learning_->descend);
  sparse_ = learning_ == nullptr && status == TEMPER_NOT_FOUND;
  return status;
}

bool Searcher::sample_one() {
  Proposal& p = *proposal_;
  const Status status = sample_step(&p.best);
  if (status == TEMPER_MORE) {
    return false;
  }
  const bool found = status.ok() && !visited(p.best);
  p.best_score = found ? 0 : kWorst;
  return found || !status.ok() || ++p.step == kSamples;
}

bool Searcher::grid_one() {
  Proposal& p = *proposal_;
  if (cursor_done_ || ++p.step == kGridSteps) {
    return true;
  }
  if (space_->legal(cursor_) && !visited(cursor_)) {
    p.best = cursor_;
    p.best_score = 0;
    return true;
  }
  cursor_done_ = !space_->next(&cursor_);
  return false;
}

// Near the end of the budget the models have said what they know: what is left is to try the incumbent's single
// changes, the likeliest first.
bool Searcher::climb_one() {
  Proposal& p = *proposal_;
  while (p.knob < space_->knob_count() && p.step == space_->choice_count(p.knob)) {
    p.step = 0;
    ++p.knob;
  }
  if (p.knob == space_->knob_count()) {
    return true;
  }
  Config config = elites_.entry[0].config;
  config.choice[p.knob] = static_cast<uint8_t>(p.step++);
  if (!visited(config)) {
    consider(config);
  }
  return false;
}

// In turn at an elite and at a sample, so that walks neither all start at the incumbent nor forget it.
bool Searcher::seed_one() {
  Proposal& p = *proposal_;
  const bool any = elites_.count > 0;
  if (p.turn % 2 == 0 && any) {
    p.base = elites_.entry[random_.below(elites_.count)].config;
  } else {
    const Status status = sample_step(&p.base);
    if (status == TEMPER_MORE) {
      return false;
    }
    if (!status.ok() && !any) {
      return true;
    }
    p.base = status.ok() ? p.base : elites_.entry[0].config;
  }
  ++p.turn;
  enter(Stage::kAnneal);
  return false;
}

// Neighbours of the base. Annealing begins with the base itself and moves it, the search near an elite does not.
bool Searcher::walk_one(uint32_t effort) {
  Proposal& p = *proposal_;
  const bool moves = p.stage == Stage::kAnneal;
  const bool first = moves && p.step == 0;
  const uint32_t tries = moves || effort < kNearTries ? effort + 1 : kNearTries;
  const Config next = first ? p.base : space_->mutate(random_, p.base);
  const int32_t found = consider(next);
  if (found == kWorst && ++p.misses < kMisses) {
    return false;  // illegal; many in a row count as a try
  }
  p.misses = 0;
  const int32_t temperature_q8 = 16 + static_cast<int32_t>((tries - p.step) * 240 / tries);
  if (moves && found != kWorst && (first || accept(random_, found - p.base_score, temperature_q8))) {
    p.base = next;
    p.base_score = found;
  }
  return ++p.step >= tries;
}

bool Searcher::work(uint32_t effort) {
  switch (proposal_->stage) {
    case Stage::kNear:
    case Stage::kAnneal:
      return walk_one(effort);
    case Stage::kClimb:
      return climb_one();
    case Stage::kSeed:
      return seed_one();
    case Stage::kSample:
      return sample_one();
    default:
      return grid_one();
  }
}

Status Searcher::propose(Config* out, uint32_t effort, uint32_t candidates) {
  if (exhausted_ || visited_->full()) {
    return TEMPER_NOT_FOUND;
  }
  Proposal& p = *proposal_;
  if (p.owner != this) {
    p.owner = this;
    p.stage = Stage::kNone;
    p.turn = 0;
    p.sampler.tests = 0;
  }
  for (; candidates > 0; --candidates) {
    if (hints_.count > 0) {
      if (propose_hint(out)) {
        return {};
      }
      continue;
    }
    if (p.stage == Stage::kNone) {
      enter(choose_stage());
    }
    if (!work(effort)) {
      continue;
    }
    if (p.best_score != kWorst && take(p.best, out)) {
      p.stage = Stage::kNone;
      return {};
    }
    if (p.stage == Stage::kGrid) {
      exhausted_ = true;
      return TEMPER_NOT_FOUND;
    }
    enter(fallback(p.stage));
  }
  return TEMPER_MORE;
}

void Searcher::look_ahead(uint32_t configs) {
  for (; kind_ == SearcherKind::kGrid && configs > 0 && !cursor_done_; --configs) {
    if (!visited(cursor_) && space_->legal(cursor_)) {
      return;
    }
    cursor_done_ = !space_->next(&cursor_);
  }
  exhausted_ = exhausted_ || cursor_done_;
}

}  // namespace temper
