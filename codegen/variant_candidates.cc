#include "codegen/variant_candidates.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>

#include "runtime/history.h"
#include "runtime/searcher.h"

namespace temper {
namespace {

constexpr uint32_t kProposals = 160;  // of one search; each workload has two: over all configs, over unpacked ones
constexpr uint32_t kEffort = 48;      // model evaluations of a proposal
constexpr size_t kKept = 16;          // variants of one workload
constexpr double kWorst = 1.3;        // a variant so much slower than the best of its workload is not kept
constexpr uint64_t kSeed = 0x7E3A;

using Values = std::vector<uint16_t>;

/// The network's spaces: a pack in memory, without variants.
struct Spaces {
  std::vector<uint64_t> words;
  PackView view;
  std::vector<int32_t> values;
  std::vector<Interval> intervals;
  std::vector<Space> spaces;  ///< by workload; all share one scratch
};

Result<std::unique_ptr<Spaces>> open_spaces(const std::vector<NetworkWorkload>& workloads, const temper_facts& facts) {
  PackOptions options;
  options.digests = false;
  const Result<std::vector<uint8_t>> bytes = write_pack(workloads, options);
  if (!bytes) {
    return bytes.error();
  }
  auto made = std::make_unique<Spaces>();
  made->words.resize(bytes->size() / 8 + 1);
  std::copy(bytes->begin(), bytes->end(), reinterpret_cast<uint8_t*>(made->words.data()));
  if (const Status opened = PackView::open({made->words.data(), bytes->size(), nullptr, 0}, &made->view, nullptr);
      !opened.ok()) {
    return Error{opened.code(), "the network's spaces do not verify"};
  }
  made->values.resize(made->view.scratch_values());
  made->intervals.resize(made->view.scratch_intervals());
  for (uint32_t i = 0; i < workloads.size(); ++i) {
    made->spaces.emplace_back(&made->view, i, &facts, Scratch{made->values.data(), made->intervals.data()});
  }
  return made;
}

bool packs_nothing(const Space& space, const Config& config) {
  Shape shape;
  space.shape(config, &shape);
  return shape.packed_tensor == TEMPER_TENSOR_COUNT;
}

/// The prior, with configs that pack a constant behind all others.
void predict_unpacked_first(void*, const Space& space, Span<const Config> configs, int32_t* log_time_q8) {
  constexpr int32_t kBehind = 16 * 256;
  for (size_t i = 0; i < configs.size; ++i) {
    log_time_q8[i] = space.prior_q8(configs[i]) + (packs_nothing(space, configs[i]) ? 0 : kBehind);
  }
}

Values compile_values(const Space& space, const Config& config) {
  Values values;
  for (uint32_t knob = 0; knob < space.view().compile_knob_count; ++knob) {
    values.push_back(static_cast<uint16_t>(space.value(knob, config.choice[knob])));
  }
  return values;
}

double predicted(const Space& space, const Config& config) { return std::exp2(space.prior_q8(config) / 256.0); }

/// What is known of one variant on one workload.
struct Found {
  Config config;  ///< the best of its run knobs so far
  double predicted_time = 0;
  double measured_ns = 0;  ///< 0: was not measured
  bool unpacked = false;
};

/// One workload's variants. All functions leave the best config of each.
class WorkloadVariants {
 public:
  explicit WorkloadVariants(const Space* space) : space_(space) {}

  Result<bool> search(const std::string& name);
  void measure(const Config& config, double time_ns);
  /// Whether the variant serves the workload; the best over the run knobs is looked for where it is not known.
  const Found* find(const Values& variant);
  /// The variants worth compiling: the default's, the fastest, the fastest unpacked, the measured ones.
  std::vector<Values> worthy() const;
  const Values& default_variant() const { return default_; }

  double best_predicted() const;
  double best_measured() const;  ///< 0: none
  /// ns of one unit of predicted time, by the measured configs; 0: none was.
  double ns_per_unit() const;
  const Space& space() const { return *space_; }

 private:
  void propose(CostModel model, uint64_t seed);
  Found* offer(const Config& config);
  std::optional<Config> legal_start(const Values& variant) const;
  Config descend(Config config) const;

