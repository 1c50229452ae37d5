#include "runtime/pack_runner.h"

#include <cstring>

#include "runtime/check.h"
#include "runtime/plan.h"

namespace temper {
namespace {

constexpr size_t kAlignment = 64;

size_t round_to_alignment(size_t bytes) { return (bytes + kAlignment - 1) & ~(kAlignment - 1); }

}  // namespace

PackRunner::Layout PackRunner::lay_out(const WorkloadView& workload, const temper_plan& plan, uint8_t* base) {
  Layout layout{};
  size_t used = 0;
  const auto take = [&used, base](size_t bytes) {
    uint8_t* const at = base == nullptr ? nullptr : base + used;
    used += round_to_alignment(bytes);
    return at;
  };
  layout.guarded_output =
      reinterpret_cast<float*>(take((workload.elements[TEMPER_OUT] + 2 * kGuardElements) * sizeof(float)));
  static_assert(kGuardElements * sizeof(float) % kAlignment == 0, "the output behind its guard is aligned too");
  layout.tensor[TEMPER_OUT] = base == nullptr ? nullptr : layout.guarded_output + kGuardElements;
  for (uint32_t i = TEMPER_IN_A; i < TEMPER_TENSOR_COUNT; ++i) {
    if (workload.elements[i] > 0) {
      layout.tensor[i] = reinterpret_cast<float*>(take(workload.elements[i] * sizeof(float)));
    }
  }
  layout.packed = take(plan.packed_bytes);
  layout.workspace = take(static_cast<size_t>(plan.threads) * plan.workspace_bytes);
  layout.bytes = used;
  return layout;
}

void PackRunner::select(uint32_t workload) {
  if (workload != workload_) {
    space_ = &spaces_[workload];
    workload_ = workload;
    bound_slot_ = kSlots;
  }
}

size_t PackRunner::bytes_of_variant(const VariantView& variant) {
  Config config;
  size_t compile_knob = 0;
  for (uint32_t knob = 0; knob < space_->knob_count(); ++knob) {
    uint32_t choice = space_->choice_count(knob) - 1;
    if (space_->view().knob(knob).kind == KnobKind::kCompile) {
      const int32_t wanted = variant.values[compile_knob++];
      while (choice > 0 && space_->value(knob, choice) != wanted) {
        --choice;
      }
    }
    config.choice[knob] = static_cast<uint8_t>(choice);
  }
  return make_plan(*space_, config, nullptr, &plan_).ok() ? lay_out(space_->workload(), plan_, nullptr).bytes : 0;
}

size_t PackRunner::bytes_wanted() {
  bound_slot_ = kSlots;
  size_t most = 0;
  for (uint32_t workload = 0; workload < pack_->workload_count(); ++workload) {
    select(workload);
    for (uint32_t i = 0; i < pack_->variant_count(); ++i) {
      const VariantView variant = pack_->variant(i);
      if (variant.template_index == space_->workload().template_index) {
        const size_t bytes = bytes_of_variant(variant);
        most = bytes > most ? bytes : most;
      }
    }
  }
  return most + kAlignment - 1;
}

Status PackRunner::attach(void* memory, size_t memory_bytes) {
  const size_t skip = (kAlignment - reinterpret_cast<uintptr_t>(memory) % kAlignment) % kAlignment;
  if (memory == nullptr || memory_bytes < skip) {
    return TEMPER_NO_MEMORY;
  }
  memory_ = static_cast<uint8_t*>(memory) + skip;
  memory_bytes_ = memory_bytes - skip;
  filled_workload_ = UINT32_MAX;
  bound_slot_ = kSlots;
  for (uint32_t workload = 0; workload < pack_->workload_count(); ++workload) {
    select(workload);
    Config config;
    if (space_->default_config(&config).ok() && make_plan(*space_, config, nullptr, &plan_).ok() &&
        lay_out(space_->workload(), plan_, nullptr).bytes > memory_bytes_) {
      return TEMPER_NO_MEMORY;
    }
  }
  return {};
}

temper_outcome PackRunner::find_kernel(uint32_t workload, const Config& config, temper_kernel* kernel) {
  select(workload);
  const int32_t variant = space_->find_variant(config);
  // Without a digest nothing could tell a wrong kernel, so nothing is tuned.
  if (variant < 0 || space_->workload().digest == 0) {
    return TEMPER_OUTCOME_INVALID;
  }
  *kernel = pack_->kernel(pack_->variant(static_cast<uint32_t>(variant)).kernel);
  if (*kernel == nullptr) {
    return TEMPER_OUTCOME_BUILD_ERROR;
  }
  bound_slot_ = kSlots;
  const bool fits = make_plan(*space_, config, *kernel, &plan_).ok() &&
                    lay_out(space_->workload(), plan_, nullptr).bytes <= memory_bytes_;
  return fits ? TEMPER_OUTCOME_OK : TEMPER_OUTCOME_INVALID;
}

void PackRunner::fill_inputs() {
  for (uint32_t i = TEMPER_IN_A; i < TEMPER_TENSOR_COUNT; ++i) {
    if (layout_.tensor[i] != nullptr) {
      fill_small_integers(static_cast<temper_tensor>(i), {layout_.tensor[i], space_->workload().elements[i]});
    }
  }
  filled_workload_ = workload_;
  packed_ = false;
}

Status PackRunner::bind(uint8_t slot) {
  select(slots_[slot].workload);
  if (bound_slot_ == slot) {
    return {};
  }
  const Status status = make_plan(*space_, slots_[slot].config, slots_[slot].kernel, &plan_);
  if (!status.ok()) {
    return status;
  }
  layout_ = lay_out(space_->workload(), plan_, memory_);
  if (filled_workload_ != workload_) {
    fill_inputs();
  }
  if (plan_.packed_bytes == 0) {
    packed_ = false;  // the workspace may lie where a packed constant was
  } else if (!packed_ || packed_tensor_ != plan_.packed_tensor ||
             std::memcmp(packed_layout_, plan_.pack_layout, sizeof packed_layout_) != 0) {
    const Status packing =
        temper_pack_constant(&plan_, layout_.tensor[plan_.packed_tensor], layout_.packed, plan_.packed_bytes);
    if (!packing.ok()) {
      return packing;
    }
    packed_ = true;
    packed_tensor_ = plan_.packed_tensor;
    std::memcpy(packed_layout_, plan_.pack_layout, sizeof packed_layout_);
  }
  bound_slot_ = slot;
  return {};
}

Status PackRunner::call() {
  void* tensors[TEMPER_TENSOR_COUNT];
  for (uint32_t i = 0; i < TEMPER_TENSOR_COUNT; ++i) {
    const bool is_packed = plan_.packed_bytes > 0 && i == static_cast<uint32_t>(plan_.packed_tensor);
    tensors[i] = is_packed ? static_cast<void*>(layout_.packed) : layout_.tensor[i];
  }
  return temper_execute(&plan_, port_, tensors, layout_.workspace,
                        static_cast<size_t>(plan_.threads) * plan_.workspace_bytes);
}

Status PackRunner::check() {
  const size_t elements = space_->workload().elements[TEMPER_OUT];
  const Span<float> guarded{layout_.guarded_output, elements + 2 * kGuardElements};
  poison(guarded);
  const Status status = call();
  if (!status.ok()) {
    return status;
  }
  const bool right =
      guards_intact(guarded) && digest({layout_.tensor[TEMPER_OUT], elements}) == space_->workload().digest;
  result_ = {right ? TEMPER_OUTCOME_OK : TEMPER_OUTCOME_WRONG_RESULT, 0};
  return {};
}

// The clock is looked at after 1, 2, 4, ... calls: seldom enough not to be timed itself, and what runs over takes at
// most as long again.
Status PackRunner::time(uint32_t number, uint64_t limit_ns) {
  const uint64_t start_ns = port_->now_ns(port_->self);
  for (uint32_t i = 1; i <= number; ++i) {
    const Status status = call();
    if (!status.ok()) {
      return status;
    }
    if (i < number && (i & (i - 1)) == 0 && port_->now_ns(port_->self) - start_ns > limit_ns) {
      result_ = {TEMPER_OUTCOME_TIMEOUT, 0};
      return {};
    }
  }
  result_ = {TEMPER_OUTCOME_OK, port_->now_ns(port_->self) - start_ns};
  return {};
}

Status PackRunner::build_slot(void* self, uint8_t slot, uint32_t workload, const Config& config) {
  PackRunner& runner = *static_cast<PackRunner*>(self);
  if (slot >= kSlots || workload >= runner.pack_->workload_count()) {
    return TEMPER_INVALID_ARGUMENT;
  }
  temper_kernel kernel = nullptr;
  const temper_outcome outcome = runner.find_kernel(workload, config, &kernel);
  runner.slots_[slot] = {workload, config, kernel, outcome};
  return {};
}

bool PackRunner::poll_slot(void* self, uint8_t slot, temper_outcome* outcome, uint32_t* build_us) {
  *outcome = static_cast<PackRunner*>(self)->slots_[slot].outcome;
  *build_us = 0;
  return true;
}

Status PackRunner::run_slot(void* self, uint8_t slot, RunKind kind, uint32_t number, uint64_t limit_ns) {
  PackRunner& runner = *static_cast<PackRunner*>(self);
  if (slot >= kSlots || runner.slots_[slot].kernel == nullptr || runner.slots_[slot].outcome != TEMPER_OUTCOME_OK) {
    return TEMPER_INVALID_ARGUMENT;
  }
  const Status status = runner.bind(slot);
  if (!status.ok()) {
    return status;
  }
  return kind == RunKind::kCheck ? runner.check() : runner.time(number, limit_ns);
}

bool PackRunner::poll_result(void* self, RunResult* result) {
  *result = static_cast<PackRunner*>(self)->result_;
  return true;
}

void PackRunner::release_slot(void* self, uint8_t slot) {
  PackRunner& runner = *static_cast<PackRunner*>(self);
  runner.slots_[slot].kernel = nullptr;
  if (runner.bound_slot_ == slot) {
    runner.bound_slot_ = kSlots;
  }
}

Runner PackRunner::runner() {
  return {this, kSlots, build_slot, poll_slot, run_slot, poll_result, release_slot, nullptr};
}

}  // namespace temper
