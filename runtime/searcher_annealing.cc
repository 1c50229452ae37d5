// Annealing over the cost model as corrected by trials, and the climb around the incumbent. See runtime/searcher.h.
#include "runtime/searcher.h"

namespace temper {
namespace {

constexpr uint32_t kBatch = kChainCount;
constexpr uint32_t kNearTries = 12;
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

}  // namespace

int32_t Searcher::score(const Config& config) const {
  int32_t predicted = 0;
  model_.predict(model_.self, *space_, {&config, 1}, &predicted);
  return predicted + learned_.adjust(*space_, config, predicted, 256u - spent_q8_);
}

// One chain a proposal starts anew: in turn from an elite and from a random config, so that the chains neither all sit
// at the incumbent nor forget it.
void Searcher::refresh_chains() {
  while (chain_count_ < kChainCount) {
    Config& chain = chain_[chain_count_];
    if (chain_count_ < elite_count_) {
      chain = elite_[chain_count_].config;
    } else if (!space_->sample(random_, &chain).ok()) {
      break;
    }
    ++chain_count_;
  }
  if (chain_count_ == 0) {
    return;
  }
  Config& chain = chain_[next_chain_ % chain_count_];
  Config fresh;
  if (next_chain_ % 2 == 0 && elite_count_ > 0) {
    chain = elite_[random_.below(elite_count_)].config;
  } else if (space_->sample(random_, &fresh).ok()) {
    chain = fresh;
  }
  ++next_chain_;
}

bool Searcher::propose_annealed(Config* out, uint32_t effort) {
  refresh_chains();
  if (chain_count_ == 0) {
    return false;
  }
  int32_t at[kChainCount];
  int32_t best_score = kWorst;
  Config best;
  for (uint32_t c = 0; c < chain_count_; ++c) {
    at[c] = score(chain_[c]);
    if (at[c] < best_score && !visited(chain_[c])) {
      best_score = at[c];
      best = chain_[c];
    }
  }
  const uint32_t steps = effort / kBatch;
  int32_t temperature_q8 = 256;
  for (uint32_t step = 0; step < steps; ++step) {
    temperature_q8 = 16 + static_cast<int32_t>((steps - step) * 240 / steps);
    for (uint32_t c = 0; c < chain_count_; ++c) {
      Config next;
      if (!space_->neighbour(random_, chain_[c], &next).ok()) {
        continue;
      }
      const int32_t next_score = score(next);
      if (next_score < best_score && !visited(next)) {
        best_score = next_score;
        best = next;
      }
      if (accept(random_, next_score - at[c], temperature_q8)) {
        chain_[c] = next;
        at[c] = next_score;
      }
    }
  }
  return best_score != kWorst && take(best, out);
}

// Near the end of the budget the models have said what they know: what is left is to try the incumbent's single
// changes, the likeliest first.
bool Searcher::propose_climb(Config* out) {
  int32_t best_score = kWorst;
  Config best;
  for (uint32_t knob = 0; knob < space_->knob_count(); ++knob) {
    Config config = elite_[0].config;
    for (uint32_t choice = 0; choice < space_->choice_count(knob); ++choice) {
      if (choice == elite_[0].config.choice[knob]) {
        continue;
      }
      config.choice[knob] = static_cast<uint8_t>(choice);
      if (visited(config) || !space_->legal(config)) {
        continue;
      }
      const int32_t config_score = score(config);
      if (config_score < best_score) {
        best_score = config_score;
        best = config;
      }
    }
  }
  return best_score != kWorst && take(best, out);
}

bool Searcher::propose_near(Config* out, uint32_t effort) {
  if (spent_q8_ >= 192 && random_.below(2) == 0) {
    return propose_climb(out);
  }
  const Config& from = elite_[random_.below(2) == 0 ? 0 : random_.below(elite_count_)].config;
  int32_t best_score = kWorst;
  Config best;
  const uint32_t tries = effort < kNearTries ? effort : kNearTries;
  for (uint32_t i = 0; i < tries; ++i) {
    Config next;
    if (!space_->neighbour(random_, from, &next).ok() || visited(next)) {
      continue;
    }
    const int32_t next_score = score(next);
    if (next_score < best_score) {
      best_score = next_score;
      best = next;
    }
  }
  return best_score != kWorst && take(best, out);
}

}  // namespace temper
