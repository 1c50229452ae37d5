#include "tests/board/planted/write_plan.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/space.h"

namespace temper {
namespace {

// On pointwise_1, for its variants in their order, after the default's: that one is good, and so are those left over.
const char* const kFaults[] = {"NEVER_RETURNS", "BAD_ADDRESS",  "WRITES_INPUT", "BAD_INSTRUCTION",
                               "WRITES_BEHIND", "WRONG_RESULT", "RANDOMLY_SLOW"};

// Whether some legal config of the workload runs the variant.
bool serves(const PackView& pack, uint32_t variant, uint32_t workload) {
  if (pack.variant(variant).template_index != pack.workload(workload).template_index) {
    return false;
  }
  temper_facts facts{};
  std::copy(pack.facts().begin(), pack.facts().end(), facts.value);
  std::vector<int32_t> values(pack.scratch_values());
  const Space space(&pack, workload, &facts, {values.data(), nullptr});
  Config config;
  space.use_variant(variant, &config);
  do {
    if (space.find_variant(config) == static_cast<int32_t>(variant) && space.legal(config)) {
      return true;
    }
  } while (space.next(&config));
  return false;
}

bool is_default(const PackView& pack, uint32_t variant, const WorkloadView& workload) {
  const Span<const uint16_t> values = pack.variant(variant).values;
  return pack.variant(variant).template_index == workload.template_index &&
         std::equal(values.begin(), values.end(), workload.default_values.begin());
}

// conv_1: whatever it is run with faults. depthwise_1: its default hangs. pointwise_1: one fault of each kind beside
// good ones. dense: all but its default write before the output.
std::string fault_of(const PackView& pack, uint32_t variant, uint32_t index, size_t* next) {
  const WorkloadView workload = pack.workload(index);
  const std::string name = workload.name;
  const bool by_default = is_default(pack, variant, workload);
  if (!serves(pack, variant, index)) {
    return "GOOD";
  }
  if (name == "conv_1") {
    return "BAD_ADDRESS";
  }
  if (name == "depthwise_1") {
    return by_default ? "NEVER_RETURNS" : "GOOD";
  }
  if (name == "dense") {
    return by_default ? "GOOD" : "WRITES_BEFORE";
  }
  const size_t count = sizeof kFaults / sizeof *kFaults;
  return by_default || *next == count ? "GOOD" : kFaults[(*next)++];
}

std::vector<std::string> faults_of(const PackView& pack, uint32_t index) {
  std::vector<std::string> faults;
  size_t next = 0;
  for (uint32_t v = 0; v < pack.variant_count(); ++v) {
    faults.push_back(fault_of(pack, v, index, &next));
  }
  return faults;
}

std::string list(const std::vector<std::string>& items) {
  std::string text = "{";
  for (const std::string& item : items) {
    text.append(text.size() > 1 ? ", " : "").append(item);
  }
  return text.append("}");
}

// For the test, which looks for winners among them: a comment for each planted variant that the workload can run.
std::string comment_of(const PackView& pack, uint32_t index, uint32_t variant, const std::string& fault) {
  const TemplateView view = pack.get_template(pack.workload(index).template_index);
  const Span<const uint16_t> values = pack.variant(variant).values;
  std::string text = "// planted ";
  text.append(pack.workload(index).name).append(" ").append(fault);
  for (uint32_t k = 0; k < values.size; ++k) {
    text.append(" ").append(std::to_string(view.knob_id(k))).append("=").append(std::to_string(values[k]));
  }
  return text.append("\n");
}

// {dims, how many there are, elements of the output, {what each kernel does}}
std::string entry_of(const PackView& pack, uint32_t index) {
  const WorkloadView workload = pack.workload(index);
  const std::vector<std::string> by_variant = faults_of(pack, index);
  std::vector<std::string> dims, faults(pack.variant_count());
  for (const int32_t dim : workload.dims) {
    dims.push_back(std::to_string(dim));
  }
  for (uint32_t v = 0; v < pack.variant_count(); ++v) {
    faults[pack.variant(v).kernel] = by_variant[v];
  }
  std::string text = "    {";
  text.append(list(dims)).append(", ").append(std::to_string(dims.size())).append(", ");
  text.append(std::to_string(workload.elements[TEMPER_OUT])).append(",\n     ").append(list(faults));
  return text.append("},  // ").append(workload.name).append("\n");
}

}  // namespace

Result<std::string> planted_plan(const KernelPack& pack) {
  std::vector<uint64_t> words((pack.data.size() + 7) / 8);
  std::memcpy(words.data(), pack.data.data(), pack.data.size());
  PackView view;
  const Status opened = PackView::open({words.data(), pack.data.size(), nullptr, 0}, &view, nullptr);
  if (!opened.ok()) {
    return Error{opened.code(), "the pack just made does not verify"};
  }
  const std::string kernels = std::to_string(view.variant_count());
  const std::string workloads = std::to_string(view.workload_count());
  std::string text = "// Made by board_write_pack: what kernels.c does in place of the pack's kernels.\n";
  text.append("enum { KERNEL_COUNT = ").append(kernels).append(", WORKLOAD_COUNT = ").append(workloads);
  text.append(", PACK_BYTES = ").append(std::to_string(pack.data.size())).append(" };\n");
  text += "static const struct plan {\n  int32_t dims[TEMPER_MAX_DIMS];\n  uint32_t dim_count, outputs;\n";
  text += "  unsigned char fault[KERNEL_COUNT];\n} kPlans[WORKLOAD_COUNT] = {\n";
  for (uint32_t w = 0; w < view.workload_count(); ++w) {
    text += entry_of(view, w);
  }
  text += "};\n";
  for (uint32_t w = 0; w < view.workload_count(); ++w) {
    const std::vector<std::string> faults = faults_of(view, w);
    for (uint32_t v = 0; v < view.variant_count(); ++v) {
      text += faults[v] == "GOOD" ? "" : comment_of(view, w, v, faults[v]);
    }
  }
  return text;
}

}  // namespace temper
