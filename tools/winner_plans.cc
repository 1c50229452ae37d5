#include "tools/winner_plans.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "runtime/plan.h"
#include "schedules/pack_reduction.h"
#include "schedules/reference.h"
#include "tools/network_pack.h"
#include "tools/prepacked_constants.h"
#include "tools/tune_report.h"

namespace temper {
namespace {

/// Kernels and constants as they are numbered, the same ones once.
class Baker {
 public:
  Baker(const WinnerOptions& options, BakedNetwork* baked) : options_(options), baked_(baked) {}

  Result<BakedEntry> bake(const NetworkWorkload& workload, const Space& space, const BakeChoice& winner,
                          const BakeChoice& fallback) {
    BakedEntry entry;
    entry.elements = tensor_elements(workload.workload);
    entry.digest = reference_digest(workload.workload);
    entry.count = workload.count;
    for (const auto& [choice, plan] : {std::pair{&winner, &entry.winner}, std::pair{&fallback, &entry.fallback}}) {
      const Result<BakedPlan> made = bind(workload, space, *choice);
      if (!made) {
        return made.error();
      }
      *plan = *made;
    }
    const Result<bool> packed = pack(workload, &entry);
    return packed ? Result<BakedEntry>(entry) : Result<BakedEntry>(packed.error());
  }

 private:
  Result<BakedPlan> bind(const NetworkWorkload& workload, const Space& space, const BakeChoice& choice) {
    BakedPlan baked;
    const Status status = make_plan(space, choice.config, nullptr, &baked.plan);
    baked.plan.memory = choice.memory.value_or(0);
    if (!status.ok()) {
      return Error{status.code(), workload.name + ": its config makes no plan: " + temper_status_name(status.code())};
    }
    int32_t values[TEMPER_MAX_KNOBS];
    space.values_of(choice.config, values);
    KernelRequest request{template_of(workload.workload),
                          KernelMode::kBaked,
                          dims_of(workload.workload),
                          {values, values + space.knob_count()},
                          ""};
    const auto [found, added] =
        kernels_.try_emplace({request.template_id, request.dims, request.knobs}, baked_->kernels.size());
    if (added) {
      request.symbol = options_.name + "_kernel_" + std::to_string(found->second);
      baked_->kernels.push_back(request);
    }
    baked.kernel = static_cast<uint16_t>(found->second);
    return baked;
  }

  /// Prepacks the workload's constants where there are files of them.
  Result<bool> pack(const NetworkWorkload& workload, BakedEntry* entry) {
    if (options_.constants.empty()) {
      return true;
    }
    const Result<bool> winner = pack_for(workload, *entry, "", &entry->winner);
    const bool alike = std::memcmp(entry->winner.plan.pack_layout, entry->fallback.plan.pack_layout,
                                   sizeof entry->winner.plan.pack_layout) == 0 &&
                       entry->winner.plan.packed_tensor == entry->fallback.plan.packed_tensor;
    if (!winner || alike) {
      entry->fallback.constant = entry->winner.constant;
      return winner;
    }
    return options_.fallback == FallbackConstants::kPacked ? pack_for(workload, *entry, "_default", &entry->fallback)
                                                           : Result<bool>(true);
  }

  Result<bool> pack_for(const NetworkWorkload& workload, const BakedEntry& entry, const std::string& suffix,
                        BakedPlan* plan) {
    if (plan->plan.packed_bytes == 0) {
      return true;
    }
    const Result<ConstantTensors> constants =
        read_constants(options_.constants, workload.name, workload.count, entry.elements[plan->plan.packed_tensor]);
    if (!constants) {
      return constants.error();
    }
    if (constants->empty()) {
      return true;
    }
    plan->constant = static_cast<uint32_t>(baked_->constants.size());
    for (size_t i = 0; i < constants->size(); ++i) {
      Result<std::vector<uint8_t>> packed = pack_constant(plan->plan, (*constants)[i]);
      if (!packed) {
        return packed.error();
      }
      baked_->constants.push_back(
          {options_.name + "_constant_" + identifier_of(workload.name) + suffix + "_" + std::to_string(i),
           std::move(*packed)});
    }
    return true;
  }

