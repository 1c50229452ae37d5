#include "codegen/execute_workload.h"

#include <algorithm>
#include <cstring>

#include "runtime/plan.h"
#include "schedules/spaces.h"

namespace temper {
namespace {

/// 64-byte aligned memory; contents undefined.
class AlignedBytes {
 public:
  explicit AlignedBytes(size_t bytes) : storage_(bytes + 63) {}
  void* data() {
    const auto address = reinterpret_cast<uintptr_t>(storage_.data());
    return storage_.data() + ((64 - address % 64) % 64);
  }

 private:
  std::vector<uint8_t> storage_;
};

/// The config whose knobs have these values. TEMPER_INVALID_ARGUMENT when there is none or it is not legal.
Result<Config> config_of(const Space& space, const std::vector<int32_t>& knobs) {
  Config config;
  if (knobs.empty()) {
    const Status found = space.default_config(&config);
    if (!found.ok()) {
      return Error{found.code(), std::string("no legal config for ") + space.workload().name};
    }
    return config;
  }
  if (knobs.size() != space.knob_count()) {
    return Error{TEMPER_INVALID_ARGUMENT, "the template has " + std::to_string(space.knob_count()) + " knobs, " +
                                              std::to_string(knobs.size()) + " values were given"};
  }
  for (uint32_t knob = 0; knob < space.knob_count(); ++knob) {
    uint32_t choice = 0;
    while (choice < space.choice_count(knob) && space.value(knob, choice) != knobs[knob]) {
      ++choice;
    }
    if (choice == space.choice_count(knob)) {
      return Error{TEMPER_INVALID_ARGUMENT, std::string("knob ") + space.view().knob(knob).name + " has no value " +
                                                std::to_string(knobs[knob])};
    }
    config.choice[knob] = static_cast<uint8_t>(choice);
  }
  if (!space.legal(config)) {
    return Error{TEMPER_INVALID_ARGUMENT, std::string("the config breaks a constraint of ") + space.workload().name};
  }
  return config;
}

}  // namespace

Result<CompiledWorkload> CompiledWorkload::create(const Workload& workload, const ExecuteOptions& options) {
  const Target target = native_target();
  PackOptions pack_options;
  pack_options.target = target.name;
  pack_options.digests = false;
  const Result<std::vector<uint8_t>> bytes = write_pack({NetworkWorkload{workload, "workload", 1}}, pack_options);
  if (!bytes) {
    return bytes.error();
  }
  std::vector<uint64_t> words((bytes->size() + 7) / 8);
  std::memcpy(words.data(), bytes->data(), bytes->size());
  PackView pack;
  const char* reason = "";
  const Status opened = PackView::open(temper_pack{words.data(), bytes->size(), nullptr, 0}, &pack, &reason);
  if (!opened.ok()) {
    return Error{opened.code(), std::string("the pack does not verify: ") + reason};
  }
  std::vector<int32_t> values(pack.scratch_values());
  std::vector<Interval> intervals(pack.scratch_intervals());
  const Space space(&pack, 0, &options.facts, Scratch{values.data(), intervals.data()});
  const Result<Config> config = config_of(space, options.knobs);
  if (!config) {
    return config.error();
  }
  int32_t knobs[TEMPER_MAX_KNOBS];
  space.values_of(*config, knobs);
  const KernelRequest request{
      template_of(workload), options.mode, dims_of(workload), {knobs, knobs + space.knob_count()}, "kernel"};
  const Result<ObjectFile> object = compile_kernels(target, {request});
  if (!object) {
    return object.error();
  }
  Result<KernelLoader> loader = KernelLoader::create();
  if (!loader) {
    return loader.error();
  }
  uint32_t handle = 0;
  const Result<temper_kernel> kernel = loader->load(object->bytes, request.symbol, &handle);
  if (!kernel) {
    return kernel.error();
  }
  CompiledWorkload made(std::move(*loader), workload);
  made.port_ = options.port;
  made.knobs_ = request.knobs;
  const Status planned = make_plan(space, *config, *kernel, &made.plan_);
  if (!planned.ok()) {
    return Error{planned.code(), std::string("no plan for ") + canonical_text(workload)};
  }
  return made;
}

Result<bool> CompiledWorkload::run(const std::array<const float*, TEMPER_TENSOR_COUNT>& inputs, Span<float> out) {
  const std::array<uint32_t, TEMPER_TENSOR_COUNT> elements = tensor_elements(workload_);
  for (size_t which = TEMPER_IN_A; which < TEMPER_TENSOR_COUNT; ++which) {
    if (elements[which] > 0 && inputs[which] == nullptr) {
      return Error{TEMPER_INVALID_ARGUMENT,
                   "tensor " + std::to_string(which) + " of " + canonical_text(workload_) + " is missing"};
    }
  }
  if (out.size != elements[TEMPER_OUT]) {
    return Error{TEMPER_INVALID_ARGUMENT, "the output of " + canonical_text(workload_) + " has " +
                                              std::to_string(elements[TEMPER_OUT]) + " elements"};
  }
  std::array<void*, TEMPER_TENSOR_COUNT> tensors{};
  for (size_t which = TEMPER_IN_A; which < TEMPER_TENSOR_COUNT; ++which) {
    tensors[which] = elements[which] > 0 ? const_cast<float*>(inputs[which]) : nullptr;
  }
  tensors[TEMPER_OUT] = out.data;
  AlignedBytes packed(plan_.packed_bytes);
  if (plan_.packed_bytes > 0) {
    const auto* constant = static_cast<const float*>(tensors[plan_.packed_tensor]);
    const temper_status status = temper_pack_constant(&plan_, constant, packed.data(), plan_.packed_bytes);
    if (status != TEMPER_OK) {
      return Error{status, "the constant of " + canonical_text(workload_) + " could not be packed"};
    }
    tensors[plan_.packed_tensor] = packed.data();
  }
  const size_t workspace_bytes = size_t{plan_.threads} * plan_.workspace_bytes;
  AlignedBytes workspace(workspace_bytes);
  const temper_status status = temper_execute(&plan_, port_, tensors.data(), workspace.data(), workspace_bytes);
  if (status != TEMPER_OK) {
    return Error{status, canonical_text(workload_) + " could not be executed"};
  }
  return true;
}

Result<bool> execute_workload(const Workload& workload, const ExecuteOptions& options,
                              const std::array<const float*, TEMPER_TENSOR_COUNT>& inputs, Span<float> out) {
  Result<CompiledWorkload> compiled = CompiledWorkload::create(workload, options);
  if (!compiled) {
    return compiled.error();
  }
  return compiled->run(inputs, out);
}

}  // namespace temper
