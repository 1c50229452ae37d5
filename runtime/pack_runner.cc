#include "runtime/pack_runner.h"

#include "runtime/check.h"
#include "runtime/lookup.h"
#include "runtime/plan.h"

namespace temper {
namespace {

constexpr size_t kAlignment = 64;

// A part of a call is to take about this long: short for whoever waits for the step to end, long against a clock that
// ticks every millisecond. Of a new workload nothing is known, so it starts with many parts.
constexpr uint32_t kPartNs = 8000000;
constexpr uint8_t kFirstPartsShift = 6;
constexpr uint8_t kMostPartsShift = 20;
constexpr uint64_t kAlarmFloorNs = 1000000000;
constexpr uint32_t kNoLimit = UINT32_MAX;

size_t round_to_alignment(size_t bytes) { return (bytes + kAlignment - 1) & ~(kAlignment - 1); }

}  // namespace

// Where plan_'s tensors, packed constant and workspace lie. False when they do not fit.
bool PackRunner::lay_out(const Space& space) {
  static_assert(kGuardElements * sizeof(float) % kAlignment == 0, "the output behind its guard is aligned too");
  const uint32_t* const elements = space.workload().elements;
  size_t used = round_to_alignment((elements[TEMPER_OUT] + 2 * kGuardElements) * sizeof(float));
  tensor_at_[TEMPER_OUT] = kGuardElements * sizeof(float);
  inputs_at_ = used;
  for (uint32_t i = TEMPER_IN_A; i < TEMPER_TENSOR_COUNT; ++i) {
    tensor_at_[i] = elements[i] == 0 ? 0 : used;
    used += round_to_alignment(elements[i] * sizeof(float));
  }
  inputs_bytes_ = used - inputs_at_;
  const size_t side_bytes =
      round_to_alignment(plan_.packed_bytes) + static_cast<size_t>(plan_.threads) * plan_.workspace_bytes;
  if (plan_.memory == 0) {
    side_ = memory_ == nullptr ? nullptr : memory_ + used;
    tensor_bytes_ = used + side_bytes;
    return tensor_bytes_ <= memory_bytes_;
  }
  tensor_bytes_ = used;
  if (plan_.memory > config_->memory_count) {
    return false;
  }
  const temper_memory& memory = config_->memories[plan_.memory - 1];
  side_ = static_cast<uint8_t*>(memory.data);
  return used <= memory_bytes_ && side_bytes <= memory.bytes;
}

size_t PackRunner::bytes_of_variant(const Space& space, uint32_t variant) {
  Config config;
  for (uint32_t knob = 0; knob < space.knob_count(); ++knob) {
    config.choice[knob] = static_cast<uint8_t>(space.choice_count(knob) - 1);
  }
  space.use_variant(variant, &config);
  if (!make_plan(space, config, nullptr, &plan_).ok()) {
    return 0;
  }
  plan_.memory = 0;  // all of it may have to lie there
  (void)lay_out(space);
  return tensor_bytes_;
}

size_t PackRunner::bytes_wanted() {
  const PackView& pack = spaces_->pack();
  size_t most = 0;
  for (uint32_t workload = 0; workload < pack.workload_count(); ++workload) {
    const Space& space = spaces_->select(workload);
    for (uint32_t i = 0; i < pack.variant_count(); ++i) {
      if (pack.variant(i).template_index == space.workload().template_index) {
        const size_t bytes = bytes_of_variant(space, i);
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
  for (uint32_t workload = 0; workload < spaces_->pack().workload_count(); ++workload) {
    Config config;
    const bool told = spaces_->find_default(workload, &config).ok();
    const Space& space = spaces_->select(workload);
    if (told && make_plan(space, config, nullptr, &plan_).ok() && !lay_out(space)) {
      return TEMPER_NO_MEMORY;
    }
  }
  return {};
}

temper_outcome PackRunner::find_kernel() {
  const Space& space = spaces_->select(workload_);
  // Without a digest nothing could tell a wrong kernel, so nothing is tuned.
  if (space.workload().digest == 0) {
    return TEMPER_OUTCOME_INVALID;
  }
  const bool fits = spaces_->plan(*wanted_, &plan_).ok() && lay_out(space);
  return fits ? TEMPER_OUTCOME_OK : TEMPER_OUTCOME_INVALID;
}

// Of everything that a kernel may only read. What lies between the tensors counts too.
uint32_t PackRunner::fold_inputs() const {
  return fold(memory_ + inputs_at_, inputs_bytes_) ^ fold(side_, plan_.packed_bytes);
}

// Fills the inputs where they are new here or somebody spoiled them, packs the constant as the plan wants it, poisons
// the output. False when the plan cannot be packed for.
bool PackRunner::prepare() {
  if (kind_ == RunKind::kCheck) {
    poison({reinterpret_cast<float*>(memory_),
            spaces_->select(workload_).workload().elements[TEMPER_OUT] + 2 * kGuardElements});
  }
  if (prepared_) {
    return true;
  }
  if (filled_workload_ != workload_) {
    filled_workload_ = workload_;
    parts_shift_ = kFirstPartsShift;
    for (uint32_t i = TEMPER_IN_A; i < TEMPER_TENSOR_COUNT; ++i) {
      fill_small_integers(static_cast<temper_tensor>(i), {reinterpret_cast<float*>(memory_ + tensor_at_[i]),
                                                          spaces_->select(workload_).workload().elements[i]});
    }
  }
  prepared_ = true;
  const bool packed =
      plan_.packed_bytes == 0 ||
      temper_pack_constant(&plan_, reinterpret_cast<const float*>(memory_ + tensor_at_[plan_.packed_tensor]), side_,
                           plan_.packed_bytes) == TEMPER_OK;
  if (kind_ == RunKind::kCheck) {
    inputs_fold_ = fold_inputs();
  }
  return packed;
}

// The alarm is for calls that do not return at all: what is merely late is cut between two calls.
void PackRunner::set_alarm(uint64_t after_ns) const {
  const temper_port& port = *config_->port;
  if (port.set_alarm != nullptr) {
    port.set_alarm(port.self, after_ns);
  }
}

uint64_t PackRunner::now_ns() const { return config_->port->now_ns(config_->port->self); }

// The items [begin, end) of the grid; all of it in as many threads as the plan wants.
void PackRunner::call(uint32_t begin, uint32_t end) {
  void* tensors[TEMPER_TENSOR_COUNT];
  for (uint32_t i = 0; i < TEMPER_TENSOR_COUNT; ++i) {
    tensors[i] = tensor_at_[i] == 0 ? nullptr : memory_ + tensor_at_[i];
  }
  if (plan_.packed_bytes != 0) {
    tensors[plan_.packed_tensor] = side_;
  }
  uint8_t* const workspace = side_ + round_to_alignment(plan_.packed_bytes);
  if (plan_.threads > 1) {
    (void)temper_execute(&plan_, config_->port, tensors, workspace,
                         static_cast<size_t>(plan_.threads) * plan_.workspace_bytes);
  } else {
    plan_.kernel(static_cast<float*>(tensors[TEMPER_OUT]), static_cast<const float*>(tensors[TEMPER_IN_A]),
                 static_cast<const float*>(tensors[TEMPER_IN_B]), static_cast<const float*>(tensors[TEMPER_BIAS]),
                 static_cast<const float*>(tensors[TEMPER_ADDEND]), workspace, plan_.args, static_cast<int32_t>(begin),
                 static_cast<int32_t>(end));
  }
}

void PackRunner::finish(temper_outcome outcome, uint64_t elapsed_ns) {
  running_ = false;
  result_ = {outcome, elapsed_ns};
  if (outcome != TEMPER_OUTCOME_OK) {
    filled_workload_ = UINT32_MAX;
    return;
  }
  if (kind_ == RunKind::kTime) {
    return;
  }
  const size_t elements = spaces_->select(workload_).workload().elements[TEMPER_OUT];
  const float* const output = reinterpret_cast<const float*>(memory_ + tensor_at_[TEMPER_OUT]);
  const bool right = guards_intact({output - kGuardElements, elements + 2 * kGuardElements}) &&
                     fold_inputs() == inputs_fold_ &&
                     digest({output, elements}) == spaces_->select(workload_).workload().digest;
  if (!right) {
    filled_workload_ = UINT32_MAX;
    result_.outcome = TEMPER_OUTCOME_WRONG_RESULT;
  }
}

// Parts are added up; what happens between them is not timed. A call that would pass its limit, going by the parts so
// far, is hopeless.
void PackRunner::run_part() {
  const uint32_t grid = static_cast<uint32_t>(plan_.grid);
  const uint32_t items = plan_.threads > 1 ? grid : ((grid - 1) >> parts_shift_) + 1;
  const uint32_t end = items < grid - item_ ? item_ + items : grid;
  const uint64_t start_ns = now_ns();
  call(item_, end);
  const uint32_t took_ns = saturated_ns(now_ns() - start_ns);
  item_ = end;
  spent_ns_ = saturated_ns(uint64_t{spent_ns_} + took_ns);
  if (took_ns > 2 * kPartNs && parts_shift_ < kMostPartsShift) {
    ++parts_shift_;
  } else if (took_ns < kPartNs / 2 && parts_shift_ > 0) {
    --parts_shift_;
  }
  const bool hopeless = spent_ns_ > kPartNs && uint64_t{spent_ns_} * grid > uint64_t{limit_ns_} * item_;
  if (item_ == grid) {
    finish(TEMPER_OUTCOME_OK, spent_ns_);
  } else if (hopeless && limit_ns_ != kNoLimit) {
    finish(TEMPER_OUTCOME_TOO_SLOW, limit_ns_);
  }
}

// The clock is looked at after 1, 2, 4, ... calls: seldom enough not to be timed itself, and what runs over takes at
// most as long again.
void PackRunner::run_calls() {
  const uint64_t start_ns = now_ns();
  for (uint32_t i = 1; i <= number_; ++i) {
    call(0, static_cast<uint32_t>(plan_.grid));
    if (i < number_ && (i & (i - 1)) == 0 && now_ns() - start_ns > limit_ns_) {
      finish(TEMPER_OUTCOME_TOO_SLOW, limit_ns_);
      return;
    }
  }
  finish(TEMPER_OUTCOME_OK, now_ns() - start_ns);
}

Status PackRunner::build_slot(void* self, uint8_t slot, uint32_t workload, const Config& config) {
  PackRunner& runner = *static_cast<PackRunner*>(self);
  if (slot != 0 || workload >= runner.spaces_->pack().workload_count()) {
    return TEMPER_INVALID_ARGUMENT;
  }
  runner.workload_ = workload;
  runner.prepared_ = false;
  runner.wanted_ = &config;
  return {};
}

// Looking for the kernel takes about as long as a candidate of the search, which this step was spent on already.
bool PackRunner::poll_slot(void* self, uint8_t, temper_outcome* outcome, uint32_t* build_us) {
  PackRunner& runner = *static_cast<PackRunner*>(self);
  runner.outcome_ = runner.find_kernel();
  *outcome = runner.outcome_;
  *build_us = 0;
  return true;
}

Status PackRunner::run_slot(void* self, uint8_t slot, RunKind kind, uint32_t number, uint64_t limit_ns) {
  PackRunner& runner = *static_cast<PackRunner*>(self);
  if (slot != 0 || runner.outcome_ != TEMPER_OUTCOME_OK) {
    return TEMPER_INVALID_ARGUMENT;
  }
  runner.kind_ = kind;
  runner.number_ = number;
  runner.limit_ns_ = saturated_ns(limit_ns);
  runner.spent_ns_ = 0;
  runner.item_ = 0;
  runner.running_ = true;
  return {};
}

bool PackRunner::poll_result(void* self, RunResult* result) {
  PackRunner& runner = *static_cast<PackRunner*>(self);
  if (runner.running_ && runner.item_ == 0 && !runner.prepare()) {
    runner.finish(TEMPER_OUTCOME_CRASHED, 0);
  }
  if (runner.running_) {
    runner.set_alarm(kAlarmFloorNs + 2 * uint64_t{runner.limit_ns_});
    if (runner.number_ == 1) {
      runner.run_part();
    } else {
      runner.run_calls();
    }
    runner.set_alarm(0);
  }
  *result = runner.result_;
  return !runner.running_;
}

void PackRunner::release_slot(void* self, uint8_t) {
  PackRunner& runner = *static_cast<PackRunner*>(self);
  runner.outcome_ = TEMPER_OUTCOME_INVALID;
  runner.running_ = false;
}

Runner PackRunner::runner() { return {this, 1, build_slot, poll_slot, run_slot, poll_result, release_slot, nullptr}; }

}  // namespace temper
