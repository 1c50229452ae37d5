#include "tests/perf/tuned_pack.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace temper::perf {

struct TunedPack::State {
  std::string target;
  std::vector<PackVariant> variants;
  std::vector<temper_kernel> kernels;
  std::optional<KernelLoader> loader;
  uint32_t code_bytes = 0;
};

namespace {

constexpr size_t kLine = 64;

struct FreeDeleter {
  void operator()(void* memory) const { std::free(memory); }
};
using AlignedBytes = std::unique_ptr<void, FreeDeleter>;

AlignedBytes allocate(size_t bytes) { return AlignedBytes(std::aligned_alloc(kLine, (bytes / kLine + 1) * kLine)); }

KernelRequest request_of(const PackVariant& variant) {
  const bool gemm = variant.template_id == TemplateId::kGemm;
  std::vector<int32_t> knobs(variant.values.begin(), variant.values.end());
  knobs.resize(gemm ? size_t{kGemmKnobCount} : size_t{kDepthwiseKnobCount});
  return {variant.template_id, KernelMode::kPack, {}, knobs, "kernel", variant.fixed};
}

Error status_error(temper_status status, const char* step) {
  return {status, std::string(step) + ": " + temper_status_name(status)};
}

/// Steps a tuning run to its end.
temper_status run_to_end(temper_context* t, temper_progress* progress) {
  temper_status status = TEMPER_MORE;
  while (status == TEMPER_MORE) {
    status = temper_tune_step(t, progress);
  }
  return status;
}

}  // namespace

TunedPack::TunedPack(std::unique_ptr<State> state) : state_(std::move(state)) {}
TunedPack::~TunedPack() = default;

Result<std::unique_ptr<TunedPack>> TunedPack::create(const std::string& target, std::vector<PackVariant> variants) {
  auto state = std::make_unique<State>();
  auto found = find_target(target);
  if (!found) {
    return found.error();
  }
  auto loader = KernelLoader::create();
  if (!loader) {
    return loader.error();
  }
  state->target = target;
  state->loader.emplace(std::move(*loader));
  for (PackVariant& variant : variants) {
    variant.kernel = static_cast<uint16_t>(state->kernels.size());
    auto object = compile_kernels(*found, {request_of(variant)});
    if (!object) {
      return object.error();
    }
    uint32_t handle = 0;
    auto kernel = state->loader->load(object->bytes, "kernel", &handle);
    if (!kernel) {
      return kernel.error();
    }
    state->code_bytes += object->code_bytes;
    state->kernels.push_back(*kernel);
  }
  state->variants = std::move(variants);
  return std::unique_ptr<TunedPack>(new TunedPack(std::move(state)));
}

Result<TunedPack::Winner> TunedPack::tune(const NetworkWorkload& workload, const temper_facts& facts,
                                          const temper_port& port, uint32_t trials, double seconds) const {
  auto data = write_pack({workload}, {.target = state_->target, .variants = state_->variants});
  if (!data) {
    return data.error();
  }
  const AlignedBytes bytes = allocate(data->size());
  std::memcpy(bytes.get(), data->data(), data->size());
  const temper_pack pack{bytes.get(), data->size(), state_->kernels.data(),
                         static_cast<uint32_t>(state_->kernels.size())};
  temper_config config{};
  config.pack = &pack;
  config.port = &port;
  config.facts = facts;
  config.defaults = &temper_probed_defaults;
  config.max_trials = trials + 1;
  size_t count = 0, needed = 0;
  if (const temper_status status = temper_requirements(&config, nullptr, 0, &count, &needed); status != TEMPER_OK) {
    return status_error(status, "the pack's requirements");
  }
  const AlignedBytes arena = allocate(needed);
  temper_context* t = nullptr;
  if (const temper_status status = temper_init(&t, &config, arena.get(), needed); status != TEMPER_OK) {
    return status_error(status, "the pack's context");
  }
  const temper_budget budget{static_cast<uint64_t>(seconds * 1e9), trials, 0};
  const size_t lent_bytes = temper_tuning_bytes(t);
  const AlignedBytes lent = allocate(lent_bytes);
  temper_progress progress{};
  temper_status status = temper_tune_start(t, &budget, lent.get(), lent_bytes);
  status = status == TEMPER_OK ? run_to_end(t, &progress) : status;
  if (status != TEMPER_OK) {
    return status_error(status, "tuning over the pack");
  }
  temper_answer answer{};
  temper_plan plan{};
  if (temper_lookup(t, 0, &answer) != TEMPER_OK || temper_make_plan(t, 0, &plan) != TEMPER_OK) {
    return Error{TEMPER_NOT_FOUND, "the pack has no answer after tuning"};
  }
  return Winner{{answer.value, answer.value + answer.knob_count}, plan.kernel, progress.trials};
}

bool TunedPack::holds(TemplateId id, const std::vector<int32_t>& values) const {
  return std::any_of(state_->variants.begin(), state_->variants.end(), [&](const PackVariant& variant) {
    return variant.template_id == id && std::equal(variant.values.begin(), variant.values.end(), values.begin());
  });
}

size_t TunedPack::variant_count() const { return state_->variants.size(); }

uint32_t TunedPack::code_bytes() const { return state_->code_bytes; }

}  // namespace temper::perf