  const Space* space_;
  std::map<Values, Found> found_;
  std::vector<std::pair<double, double>> measured_;  ///< predicted, measured
  Values default_;
  Config best_;
  double best_time_ = INFINITY;
};

Found* WorkloadVariants::offer(const Config& config) {
  Found& found = found_[compile_values(*space_, config)];
  const double time = predicted(*space_, config);
  if (found.predicted_time == 0 || time < found.predicted_time) {
    found.config = config;
    found.predicted_time = time;
    found.unpacked = packs_nothing(*space_, config);
  }
  if (time < best_time_) {
    best_time_ = time;
    best_ = config;
  }
  return &found;
}

void WorkloadVariants::propose(CostModel model, uint64_t seed) {
  std::vector<uint64_t> memory(4096);
  Arena arena{reinterpret_cast<uint8_t*>(memory.data()), memory.size() * 8, 0};
  VisitedSet visited(arena, kProposals + 64);
  Proposal proposal;
  Searcher searcher(arena, SearcherKind::kAnnealing, space_, &visited, &proposal, model, seed);
  Config config;
  for (uint32_t i = 0; i < kProposals && searcher.propose(&config, kEffort).ok(); ++i) {
    offer(config);
    // The searcher narrows towards the fastest as if predictions were trials.
    int32_t log_time_q8 = 0;
    model.predict(model.self, *space_, {&config, 1}, &log_time_q8);
    searcher.observe(config, TEMPER_OUTCOME_OK, static_cast<uint64_t>(std::exp2(log_time_q8 / 256.0 + 8)) + 1);
    searcher.set_progress(i * 256 / kProposals);
  }
}

Result<bool> WorkloadVariants::search(const std::string& name) {
  Config config;
  if (!space_->default_config(&config).ok()) {
    return Error{TEMPER_NOT_FOUND, name + ": the space holds no legal config on this target"};
  }
  offer(config);
  default_ = compile_values(*space_, config);
  propose(analytic_prior(), kSeed);
  propose({nullptr, predict_unpacked_first}, kSeed + 1);
  return true;
}

void WorkloadVariants::measure(const Config& config, double time_ns) {
  Found* const found = offer(config);
  found->measured_ns = found->measured_ns == 0 ? time_ns : std::min(found->measured_ns, time_ns);
  measured_.emplace_back(predicted(*space_, config), time_ns);
}

/// Run knobs to start from: the best config's, else all whole, else some at random.
std::optional<Config> WorkloadVariants::legal_start(const Values& variant) const {
  const uint32_t first = static_cast<uint32_t>(variant.size());
  Config config = best_;
  for (uint32_t knob = 0; knob < first; ++knob) {
    if (!space_->choose(knob, variant[knob], &config).ok()) {
      return std::nullopt;
    }
  }
  if (space_->legal(config)) {
    return config;
  }
  Random random(kSeed);
  constexpr int kTries = 400;
  for (int i = 0; i < kTries; ++i) {
    for (uint32_t knob = first; knob < space_->knob_count(); ++knob) {
      const uint32_t last = space_->choice_count(knob) - 1;
      config.choice[knob] = static_cast<uint8_t>(i == 0 ? last : random.below(last + 1));
    }
    if (space_->legal(config)) {
      return config;
    }
  }
  return std::nullopt;
}

/// Changes one run knob at a time while that predicts less time.
Config WorkloadVariants::descend(Config config) const {
  double best = predicted(*space_, config);
  bool improved = true;
  for (int pass = 0; improved && pass < 3; ++pass) {
    improved = false;
    for (uint32_t knob = space_->view().compile_knob_count; knob < space_->knob_count(); ++knob) {
      Config other = config;
      for (uint32_t choice = 0; choice < space_->choice_count(knob); ++choice) {
        other.choice[knob] = static_cast<uint8_t>(choice);
        if (choice == config.choice[knob] || !space_->legal(other)) {
          continue;
        }
        const double time = predicted(*space_, other);
        if (time < best) {
          best = time;
          config.choice[knob] = static_cast<uint8_t>(choice);
          improved = true;
        }
      }
    }
  }
  return config;
}

const Found* WorkloadVariants::find(const Values& variant) {
  const auto known = found_.find(variant);
  const std::optional<Config> start =
      known != found_.end() ? std::optional(known->second.config) : legal_start(variant);
  return start ? offer(descend(*start)) : nullptr;
}

double WorkloadVariants::best_predicted() const { return best_time_; }

double WorkloadVariants::best_measured() const {
  double best = 0;
  for (const auto& [time, measured_ns] : measured_) {
    best = best == 0 ? measured_ns : std::min(best, measured_ns);
  }
  return best;
}

double WorkloadVariants::ns_per_unit() const {
  std::vector<double> ratios;
  for (const auto& [time, measured_ns] : measured_) {
    ratios.push_back(measured_ns / time);
  }
  if (ratios.empty()) {
    return 0;
  }
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  return *middle;
}

std::vector<Values> WorkloadVariants::worthy() const {
  struct Ranked {
    double time;
    const Values* values;
  };
  std::vector<Values> kept = {default_};
  const auto keep_best = [&](bool unpacked_only, size_t most, double worst) {
    std::vector<Ranked> ranked;
    for (const auto& [values, found] : found_) {
      if (found.unpacked || !unpacked_only) {
        ranked.push_back({found.predicted_time, &values});
      }
    }
    std::stable_sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) { return a.time < b.time; });
    for (size_t i = 0; i < std::min(most, ranked.size()) && ranked[i].time <= ranked[0].time * worst; ++i) {
      kept.push_back(*ranked[i].values);
    }
  };
  keep_best(false, kKept, kWorst);
  keep_best(true, kKept / 4, kWorst);
  for (const auto& [values, found] : found_) {
    if (found.measured_ns > 0 && found.measured_ns <= best_measured() * kWorst) {
      kept.push_back(values);
    }
  }
  return kept;
}

