#include "codegen/worker_bench.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "codegen/fast_digest.h"
#include "runtime/plan.h"

namespace temper {
namespace {

/// Tensors of several workloads are kept, because the tuner goes to and fro between workloads; beyond this the oldest
/// go.
constexpr size_t kTensorBytesKept = size_t{256} << 20;

uint64_t steady_ns() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

size_t floats_of(size_t bytes) { return (bytes + sizeof(float) - 1) / sizeof(float); }

}  // namespace

WorkerBench::WorkerBench(const WorkerSetup* setup, const WorkerBackend& backend, std::string symbol)
    : setup_(setup), backend_(backend), symbol_(std::move(symbol)) {
  temper_linux_threads* threads = nullptr;
  if (setup->threads() > 1 && temper_linux_threads_create(setup->threads(), &threads) == TEMPER_OK) {
    threads_.reset(threads);
  }
  port_ = temper_linux_port(threads, nullptr);
}

bool WorkerBench::unload(uint8_t index) {
  if (index >= slots_.size()) {
    return false;
  }
  Slot& slot = slots_[index];
  if (slot.loaded) {
    backend_.unload(slot.handle);
  }
  slot = Slot();
  return true;
}

bool WorkerBench::load(uint8_t index, uint32_t workload, const Config& config, const std::vector<uint8_t>& object) {
  if (!unload(index) || !setup_->in_range(workload, config)) {
    return false;
  }
  Slot& slot = slots_[index];
  slot.workload = workload;
  slot.outcome = TEMPER_OUTCOME_BUILD_ERROR;
  const Result<temper_kernel> kernel = backend_.load(object, symbol_, &slot.handle);
  if (!kernel) {
    return true;
  }
  slot.loaded = true;
  const Space space = setup_->space(workload);
  slot.outcome = make_plan(space, config, *kernel, &slot.plan).ok() ? TEMPER_OUTCOME_OK : TEMPER_OUTCOME_INVALID;
  return true;
}

WorkerBench::TensorSet* WorkerBench::tensors_of(uint32_t workload) {
  const auto found = std::find_if(tensor_sets_.begin(), tensor_sets_.end(),
                                  [workload](const TensorSet& set) { return set.workload == workload; });
  if (found != tensor_sets_.end()) {
    tensor_sets_.splice(tensor_sets_.begin(), tensor_sets_, found);
    return &tensor_sets_.front();
  }
  const WorkloadView view = setup_->pack().workload(workload);
  TensorSet set;
  set.workload = workload;
  for (size_t which = 0; which < TEMPER_TENSOR_COUNT; ++which) {
    set.tensor[which] = GuardedBuffer(view.elements[which]);
    if (view.elements[which] > 0 && set.tensor[which].empty()) {
      return nullptr;
    }
    set.bytes += set.tensor[which].occupied_bytes();
    if (which == TEMPER_OUT) {
      continue;
    }
    poison(set.tensor[which].guarded());
    fill_small_integers(static_cast<temper_tensor>(which), set.tensor[which].tensor());
    // What a candidate wrote here would make every later one wrong.
    if (!set.tensor[which].make_read_only()) {
      return nullptr;
    }
  }
  size_t kept = set.bytes;
  for (auto it = tensor_sets_.begin(); it != tensor_sets_.end();) {
    kept += it->bytes;
    it = kept > kTensorBytesKept ? tensor_sets_.erase(it) : std::next(it);
  }
  tensor_sets_.push_front(std::move(set));
  return &tensor_sets_.front();
}

temper_outcome WorkerBench::prepare(uint8_t index) {
  if (index >= slots_.size() || slots_[index].outcome != TEMPER_OUTCOME_OK) {
    return index >= slots_.size() ? TEMPER_OUTCOME_INVALID : slots_[index].outcome;
  }
  Slot& slot = slots_[index];
  const TensorSet* set = tensors_of(slot.workload);
  if (set == nullptr) {
    return TEMPER_OUTCOME_BUILD_ERROR;
  }
  const temper_plan& plan = slot.plan;
  const size_t workspace = floats_of(size_t{plan.threads} * plan.workspace_bytes);
  if (workspace_.tensor().size < workspace) {
    workspace_ = GuardedBuffer(workspace);
    if (workspace_.empty()) {
      return TEMPER_OUTCOME_BUILD_ERROR;
    }
  }
  if (plan.packed_bytes == 0 || slot.packed) {
    return TEMPER_OUTCOME_OK;
  }
  slot.packed_constant = GuardedBuffer(floats_of(plan.packed_bytes));
  if (slot.packed_constant.empty()) {
    return TEMPER_OUTCOME_BUILD_ERROR;
  }
  const float* constant = set->tensor[plan.packed_tensor].data();
  if (temper_pack_constant(&plan, constant, slot.packed_constant.data(), plan.packed_bytes) != TEMPER_OK) {
    return TEMPER_OUTCOME_INVALID;
  }
  if (!slot.packed_constant.make_read_only()) {
    return TEMPER_OUTCOME_BUILD_ERROR;
  }
  slot.packed = true;
  return TEMPER_OUTCOME_OK;
}

std::array<void*, TEMPER_TENSOR_COUNT> WorkerBench::arguments(const Slot& slot, const TensorSet& set) const {
  std::array<void*, TEMPER_TENSOR_COUNT> tensors{};
  for (size_t which = 0; which < TEMPER_TENSOR_COUNT; ++which) {
    tensors[which] = set.tensor[which].data();
  }
  if (slot.packed) {
    tensors[slot.plan.packed_tensor] = slot.packed_constant.data();
  }
  return tensors;
}

bool WorkerBench::run_once(const Slot& slot, const std::array<void*, TEMPER_TENSOR_COUNT>& tensors) {
  return temper_execute(&slot.plan, &port_, tensors.data(), workspace_.data(),
                        workspace_.tensor().size * sizeof(float)) == TEMPER_OK;
}

CheckVerdict WorkerBench::check(uint8_t index, uint32_t expected_digest, uint64_t* elapsed_ns) {
  const Slot& slot = slots_[index];
  const TensorSet& set = *tensors_of(slot.workload);
  const GuardedBuffer& output = set.tensor[TEMPER_OUT];
  poison(output.guarded());
  if (!workspace_.empty()) {
    poison(workspace_.guarded());
  }
  const uint64_t started = steady_ns();
  const bool executed = run_once(slot, arguments(slot, set));
  *elapsed_ns = steady_ns() - started;
  if (!guards_intact(output.guarded()) || (!workspace_.empty() && !guards_intact(workspace_.guarded()))) {
    return CheckVerdict::kOverran;
  }
  return executed && fast_digest(output.tensor()) == expected_digest ? CheckVerdict::kRight : CheckVerdict::kWrong;
}

uint64_t WorkerBench::time(uint8_t index, uint32_t calls) {
  const Slot& slot = slots_[index];
  const TensorSet& set = *tensors_of(slot.workload);
  const std::array<void*, TEMPER_TENSOR_COUNT> tensors = arguments(slot, set);
  // The process slept since the last request: one call brings caches and clock back. Calls long enough to be timed
  // alone (number 1) do not feel it.
  if (calls > 1) {
    static_cast<void>(run_once(slot, tensors));
  }
  const uint64_t started = steady_ns();
  for (uint32_t call = 0; call < calls; ++call) {
    static_cast<void>(run_once(slot, tensors));
  }
  return steady_ns() - started;
}

}  // namespace temper
