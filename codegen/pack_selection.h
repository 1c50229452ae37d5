// Chooses which variants a kernel pack holds: an order of candidates in which every prefix is a pack, so that a larger
// limit never gives a worse one. First the fewest bytes that serve every workload (by variants that read constants
// unpacked, where there are any), then each workload's default variant, then whatever takes most time off the network
// per byte. Called by kernel_pack; works on numbers alone, compiles and measures nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/result.h"

namespace temper {

/// A variant that could be in the pack. Its times hold the best over the run knobs, by workload; any unit, the same for
/// all candidates of a workload; 0: the variant cannot serve it.
struct VariantCandidate {
  uint32_t bytes;  ///< code, constants and the pack's data of it
  std::vector<double> times;
  std::vector<bool> unpacked;  ///< by workload: serves it without a packed constant
};

struct SelectionWorkload {
  std::string name;
  double weight;               ///< share of the network's time at best_time; all sum up to 1
  double best_time;            ///< of the whole space, in the candidates' unit
  uint32_t default_candidate;  ///< index
  bool measured;               ///< its times are measured, not predicted
};

struct SelectionProblem {
  std::vector<SelectionWorkload> workloads;
  std::vector<VariantCandidate> candidates;
};

/// Candidates in the order of taking; the first `serving` of them serve every workload.
struct SelectionOrder {
  std::vector<uint32_t> candidates;
  uint32_t serving = 0;
};

/// `least_gain`: a variant that takes less than this share off the network's expected time is not worth its bytes.
/// `most`: candidates in all. TEMPER_NOT_FOUND, naming a workload that no candidate serves. Deterministic.
Result<SelectionOrder> order_variants(const SelectionProblem& problem, double least_gain, uint32_t most);

/// The largest prefix of the order that fits into `limit_bytes` beside the pack's data. TEMPER_STORAGE_FULL, naming the
/// first workload that would be left out and the limit that would do, when none serves them all.
Result<uint32_t> prefix_within(const SelectionProblem& problem, const SelectionOrder& order, uint64_t data_bytes,
                               uint64_t limit_bytes);

/// Time of the best of these candidates over the best of the whole space, less 1; by workload.
std::vector<double> predicted_losses(const SelectionProblem& problem, const std::vector<uint32_t>& candidates);

}  // namespace temper
