// The visited set, and what all searchers share: hints, elites, grid and random proposals. See runtime/searcher.h.
#include "runtime/searcher.h"

namespace temper {
namespace {

constexpr uint32_t kMaxGrid = 4096;     // spaces up to here are enumerated where the trials suffice
constexpr uint32_t kSmallGrid = 64;     // and up to here where the number of trials is not known
constexpr uint32_t kGridSteps = 16384;  // configs looked at by one proposal at most
constexpr uint32_t kRandomTries = 16;

}  // namespace

VisitedSet::VisitedSet(Arena& arena, uint32_t max_entries) {
  uint32_t size = 16;
  while (size < max_entries + max_entries / 3 + 1 && size < (1u << 30)) {
    size *= 2;
  }
  slots_ = arena.take_array<uint32_t>(size);
  for (uint32_t i = 0; slots_ != nullptr && i < size; ++i) {
    slots_[i] = 0;
  }
  mask_ = size - 1;
  capacity_ = slots_ == nullptr ? 0 : max_entries;
}

uint32_t VisitedSet::find(uint32_t hash) const {
  uint32_t index = (hash * 0x9E3779B1u) & mask_;
  while (slots_[index] != 0 && slots_[index] != hash) {
    index = (index + 1) & mask_;
  }
  return index;
}

bool VisitedSet::contains(uint32_t hash) const {
  hash = hash == 0 ? 1 : hash;
  return count_ != 0 && slots_[find(hash)] == hash;
}

bool VisitedSet::insert(uint32_t hash) {
  hash = hash == 0 ? 1 : hash;
  if (full()) {
    return false;
  }
  uint32_t& entry = slots_[find(hash)];
  if (entry == hash) {
    return false;
  }
  entry = hash;
  ++count_;
  return true;
}

Searcher::Searcher(Arena& arena, SearcherKind kind, const Space* space, VisitedSet* visited, CostModel model,
                   uint64_t seed)
    : kind_(kind),
      space_(space),
      visited_(visited),
      model_(model),
      random_(seed ^ space->workload().key),
      salt_(static_cast<uint32_t>(space->workload().key ^ (space->workload().key >> 32))),
      learned_(arena, *space) {}

void Searcher::choose_kind(uint32_t trials) {
  if (kind_ != SearcherKind::kAuto) {
    return;
  }
  const uint64_t size = space_->size();
  const bool fits = size <= kMaxGrid && size <= (trials == 0 ? kSmallGrid : trials);
  kind_ = fits ? SearcherKind::kGrid : SearcherKind::kAnnealing;
}

bool Searcher::visit(const Config& config) { return visited_->insert(hash_config(config, salt_)); }

bool Searcher::visited(const Config& config) const { return visited_->contains(hash_config(config, salt_)); }

void Searcher::hint(const Config& config, uint64_t time_ns) {
  uint32_t at = hint_count_;
  for (uint32_t i = 0; i < hint_count_; ++i) {
    if (hint_[i].config == config) {
      return;
    }
  }
  while (at > 0 && hint_[at - 1].time_ns > time_ns) {
    --at;
  }
  if (at >= kHintCount) {
    return;
  }
  hint_count_ = static_cast<uint8_t>(hint_count_ < kHintCount ? hint_count_ + 1 : kHintCount);
  for (uint32_t i = hint_count_ - 1u; i > at; --i) {
    hint_[i] = hint_[i - 1];
  }
  hint_[at] = Elite{config, time_ns};
}

void Searcher::observe(const Config& config, temper_outcome outcome, uint64_t time_ns) {
  ++trial_count_;
  visit(config);
  const bool valid = outcome == TEMPER_OUTCOME_OK || outcome == TEMPER_OUTCOME_TOO_SLOW;
  failed_in_a_row_ = valid ? 0 : outcome == last_outcome_ ? failed_in_a_row_ + 1 : 1;
  last_outcome_ = outcome;
  learned_.learn_validity(*space_, config, valid);
  if (!valid || time_ns == 0) {
    return;
  }
  int32_t predicted = 0;
  model_.predict(model_.self, *space_, {&config, 1}, &predicted);
  learned_.learn_time(*space_, config, predicted, time_ns, outcome == TEMPER_OUTCOME_TOO_SLOW);
  if (outcome != TEMPER_OUTCOME_OK) {
    return;
  }
  const Elite fresh{config, time_ns};            // `config` may be one of the elites itself
  for (uint32_t i = 0; i < elite_count_; ++i) {  // measured again: the newer result counts
    if (elite_[i].config == fresh.config) {
      for (--elite_count_; i < elite_count_; ++i) {
        elite_[i] = elite_[i + 1];
      }
    }
  }
  uint32_t at = elite_count_;
  while (at > 0 && elite_[at - 1].time_ns > time_ns) {
    --at;
  }
  if (at < kEliteCount) {
    elite_count_ = static_cast<uint8_t>(elite_count_ < kEliteCount ? elite_count_ + 1 : kEliteCount);
    for (uint32_t i = elite_count_ - 1u; i > at; --i) {
      elite_[i] = elite_[i - 1];
    }
    elite_[at] = fresh;
  }
}

void Searcher::set_progress(uint32_t spent_q8) { spent_q8_ = spent_q8 > 256 ? 256 : spent_q8; }

bool Searcher::take(const Config& config, Config* out) {
  if (!visit(config)) {
    return false;
  }
  *out = config;
  return true;
}

bool Searcher::propose_hint(Config* out) {
  while (hint_count_ > 0) {
    const Config config = hint_[0].config;
    --hint_count_;
    for (uint32_t i = 0; i < hint_count_; ++i) {
      hint_[i] = hint_[i + 1];
    }
    if (space_->legal(config) && take(config, out)) {
      return true;
    }
  }
  return false;
}

bool Searcher::propose_random(Config* out, uint32_t tries) {
  Config config;
  for (uint32_t i = 0; i < tries; ++i) {
    if (space_->sample(random_, &config).ok() && take(config, out)) {
      return true;
    }
  }
  return false;
}

bool Searcher::advance_cursor(uint32_t steps) {
  for (uint32_t i = 0; i < steps && !cursor_done_; ++i) {
    if (!visited(cursor_) && space_->legal(cursor_)) {
      return true;
    }
    cursor_done_ = !space_->next(&cursor_);
  }
  return false;
}

bool Searcher::propose_grid(Config* out, uint32_t steps) { return advance_cursor(steps) && take(cursor_, out); }

void Searcher::look_ahead() {
  if (kind_ == SearcherKind::kGrid && !exhausted_) {
    exhausted_ = !advance_cursor(kGridSteps);
  }
}

Status Searcher::propose(Config* out, uint32_t effort) {
  if (exhausted_ || visited_->full()) {
    exhausted_ = exhausted_ || !visited_->full();
    return TEMPER_NOT_FOUND;
  }
  if (propose_hint(out)) {
    return {};
  }
  bool found = false;
  if (kind_ == SearcherKind::kRandom) {
    found = propose_random(out, kRandomTries);
  } else if (kind_ != SearcherKind::kGrid) {
    // One in eight anywhere; the rest around what was measured, the more the nearer the end is; else where the models
    // point.
    const uint32_t draw = random_.below(256);
    const uint32_t near = elite_count_ == 0 ? 0 : 64 + spent_q8_ * 3 / 8;
    if (draw < 32) {
      found = propose_random(out, kRandomTries);
    } else if (draw < 32 + near) {
      found = propose_near(out, effort);
    }
    found = found || propose_annealed(out, effort) || propose_random(out, kRandomTries);
  }
  // What the others cannot find any more, enumeration does, as far as its bound reaches.
  found = found || propose_grid(out, kGridSteps);
  exhausted_ = !found;
  return found ? Status() : Status(TEMPER_NOT_FOUND);
}

}  // namespace temper
