#include "codegen/kernel_pack.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "runtime/space.h"
#include "schedules/fixed_dims.h"

namespace temper {
namespace {

// A workload's digest in the pack's data, with what aligns it.
constexpr uint64_t kDigestBytes = 8;
constexpr double kLeastGain = 0.001;  // of the network's time
// A variant's own data: its table, its values, the references to it and to its kernel.
constexpr uint32_t kVariantDataBytes = 36;
// Legal configs are counted up to so many configs of a workload, beyond that estimated from so many.
constexpr uint64_t kMostCounted = 2'000'000;

size_t knob_count(TemplateId id) {
  return id == TemplateId::kGemm ? size_t{kGemmKnobCount} : size_t{kDepthwiseKnobCount};
}

KernelRequest request_of(const PackVariant& variant, const std::string& symbol) {
  std::vector<int32_t> knobs(variant.values.begin(), variant.values.end());
  knobs.resize(knob_count(variant.template_id), 0);
  return {variant.template_id, KernelMode::kPack, {}, knobs, symbol, variant.fixed};
}

/// Compiles each candidate for its size. One that cannot be compiled serves nothing.
void set_sizes(const Target& target, const std::function<void(size_t, size_t)>& progress, CandidateSet* set) {
  for (size_t c = 0; c < set->variants.size(); ++c) {
    const Result<ObjectFile> object = compile_kernels(target, {request_of(set->variants[c], "kernel")});
    VariantCandidate& candidate = set->problem.candidates[c];
    candidate.bytes = (object ? object->code_bytes : 0) + kVariantDataBytes;
    if (!object) {
      std::fill(candidate.times.begin(), candidate.times.end(), 0.0);
    }
    if (progress) {
      progress(c + 1, set->variants.size());
    }
  }
}

Result<bool> check_names(const std::vector<NetworkWorkload>& workloads) {
  std::set<std::string> names;
  for (const NetworkWorkload& workload : workloads) {
    if (!names.insert(workload.name).second) {
      return Error{TEMPER_BAD_DATA, "two workloads are called " + workload.name + ": a pack tells them apart by name"};
    }
  }
  return true;
}

class PackMaker {
 public:
  PackMaker(const std::vector<NetworkWorkload>& workloads, const KernelPackOptions& options)
      : workloads_(workloads), options_(options) {}
  Result<KernelPack> make(const std::function<void(size_t, size_t)>& progress);

 private:
  Result<std::vector<uint8_t>> data_of(const std::vector<PackVariant>& variants, bool digests, PackParts* parts) const;
  Result<uint64_t> base_bytes() const;
  Result<KernelPack> compile(uint32_t count) const;
  void describe(KernelPack* pack) const;
  void count_legal(const Space& space, const KernelPack& pack, WorkloadCoverage* coverage) const;