  using KernelKey = std::tuple<TemplateId, std::vector<int32_t>, std::vector<int32_t>>;
  const WinnerOptions& options_;
  BakedNetwork* baked_;
  std::map<KernelKey, size_t> kernels_;
};

TableEntry table_entry(const NetworkWorkload& workload, const Space& space, const BakeChoice& choice,
                       const Recommendation* winner) {
  TableEntry entry;
  entry.workload = space.workload().key;
  entry.template_id = space.view().id;
  entry.template_version = space.view().version;
  entry.name = workload.name;
  entry.dims.assign(space.workload().dims.begin(), space.workload().dims.end());
  if (winner != nullptr) {
    entry.default_ns = winner->default_ns;
    entry.tuned_ns = winner->tuned_ns;
  }
  int32_t values[TEMPER_MAX_KNOBS];
  space.values_of(choice.config, values);
  for (uint32_t knob = 0; knob < space.knob_count(); ++knob) {
    entry.knobs.push_back({space.view().knob(knob).id, static_cast<uint16_t>(values[knob])});
  }
  if (choice.memory) {
    entry.knobs.push_back({kMemoryKnobId, *choice.memory});
  }
  return entry;
}

std::string illegal_text(const std::string& name, uint32_t illegal) {
  return name + ": " + std::to_string(illegal) + (illegal == 1 ? " commit is" : " commits are") +
         " not legal for this target or of another version of the template, and passed over";
}

/// Files of constants that no workload of the network has a name for: most likely a name mistyped.
void remark_unknown_files(const Network& network, const std::string& folder, std::vector<std::string>* remarks) {
  std::set<std::string> known;
  for (const NetworkWorkload& workload : network.workloads) {
    const std::vector<std::string> files = constant_files(folder, workload.name, workload.count);
    known.insert(files.begin(), files.end());
  }
  std::error_code ignored;
  std::set<std::string> unknown;
  for (const auto& file : std::filesystem::directory_iterator(folder, ignored)) {
    if (file.path().extension() == ".f32" && known.count(file.path().string()) == 0) {
      unknown.insert(file.path().string());
    }
  }
  for (const std::string& file : unknown) {
    remarks->push_back(file + ": is the constant of no workload of this network, and not used");
  }
}

}  // namespace

Result<BakedNetwork> plan_winners(const Network& network, const BakeSources& sources, const TunedDevice& device,
                                  const temper_facts& facts, const std::string& target, const WinnerOptions& options) {
  const Result<std::unique_ptr<NetworkPack>> pack = NetworkPack::create(network, target);
  if (!pack) {
    return pack.error();
  }
  BakedNetwork baked;
  Baker baker(options, &baked);
  for (uint32_t i = 0; i < network.workloads.size(); ++i) {
    const NetworkWorkload& workload = network.workloads[i];
    const Space space = (*pack)->space(i, &facts);
    BakeChoice fallback;
    const Status status = choose_default(sources, device, space, &fallback);
    if (!status.ok()) {
      return Error{TEMPER_UNSUPPORTED, workload.name + ": its space holds no legal config on " + target};
    }
    BakeChoice winner = fallback;
    uint32_t illegal = 0;
    const Recommendation* const chosen = choose_winner(sources, device, space, &winner, &illegal);
    if (illegal > 0) {
      baked.remarks.push_back(illegal_text(workload.name, illegal));
    }
    BakedWorkload entry{workload, table_entry(workload, space, winner, chosen), "default", "",
                        config_values(space, winner.config)};
    if (chosen != nullptr) {
      entry.source = chosen->kind == RecommendationKind::kHistory ? "history" : "table";
      entry.file = chosen->file;
    }
    Result<BakedEntry> plans = baker.bake(workload, space, winner, fallback);
    if (!plans) {
      return plans.error();
    }
    entry.entry.baked = std::move(*plans);
    baked.workloads.push_back(std::move(entry));
  }
  if (!options.constants.empty()) {
    remark_unknown_files(network, options.constants, &baked.remarks);
  }
  return baked;
}

}  // namespace temper
