// The visited set; hints, elites and what trials teach. See runtime/searcher.h.
#include "runtime/searcher.h"

#include <cstring>

#include "runtime/learning.h"

namespace temper {
namespace {

constexpr uint32_t kMaxGrid = 4096;  // spaces up to here are enumerated where the trials suffice
constexpr uint32_t kSmallGrid = 64;  // and up to here where the number of trials is not known

}  // namespace

VisitedSet::VisitedSet(Arena& arena, uint32_t max_entries) : hashes_(arena.take_array<uint32_t>(max_entries)) {
  capacity_ = hashes_ == nullptr ? 0 : max_entries;
}

bool VisitedSet::contains(uint32_t hash) const {
  uint32_t i = 0;
  while (i < count_ && hashes_[i] != hash) {
    ++i;
  }
  return i < count_;
}

bool VisitedSet::insert(uint32_t hash) {
  if (full() || contains(hash)) {
    return false;
  }
  hashes_[count_++] = hash;
  return true;
}

Searcher::Searcher(Arena& arena, SearcherKind kind, const Space* space, VisitedSet* visited, Proposal* proposal,
                   CostModel model, uint64_t seed, const temper_learning_functions* learning)
    : kind_(kind),
      space_(space),
      visited_(visited),
      proposal_(proposal),
      model_(model),
      random_(seed ^ space->workload().key),
      salt_(static_cast<uint32_t>(space->workload().key ^ (space->workload().key >> 32))),
      learning_(learning),
      learned_(learning == nullptr ? nullptr : learning->place(arena, space->view())) {}

void Searcher::choose_kind(uint32_t trials) {
  if (kind_ != SearcherKind::kAuto) {
    return;
  }
  const uint32_t most = trials == 0 ? kSmallGrid : trials < kMaxGrid ? trials : kMaxGrid;
  kind_ = space_->larger_than(most) ? SearcherKind::kAnnealing : SearcherKind::kGrid;
}

bool Searcher::visit(const Config& config) { return visited_->insert(hash_config(config, salt_)); }

bool Searcher::visited(const Config& config) const {
  return visited_->contains(hash_config(config, salt_)) ||
         (!suspects_.empty() && suspects_.is_out(space_->find_variant(config)));
}

void EliteList::remove(uint32_t index) {
  --count;
  std::memmove(entry + index, entry + index + 1, (count - index) * sizeof *entry);
}

void EliteList::put(const Config& config, uint64_t time_ns, OfKnown of_known) {
  const Config kept = config;  // may be one of the elites itself
  uint32_t at = 0;
  while (at < count && !(entry[at].config == kept)) {
    ++at;
  }
  if (at < count) {
    if (of_known == OfKnown::kOldCounts) {
      return;
    }
    remove(at);
  }
  at = 0;
  while (at < count && entry[at].time_ns <= time_ns) {
    ++at;
  }
  if (at == kEliteCount) {
    return;
  }
  if (count < kEliteCount) {
    ++count;
  }
  std::memmove(entry + at + 1, entry + at, (count - 1u - at) * sizeof *entry);
  entry[at].config = kept;
  entry[at].time_ns = time_ns;
}

void Searcher::hint(const Config& config, uint64_t time_ns) {
  hints_.put(config, time_ns, EliteList::OfKnown::kOldCounts);
}

void Searcher::observe(const Config& config, temper_outcome outcome, uint64_t time_ns) {
  ++trial_count_;
  visit(config);
  suspects_.observe(space_->find_variant(config), outcome);
  const bool valid = has_time(outcome);
  failed_in_a_row_ = valid ? 0 : outcome == last_outcome_ ? failed_in_a_row_ + 1 : 1;
  last_outcome_ = outcome;
  if (learned_ != nullptr) {
    learning_->learn(*learned_, *space_, config, outcome, predict(config), time_ns);
  }
  if (outcome == TEMPER_OUTCOME_OK && time_ns != 0) {
    elites_.put(config, time_ns, EliteList::OfKnown::kNewCounts);
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
  const Config config = hints_.entry[0].config;
  hints_.remove(0);
  return space_->legal(config) && !visited(config) && take(config, out);
}

}  // namespace temper
