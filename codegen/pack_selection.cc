#include "codegen/pack_selection.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/random.h"

namespace temper {
namespace {

// A predicted time is off by some 10 % either way between configs of one workload (the analytic prior against
// measurements, on x86-64), half of it the same for all workloads of a variant; a measured one by 2 %. What a variant
// is worth is its mean over so many draws of these errors: so a pack also holds what only might be better.
constexpr double kPredictionError = 0.10;
constexpr double kMeasurementError = 0.02;
constexpr size_t kDraws = 32;
constexpr uint64_t kSeed = 0x7E3A;

using Draws = std::array<double, kDraws>;

/// About normal, mean 0, deviation 1: the sum of four even draws.
double normal(Random& random) {
  double sum = 0;
  for (int i = 0; i < 4; ++i) {
    sum += (static_cast<double>(random.next()) + 0.5) / 4294967296.0;
  }
  return (sum - 2.0) * std::sqrt(3.0);
}

/// Times relative to the workload's best, by candidate and workload, one for each draw; empty where it cannot serve.
using DrawnTimes = std::vector<std::vector<Draws>>;

DrawnTimes draw_times(const SelectionProblem& problem) {
  DrawnTimes drawn(problem.candidates.size());
  for (size_t c = 0; c < problem.candidates.size(); ++c) {
    Random random(kSeed + c);
    Draws shared;
    for (double& draw : shared) {
      draw = normal(random);
    }
    for (size_t w = 0; w < problem.workloads.size(); ++w) {
      const SelectionWorkload& workload = problem.workloads[w];
      const double error = workload.measured ? kMeasurementError : kPredictionError;
      Draws times;
      for (size_t d = 0; d < kDraws; ++d) {
        const double off = error * std::sqrt(0.5) * (shared[d] + normal(random));
        times[d] = problem.candidates[c].times[w] / workload.best_time * std::exp(off);
      }
      drawn[c].push_back(times);
    }
  }
  return drawn;
}

class Ordering {
 public:
  Ordering(const SelectionProblem& problem, uint32_t most)
      : problem_(problem), drawn_(draw_times(problem)), best_(problem.workloads.size()), most_(most) {
    taken_.resize(problem.candidates.size());
    served_.resize(problem.workloads.size());
  }

  Result<bool> serve_all();
  void take_defaults();
  void take_gains(double least_gain);
  SelectionOrder order;

 private:
  bool serves(size_t c, size_t w) const { return problem_.candidates[c].times[w] > 0; }
  double gain(size_t c) const;
  void take(size_t c);
  bool full() const { return order.candidates.size() >= most_; }

