#include "tests/fuzz/first_boot.h"

#include "tests/fuzz/demand.h"

namespace temper::test {
namespace {

constexpr uint32_t kRememberedTrials = 64;
constexpr uint32_t kMostSteps = 1u << 20;

}  // namespace

const std::vector<uint8_t>& boot_pack() {
  static const std::vector<uint8_t> bytes = [] {
    TestPack pack = toy_pack();
    for (uint64_t i = 1; i < kBootWorkloads; ++i) {
      pack.workloads.push_back(pack.workloads[0]);
      pack.workloads[i].key = kBootKey + i;
      pack.workloads[i].name = "toy " + std::to_string(i);
    }
    return build(pack);
  }();
  return bytes;
}

Fingerprint boot_fingerprint(uint64_t target) {
  const TestPack pack = toy_pack();
  return make_fingerprint(target, test_facts(), 0, 0, pack.pack_hash, pack.feature_version);
}

FirstBoot::FirstBoot(const Options& options) : port_(ToyClock::port(options.storage)) {
  static const temper_pack own = as_pack(boot_pack(), toy_kernels, kToyKernelCount);
  config_.pack = options.pack == nullptr ? &own : options.pack;
  config_.port = &port_;
  config_.facts = test_facts();
  config_.tables = options.tables.data();
  config_.table_count = static_cast<uint32_t>(options.tables.size());
  config_.table_reader = &temper_table_reader;
  config_.defaults = &temper_probed_defaults;
  config_.max_trials = kRememberedTrials;
  config_.target_hash = options.target;
  config_.seed = 1;
  size_t count = 0, total = 0;
  status_ = temper_requirements(&config_, nullptr, 0, &count, &total);
  if (status_ == TEMPER_OK) {
    arena_.assign(total, 0xEE);
    status_ = temper_init(&context_, &config_, arena_.data(), arena_.size());
  }
}

bool FirstBoot::start(const temper_budget& budget, size_t most_bytes) {
  const size_t bytes = temper_tuning_bytes(context_);
  if (bytes > most_bytes) {
    return false;
  }
  memory_.assign(bytes, 0xEE);
  return temper_tune_start(context_, &budget, memory_.data(), memory_.size()) == TEMPER_OK;
}

temper_status FirstBoot::step() { return temper_tune_step(context_, nullptr); }

temper_status FirstBoot::run() {
  temper_status status = TEMPER_MORE;
  for (uint32_t i = 0; status == TEMPER_MORE && i < kMostSteps; ++i) {
    status = step();
  }
  demand(status != TEMPER_MORE, "a run ends");
  return status;
}

}  // namespace temper::test
