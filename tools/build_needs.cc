#include "tools/build_needs.h"

#include <algorithm>

#include "runtime/history.h"
#include "runtime/pack_view.h"

namespace temper {
namespace {

constexpr uint64_t kArenaAlignment = 8;  // of every part of an arena

void no_kernel(float*, const float*, const float*, const float*, const float*, void*, const int32_t*, int32_t,
               int32_t) {}

uint64_t no_clock(void*) { return 0; }

uint64_t padded(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

/// The pack as a device would see it, with kernels that are never called, and a config for it.
struct HostView {
  HostView(const std::vector<uint8_t>& data, uint32_t kernel_count, const NeedsSettings& settings)
      : words(data.size() / 8 + 1), kernels(std::max(kernel_count, 1u), no_kernel) {
    std::copy(data.begin(), data.end(), reinterpret_cast<uint8_t*>(words.data()));
    pack = {words.data(), data.size(), kernels.data(), kernel_count};
    storage.program_bytes = settings.program_bytes;
    port.now_ns = no_clock;
    port.storage = settings.program_bytes > 0 ? &storage : nullptr;
    config.pack = &pack;
    config.port = &port;
    config.facts = settings.facts;
    config.max_trials = settings.max_trials;
    config.learning = settings.learning ? &temper_learning : nullptr;
  }
  HostView(const HostView&) = delete;

  std::vector<uint64_t> words;
  std::vector<temper_kernel> kernels;
  temper_pack pack{};
  temper_storage storage{};
  temper_port port{};
  temper_config config{};
};

Result<bool> fill_arena(const temper_config& config, BuildNeeds* needs) {
  temper_need parts[16];
  size_t count = 0, total = 0;
  const temper_status status = temper_requirements(&config, parts, 16, &count, &total);
  if (status != TEMPER_OK) {
    return Error{status, std::string("the pack cannot be used: ") + temper_status_name(status)};
  }
  for (size_t i = 0; i < std::min(count, size_t{16}); ++i) {
    needs->arena.push_back({parts[i].part, parts[i].bytes});
  }
  needs->arena_bytes = total;
  return true;
}

/// The least memory that a run starts with: each try is a context of its own.
Result<uint64_t> least_memory(temper_config config, uint64_t enough) {
  size_t count = 0, total = 0;
  temper_requirements(&config, nullptr, 0, &count, &total);
  std::vector<uint64_t> arena(total / 8 + 1), memory(enough / 8 + 8);
  uint8_t* const aligned = reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64);
  uint64_t low = 0, high = enough;
  while (low < high) {
    const uint64_t middle = (low + high) / 2;
    temper_context* t = nullptr;
    temper_status status = temper_init(&t, &config, arena.data(), arena.size() * 8);
    if (status != TEMPER_OK) {
      return Error{status, std::string("the pack cannot be used: ") + temper_status_name(status)};
    }
    const temper_budget budget{1000000000u, 1, 1};
    status = temper_tune_start(t, &budget, aligned, middle);
    if (status == TEMPER_NO_MEMORY) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return padded(high, 64);
}

Result<bool> fill_memory(const temper_config& with_storage, BuildNeeds* needs) {
  temper_port port = *with_storage.port;
  port.storage = nullptr;  // nothing is read or written here
  temper_config config = with_storage;
  config.port = &port;
  size_t count = 0, total = 0;
  temper_requirements(&config, nullptr, 0, &count, &total);
  std::vector<uint64_t> arena(total / 8 + 1);
  temper_context* t = nullptr;
  const temper_status status = temper_init(&t, &config, arena.data(), arena.size() * 8);
  if (status != TEMPER_OK) {
    return Error{status, std::string("the pack cannot be used: ") + temper_status_name(status)};
  }
  needs->every_candidate_bytes = temper_tuning_bytes(t);
  for (uint32_t w = 0; w < temper_workload_count(t); ++w) {
    uint64_t bytes = 0;
    for (int which = 0; which < TEMPER_TENSOR_COUNT; ++which) {
      bytes += temper_tensor_elements(t, w, static_cast<temper_tensor>(which)) * sizeof(float);
    }
    if (bytes > needs->largest_tensor_bytes) {
      needs->largest_tensor_bytes = bytes;
      needs->largest_workload = temper_workload_name(t, w);
    }
  }
  const Result<uint64_t> least = least_memory(config, needs->every_candidate_bytes);
  if (!least) {
    return least.error();
  }
  needs->defaults_bytes = *least;
  return true;
}

void fill_history(const temper_pack& pack, uint32_t program_bytes, BuildNeeds* needs) {
  PackView view;
  if (program_bytes == 0 || !PackView::open(pack, &view, nullptr).ok()) {
    return;
  }
  const auto frame = [&](uint64_t payload) { return padded(sizeof(FrameHeader) + payload, program_bytes); };
  const auto knobs = [](uint64_t count) { return count * sizeof(format::KnobValue); };
  needs->history_fixed_bytes = frame(8) + frame(sizeof(format::Fingerprint));
  for (uint32_t w = 0; w < view.workload_count(); ++w) {
    const WorkloadView workload = view.workload(w);
    const uint64_t count = view.get_template(workload.template_index).knob_count;
    needs->history_fixed_bytes += frame(sizeof(format::WorkloadName) + std::string(workload.name).size()) +
                                  frame(sizeof(format::Commit) + knobs(count));
    const uint64_t trial = frame(sizeof(format::Intent) + knobs(count)) + frame(sizeof(format::Trial) + knobs(count));
    needs->history_trial_bytes = std::max(needs->history_trial_bytes, trial);
  }
}

}  // namespace

Result<BuildNeeds> compute_needs(const std::vector<uint8_t>& pack_data, uint32_t kernel_count,
                                 const NeedsSettings& settings) {
  const HostView host(pack_data, kernel_count, settings);
  BuildNeeds needs;
  if (Result<bool> filled = fill_arena(host.config, &needs); !filled) {
    return filled.error();
  }
  if (Result<bool> filled = fill_memory(host.config, &needs); !filled) {
    return filled.error();
  }
  fill_history(host.pack, settings.program_bytes, &needs);
  return needs;
}

void set_context_bytes(uint64_t bytes, BuildNeeds* needs) {
  BuildNeed& context = needs->arena.front();  // the first part, and its bytes are those of temper_context
  const uint64_t before = context.bytes;
  context.bytes = bytes;
  needs->arena_bytes = needs->arena_bytes - padded(before, kArenaAlignment) + padded(bytes, kArenaAlignment);
}

}  // namespace temper