  const std::vector<NetworkWorkload>& workloads_;
  const KernelPackOptions& options_;
  CandidateSet set_;
  SelectionOrder order_;
};

Result<std::vector<uint8_t>> PackMaker::data_of(const std::vector<PackVariant>& variants, bool digests,
                                                PackParts* parts) const {
  PackOptions options;
  options.target = options_.target.name;
  options.variants = variants;
  options.digests = digests;
  options.facts = options_.facts;
  options.templates = options_.templates;
  options.machine = options_.machine;
  options.features = options_.features;
  return write_pack(workloads_, options, parts);
}

/// The data's bytes besides those of the variants.
Result<uint64_t> PackMaker::base_bytes() const {
  std::vector<PackVariant> serving;
  for (uint32_t i = 0; i < order_.serving; ++i) {
    serving.push_back(set_.variants[order_.candidates[i]]);
    serving.back().kernel = static_cast<uint16_t>(i);
  }
  PackParts parts;
  const Result<std::vector<uint8_t>> data = data_of(serving, false, &parts);
  if (!data) {
    return data.error();
  }
  return data->size() - parts.variants;
}

Result<KernelPack> PackMaker::compile(uint32_t count) const {
  KernelPack pack;
  std::vector<KernelRequest> requests;
  for (uint32_t i = 0; i < count; ++i) {
    pack.variants.push_back(set_.variants[order_.candidates[i]]);
    pack.variants.back().kernel = static_cast<uint16_t>(i);
    requests.push_back(request_of(pack.variants.back(), options_.name + "_kernel_" + std::to_string(i)));
  }
  Result<std::vector<uint8_t>> data = data_of(pack.variants, false, &pack.data_parts);
  if (!data) {
    return data.error();
  }
  pack.data = std::move(*data);
  Result<ObjectFile> kernels = compile_kernels(options_.target, requests);
  if (!kernels) {
    return kernels.error();
  }
  pack.kernel_bytes = kernels->code_bytes;
  return pack;
}

void PackMaker::count_legal(const Space& space, const KernelPack& pack, WorkloadCoverage* coverage) const {
  const uint32_t first = space.view().compile_knob_count;
  uint64_t each = 1;
  for (uint32_t knob = first; knob < space.knob_count(); ++knob) {
    each *= space.choice_count(knob);
  }
  const uint64_t all = each * pack.variants.size();
  const uint64_t stride = all / kMostCounted + 1;  // coprime to nothing in particular: an estimate
  uint64_t seen = 0, legal = 0, serving_seen = 0;
  for (const PackVariant& variant : pack.variants) {
    Config config;
    bool of_template = variant.values.size() == first && static_cast<uint16_t>(variant.template_id) == space.view().id;
    for (uint32_t knob = 0; of_template && knob < first; ++knob) {
      of_template = space.choose(knob, variant.values[knob], &config).ok();
    }
    if (!of_template) {
      continue;
    }
    uint64_t own = 0;
    for (uint64_t at = seen++ % stride; at < each; at += stride) {
      uint64_t rest = at;
      for (uint32_t knob = first; knob < space.knob_count(); ++knob) {
        config.choice[knob] = static_cast<uint8_t>(rest % space.choice_count(knob));
        rest /= space.choice_count(knob);
      }
      own += space.legal(config) ? 1 : 0;
    }
    serving_seen += own > 0 ? 1 : 0;
    legal += own;
    coverage->configs += each;
  }
  coverage->variants = static_cast<uint32_t>(serving_seen);
  coverage->legal_configs = legal * stride;
}

void PackMaker::describe(KernelPack* pack) const {
  std::vector<uint64_t> words(pack->data.size() / 8 + 1);
  std::copy(pack->data.begin(), pack->data.end(), reinterpret_cast<uint8_t*>(words.data()));
  PackView view;
  if (!PackView::open({words.data(), pack->data.size(), nullptr, 0}, &view, nullptr).ok()) {
    return;  // not reached: write_pack opened it
  }
  std::vector<int32_t> values(view.scratch_values());
  std::vector<Interval> intervals(view.scratch_intervals());
  std::vector<uint32_t> chosen(order_.candidates.begin(),
                               order_.candidates.begin() + static_cast<std::ptrdiff_t>(pack->variants.size()));
  const std::vector<double> losses = predicted_losses(set_.problem, chosen);
  for (uint32_t w = 0; w < workloads_.size(); ++w) {
    const SelectionWorkload& workload = set_.problem.workloads[w];
    WorkloadCoverage coverage{workload.name, 0, 0, 0, losses[w], workload.measured, false, false};
    for (const uint32_t c : chosen) {
      coverage.unpacked = coverage.unpacked || set_.problem.candidates[c].unpacked[w];
      coverage.default_chosen = coverage.default_chosen || c == workload.default_candidate;
    }
    count_legal(Space(&view, w, &options_.facts, {values.data(), intervals.data()}), *pack, &coverage);
    pack->workloads.push_back(coverage);
  }
}

Result<KernelPack> PackMaker::make(const std::function<void(size_t, size_t)>& progress) {
  if (Result<bool> named = check_names(workloads_); !named) {
    return named.error();
  }
  Result<CandidateSet> candidates = find_candidates(workloads_, options_.facts, options_.measured);
  if (!candidates) {
    return candidates.error();
  }
  set_ = std::move(*candidates);
  if (Result<bool> fixed = fix_dims(workloads_, &set_.variants); !fixed) {
    return fixed.error();
  }
  set_sizes(options_.target, progress, &set_);
  Result<SelectionOrder> order = order_variants(set_.problem, kLeastGain, options_.most_variants);
  if (!order) {
    return order.error();
  }
  order_ = std::move(*order);
  const Result<uint64_t> base = base_bytes();
  if (!base) {
    return base.error();
  }
  const uint64_t limit = options_.limit_bytes == 0 ? UINT64_MAX : options_.limit_bytes;
  const uint64_t digests = options_.digests ? kDigestBytes * workloads_.size() : 0;  // they come last
  Result<uint32_t> count = prefix_within(set_.problem, order_, *base + digests, limit);
  if (!count) {
    return count.error();
  }
  // Sizes of single kernels do not add up to the byte: what is over goes from the end of the order.
  Result<KernelPack> pack = compile(*count);
  while (pack && pack->kernel_bytes + pack->data.size() + digests > limit && *count > order_.serving) {
    pack = compile(--*count);
  }
  if (!pack) {
    return pack.error();
  }
  describe(&*pack);
  if (options_.digests) {
    Result<std::vector<uint8_t>> data = data_of(pack->variants, true, &pack->data_parts);
    if (!data) {
      return data.error();
    }
    pack->data = std::move(*data);
  }
  std::vector<KernelRequest> requests;
  for (const PackVariant& variant : pack->variants) {
    requests.push_back(request_of(variant, options_.name + "_kernel_" + std::to_string(variant.kernel)));
  }
  Result<ObjectFile> object = compile_pack(options_.target, options_.name, pack->data, requests);
  if (!object) {
    return object.error();
  }
  pack->object = std::move(*object);
  pack->table_bytes = pack->object.code_bytes - pack->kernel_bytes - static_cast<uint32_t>(pack->data.size());
  return pack;
}

}  // namespace

Result<KernelPack> make_kernel_pack(const std::vector<NetworkWorkload>& workloads, const KernelPackOptions& options,
                                    const std::function<void(size_t, size_t)>& progress) {
  return PackMaker(workloads, options).make(progress);
}

}  // namespace temper