  const SelectionProblem& problem_;
  DrawnTimes drawn_;
  std::vector<Draws> best_;  ///< of those taken, by workload
  std::vector<bool> taken_, served_;
  uint32_t most_;
};

/// Share of the network's time that the candidate takes off, mean over the draws. Workloads served by nothing count
/// nothing.
double Ordering::gain(size_t c) const {
  double sum = 0;
  for (size_t w = 0; w < best_.size(); ++w) {
    for (size_t d = 0; served_[w] && serves(c, w) && d < kDraws; ++d) {
      sum += problem_.workloads[w].weight * std::max(best_[w][d] - drawn_[c][w][d], 0.0);
    }
  }
  return sum / kDraws;
}

void Ordering::take(size_t c) {
  order.candidates.push_back(static_cast<uint32_t>(c));
  taken_[c] = true;
  for (size_t w = 0; w < best_.size(); ++w) {
    for (size_t d = 0; serves(c, w) && d < kDraws; ++d) {
      best_[w][d] = served_[w] ? std::min(best_[w][d], drawn_[c][w][d]) : drawn_[c][w][d];
    }
    served_[w] = served_[w] || serves(c, w);
  }
}

/// Greedy set cover: the most workloads per byte; of equals the one whose predicted times are less. A workload that
/// some candidate serves unpacked counts as served by such a one alone.
Result<bool> Ordering::serve_all() {
  const size_t workloads = problem_.workloads.size();
  std::vector<bool> any_unpacked(workloads), done(workloads);
  for (size_t w = 0; w < workloads; ++w) {
    bool any = false;
    for (size_t c = 0; c < taken_.size(); ++c) {
      any = any || serves(c, w);
      any_unpacked[w] = any_unpacked[w] || (serves(c, w) && problem_.candidates[c].unpacked[w]);
    }
    if (!any) {
      return Error{TEMPER_NOT_FOUND, "no kernel can be made for workload " + problem_.workloads[w].name};
    }
  }
  const auto does = [&](size_t c, size_t w) {
    return !done[w] && serves(c, w) && (!any_unpacked[w] || problem_.candidates[c].unpacked[w]);
  };
  while (std::find(done.begin(), done.end(), false) != done.end()) {
    size_t best = taken_.size();
    double best_worth = 0;
    for (size_t c = 0; c < taken_.size(); ++c) {
      double worth = 0;  // a workload counts 1 where the variant is as fast as any, less where it is slower
      for (size_t w = 0; w < workloads; ++w) {
        worth += does(c, w) ? problem_.workloads[w].best_time / problem_.candidates[c].times[w] : 0.0;
      }
      worth /= problem_.candidates[c].bytes;
      if (!taken_[c] && worth > best_worth) {
        best = c;
        best_worth = worth;
      }
    }
    for (size_t w = 0; w < workloads; ++w) {
      done[w] = done[w] || does(best, w);
    }
    take(best);
  }
  order.serving = static_cast<uint32_t>(order.candidates.size());
  return true;
}

void Ordering::take_defaults() {
  while (!full()) {
    size_t best = taken_.size();
    double best_worth = -1;
    for (const SelectionWorkload& workload : problem_.workloads) {
      const size_t c = workload.default_candidate;
      const double worth = taken_[c] ? -1 : gain(c) / problem_.candidates[c].bytes;
      if (worth > best_worth) {
        best = c;
        best_worth = worth;
      }
    }
    if (best == taken_.size()) {
      return;
    }
    take(best);
  }
}

void Ordering::take_gains(double least_gain) {
  while (!full()) {
    size_t best = taken_.size();
    double best_worth = 0;
    for (size_t c = 0; c < taken_.size(); ++c) {
      const double gained = taken_[c] ? 0 : gain(c);
      if (gained >= least_gain && gained / problem_.candidates[c].bytes > best_worth) {
        best = c;
        best_worth = gained / problem_.candidates[c].bytes;
      }
    }
    if (best == taken_.size()) {
      return;
    }
    take(best);
  }
}

}  // namespace

Result<SelectionOrder> order_variants(const SelectionProblem& problem, double least_gain, uint32_t most) {
  Ordering ordering(problem, most);
  if (Result<bool> served = ordering.serve_all(); !served) {
    return served.error();
  }
  ordering.take_defaults();
  ordering.take_gains(least_gain);
  return ordering.order;
}

Result<uint32_t> prefix_within(const SelectionProblem& problem, const SelectionOrder& order, uint64_t data_bytes,
                               uint64_t limit_bytes) {
  uint64_t bytes = data_bytes, serving_bytes = 0;
  uint32_t count = 0;
  std::vector<bool> served(problem.workloads.size(), false);
  for (uint32_t i = 0; i < order.candidates.size(); ++i) {
    const VariantCandidate& candidate = problem.candidates[order.candidates[i]];
    bytes += candidate.bytes;
    serving_bytes += i < order.serving ? candidate.bytes : 0;
    for (size_t w = 0; bytes <= limit_bytes && w < served.size(); ++w) {
      served[w] = served[w] || candidate.times[w] > 0;
    }
    count += bytes <= limit_bytes ? 1 : 0;
  }
  const auto left_out = std::find(served.begin(), served.end(), false);
  if (left_out == served.end()) {
    return count;
  }
  const std::string& name = problem.workloads[static_cast<size_t>(left_out - served.begin())].name;
  return Error{TEMPER_STORAGE_FULL, "no kernel for workload " + name + " fits into " + std::to_string(limit_bytes) +
                                        " bytes: the fewest that serve every workload take " +
                                        std::to_string(serving_bytes) + ", the pack's data " +
                                        std::to_string(data_bytes) + ", " + std::to_string(data_bytes + serving_bytes) +
                                        " in all"};
}

std::vector<double> predicted_losses(const SelectionProblem& problem, const std::vector<uint32_t>& candidates) {
  std::vector<double> losses;
  for (size_t w = 0; w < problem.workloads.size(); ++w) {
    double best = INFINITY;
    for (const uint32_t c : candidates) {
      const double time = problem.candidates[c].times[w];
      best = time > 0 ? std::min(best, time) : best;
    }
    losses.push_back(best / problem.workloads[w].best_time - 1);
  }
  return losses;
}

}  // namespace temper
