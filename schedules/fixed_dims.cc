#include "schedules/fixed_dims.h"

#include <algorithm>

#include "runtime/crc32.h"
#include "schedules/program_folding.h"

namespace temper {
namespace {

/// The workloads that the variant may serve on some machine, by the interval test: never too few.
std::vector<const NetworkWorkload*> served_by(const PackVariant& variant, const TemplateData& data,
                                              const std::vector<NetworkWorkload>& workloads) {
  const std::vector<Interval> facts(TEMPER_FACT_COUNT, {0, INT32_MAX});
  std::vector<Interval> knobs;
  for (size_t knob = 0; knob < data.knobs.size(); ++knob) {
    const bool compiled = knob < variant.values.size();
    knobs.push_back(compiled ? Interval{variant.values[knob], variant.values[knob]}
                             : Interval{data.knobs[knob].values.front(), data.knobs[knob].values.back()});
  }
  std::vector<const NetworkWorkload*> served;
  for (const NetworkWorkload& entry : workloads) {
    if (template_of(entry.workload) == variant.template_id) {
      const std::vector<int32_t> dims = dims_of(entry.workload);
      if (may_hold_in(data.constraint, data.constants.values(), {&dims, knobs}, facts)) {
        served.push_back(&entry);
      }
    }
  }
  return served;
}

FixedDims shared_dims(const std::vector<const NetworkWorkload*>& workloads) {
  FixedDims fixed;
  for (const NetworkWorkload* entry : workloads) {
    const std::vector<int32_t> dims = dims_of(entry->workload);
    if (fixed.empty()) {
      fixed.assign(dims.begin(), dims.end());
    }
    for (size_t dim = 0; dim < dims.size(); ++dim) {
      fixed[dim] = fixed[dim] == dims[dim] ? fixed[dim] : std::nullopt;
    }
  }
  return fixed;
}

}  // namespace

Result<bool> fix_dims(const std::vector<NetworkWorkload>& workloads, std::vector<PackVariant>* variants) {
  const Result<TemplateData> gemm = gemm_template(), depthwise = depthwise_template();
  if (!gemm || !depthwise) {
    return gemm ? depthwise.error() : gemm.error();
  }
  for (PackVariant& variant : *variants) {
    variant.fixed =
        shared_dims(served_by(variant, variant.template_id == TemplateId::kGemm ? *gemm : *depthwise, workloads));
  }
  return true;
}

Result<bool> check_fixed_dims(const std::vector<NetworkWorkload>& workloads, const std::vector<PackVariant>& variants,
                              const std::vector<TemplateData>& templates) {
  for (size_t i = 0; i < variants.size(); ++i) {
    const FixedDims& fixed = variants[i].fixed;
    const auto data = std::find_if(templates.begin(), templates.end(),
                                   [&](const TemplateData& t) { return t.id == variants[i].template_id; });
    if (fixed.empty() || data == templates.end()) {
      continue;
    }
    for (const NetworkWorkload* entry : served_by(variants[i], *data, workloads)) {
      const std::vector<int32_t> dims = dims_of(entry->workload);
      for (size_t dim = 0; dim < std::min(dims.size(), fixed.size()); ++dim) {
        if (fixed[dim].value_or(dims[dim]) != dims[dim]) {
          return Error{TEMPER_BAD_DATA, "variant " + std::to_string(i) + " of " + data->name + " has dim " +
                                            std::to_string(dim) + " fixed at " + std::to_string(*fixed[dim]) +
                                            ", and " + entry->name + " has " + std::to_string(dims[dim])};
        }
      }
    }
  }
  return true;
}

uint32_t hash_fixed_dims(uint32_t hash, const std::vector<PackVariant>& variants) {
  for (const PackVariant& variant : variants) {
    for (const std::optional<int32_t>& dim : variant.fixed) {
      const int32_t words[] = {dim.has_value(), dim.value_or(0)};
      hash = crc32(hash, words, sizeof words);
    }
  }
  return hash;
}

}  // namespace temper