void apply_measurements(const std::vector<MeasuredTime>& measured, WorkloadVariants* variants) {
  const Space& space = variants->space();
  for (const MeasuredTime& time : measured) {
    if (time.workload_key != space.workload().key || !(time.time_ns > 0)) {
      continue;
    }
    std::vector<format::KnobValue> knobs;
    for (const MeasuredTime::KnobValue& knob : time.knobs) {
      knobs.emplace_back(knob.id, knob.value);
    }
    Config config;
    if (config_from_knobs(space, {knobs.data(), knobs.size()}, &config).ok() && space.legal(config)) {
      variants->measure(config, time.time_ns);
    }
  }
}

/// Time of a variant, in ns where the workload was measured, else in predicted units.
double time_of(const Found& found, double best_measured, double ns_per_unit) {
  if (best_measured == 0) {
    return found.predicted_time;
  }
  return found.measured_ns > 0 ? found.measured_ns : std::max(found.predicted_time * ns_per_unit, best_measured);
}

/// Predicted units are the same for all workloads: 2^-24 cycles of a multiply-add.
void set_weights(const std::vector<NetworkWorkload>& workloads, const std::vector<WorkloadVariants>& variants,
                 SelectionProblem* problem) {
  double scale = 0;
  for (size_t w = 0; w < workloads.size(); ++w) {
    const double flops_of_it = static_cast<double>(flops(workloads[w].workload));
    scale = scale == 0 ? variants[w].ns_per_unit() / flops_of_it : scale;
  }
  double sum = 0;
  for (size_t w = 0; w < workloads.size(); ++w) {
    SelectionWorkload& workload = problem->workloads[w];
    const double flops_of_it = static_cast<double>(flops(workloads[w].workload));
    const double time =
        workload.measured ? workload.best_time : workload.best_time * flops_of_it * (scale > 0 ? scale : 1.0);
    workload.weight = time * workloads[w].count;
    sum += workload.weight;
  }
  for (SelectionWorkload& workload : problem->workloads) {
    workload.weight /= sum;
  }
}

using VariantKey = std::pair<TemplateId, Values>;

/// Every worthy variant of every workload, once; in order of template and values.
std::map<VariantKey, uint32_t> collect(const std::vector<NetworkWorkload>& workloads,
                                       const std::vector<WorkloadVariants>& variants, CandidateSet* set) {
  std::map<VariantKey, uint32_t> index;
  for (size_t w = 0; w < workloads.size(); ++w) {
    for (const Values& values : variants[w].worthy()) {
      index.emplace(VariantKey{template_of(workloads[w].workload), values}, 0);
    }
  }
  for (auto& [key, at] : index) {
    at = static_cast<uint32_t>(set->variants.size());
    set->variants.push_back({key.first, key.second, static_cast<uint16_t>(at)});
  }
  return index;
}

}  // namespace

Result<CandidateSet> find_candidates(const std::vector<NetworkWorkload>& workloads, const temper_facts& facts,
                                     const std::vector<MeasuredTime>& measured) {
  Result<std::unique_ptr<Spaces>> opened = open_spaces(workloads, facts);
  if (!opened) {
    return opened.error();
  }
  std::vector<WorkloadVariants> variants;
  for (size_t w = 0; w < workloads.size(); ++w) {
    variants.emplace_back(&(*opened)->spaces[w]);
    if (Result<bool> searched = variants[w].search(workloads[w].name); !searched) {
      return searched.error();
    }
    apply_measurements(measured, &variants[w]);
  }
  CandidateSet set;
  const std::map<VariantKey, uint32_t> index = collect(workloads, variants, &set);
  set.problem.candidates.resize(set.variants.size());
  for (VariantCandidate& candidate : set.problem.candidates) {
    candidate = {0, std::vector<double>(workloads.size(), 0.0), std::vector<bool>(workloads.size(), false)};
  }
  for (size_t w = 0; w < workloads.size(); ++w) {
    const TemplateId id = template_of(workloads[w].workload);
    const double best_measured = variants[w].best_measured(), unit = variants[w].ns_per_unit();
    double best = best_measured;
    for (size_t c = 0; c < set.variants.size(); ++c) {
      const Found* const found = set.variants[c].template_id == id ? variants[w].find(set.variants[c].values) : nullptr;
      if (found != nullptr) {
        set.problem.candidates[c].times[w] = time_of(*found, best_measured, unit);
        set.problem.candidates[c].unpacked[w] = found->unpacked;
      }
    }
    best = best_measured > 0 ? best : variants[w].best_predicted();
    set.problem.workloads.push_back(
        {workloads[w].name, 0, best, index.at({id, variants[w].default_variant()}), best_measured > 0});
  }
  set_weights(workloads, variants, &set.problem);
  return set;
}

}  // namespace temper
