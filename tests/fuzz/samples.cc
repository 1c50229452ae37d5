#include "tests/fuzz/samples.h"

#include "schedules/network.h"
#include "schedules/spaces.h"
#include "schedules/table_writer.h"
#include "schedules/workloads_json.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/first_boot.h"
#include "tests/fuzz/repair.h"
#include "tests/runtime/ram_storage.h"
#include "tests/runtime/sample_plans.h"
#include "tests/runtime/scanned_history.h"
#include "tests/tools/history_samples.h"

namespace temper::test {
namespace {

constexpr temper_budget kSecond = {1000000000u, 0, 0};

bool ends_in_intent(const RamStorage& storage) {
  const ScannedHistory scanned(storage.storage());
  return !scanned.frames.empty() && scanned.frames.back().type == FrameType::kIntent;
}

/// Power fails in the first trial after `frames` frames.
void boot_until_cut(const RamStorage& storage, uint64_t target, size_t frames) {
  FirstBoot boot({.storage = storage.storage(), .target = target});
  demand(boot.status() == TEMPER_OK && boot.start(kSecond), "a sample's boot starts");
  while (ScannedHistory(storage.storage()).frames.size() < frames || !ends_in_intent(storage)) {
    demand(boot.step() == TEMPER_MORE, "a sample's boot is cut before it ends");
  }
}

void boot_for(const RamStorage& storage, uint64_t target, uint32_t trials) {
  FirstBoot boot({.storage = storage.storage(), .target = target});
  demand(boot.status() == TEMPER_OK && boot.start({kSecond.time_ns, trials, 0}), "a sample's boot starts");
  demand(boot.run() == TEMPER_OK, "a sample's boot ends well");
}

TableEntry entry(uint64_t key, const std::string& name) {
  return {key, 1, 1, 100, 60, {{1, 4}, {2, 1}, {3, 6}}, name, {}, std::nullopt};
}

std::vector<uint8_t> written(std::vector<TableEntry> entries, uint64_t target) {
  const Result<std::vector<uint8_t>> bytes = write_table(std::move(entries), boot_fingerprint(target), "board");
  demand(bytes.ok(), "a sample's table is written");
  return *bytes;
}

std::vector<NetworkWorkload> small_network() {
  Result<Network> network = built_in_network("ds_cnn");
  demand(network.ok() && network->workloads.size() > 3, "the samples' network is built in");
  network->workloads.resize(3);
  return network->workloads;
}

std::vector<uint8_t> written(const PackOptions& options) {
  const Result<std::vector<uint8_t>> bytes = write_pack(small_network(), options);
  demand(bytes.ok(), "a sample's pack is written");
  return *bytes;
}

}  // namespace

std::vector<uint8_t> sample_boots(const Geometry& geometry) {
  RamStorage storage(geometry.size_bytes, geometry.program_bytes, geometry.erase_bytes);
  ToyClock::reset();
  boot_until_cut(storage, kBootTarget, 9);
  boot_for(storage, kBootTarget + 2, 4);
  boot_for(storage, kBootTarget, 8);
  boot_until_cut(storage, kBootTarget + 4, 0);
  std::vector<uint8_t> bytes = storage.bytes();
  while (!bytes.empty() && bytes.back() == 0xFF) {
    bytes.pop_back();
  }
  return bytes;
}

std::vector<uint8_t> sample_two_regions() {
  std::vector<uint8_t> bytes = sample_boots(kSmallFlashGeometry);
  std::vector<uint8_t> moved = bytes;
  constexpr size_t kGenerationAt = sizeof(FrameHeader) + 6, kHeaderBytes = 24;  // on units of 8 bytes
  moved[kGenerationAt] = 2;
  moved.insert(moved.end(), moved.begin(), moved.begin() + kHeaderBytes);
  constexpr size_t kSequenceAt = 4;
  moved[moved.size() - kHeaderBytes + kSequenceAt] = 0xFF;  // higher than all before, as far as a test cares
  repair_history(&moved, 0);
  bytes.resize(kSmallFlashGeometry.size_bytes / 2, 0xFF);
  bytes.insert(bytes.end(), moved.begin(), moved.end());
  return bytes;
}

std::vector<uint8_t> sample_table(uint64_t target) {
  return written({entry(kBootKey, "toy"), entry(kBootKey + 1, "toy 1"), entry(9, "another")}, target);
}

std::vector<uint8_t> sample_baked_table() {
  std::vector<TableEntry> entries = {entry(900, "conv_b"), entry(5, "fc"), entry(uint64_t{1} << 40, "conv_a")};
  BakedEntry packed = {{16, 8, 30, 4, 0}, 77, 2, packed_plan(1), unpacked_plan(0)};
  packed.winner.constant = 1;
  entries[0].baked = packed;
  packed.winner.constant = kNoConstant;
  entries[1].baked = packed;
  entries[2].baked = BakedEntry{{16, 8, 30, 0, 0}, 0xABCD, 1, unpacked_plan(0), unpacked_plan(1)};
  return written(std::move(entries), kBootTarget);
}

temper_winners winners_over(const uint8_t* table, size_t bytes) {
  alignas(64) static const float constant[16 * kWinnerConstants] = {};
  static const void* const constants[kWinnerConstants] = {constant, constant + 16, constant + 32};
  return {{table, bytes}, toy_kernels, kWinnerKernels, constants, kWinnerConstants};
}

std::vector<uint8_t> sample_pack() {
  PackOptions options;
  options.target = "x86-64-v3-linux";
  options.facts = test_facts();
  return written(options);
}

std::vector<uint8_t> sample_board_pack() {
  PackOptions options;
  options.target = "cortex-m4";
  options.facts = temper_facts{{1, 32, 0, 0, 0, 1, 1, 25000, 50, 3, 1, 1}};
  // Variants as the whole spaces' samples have them, so that the reduced templates serve every workload.
  PackOptions whole = options;
  const std::vector<uint8_t> bytes = written(whole);
  PackView view;
  demand(PackView::open(as_pack(bytes), &view, nullptr).ok(), "a sample's pack opens");
  std::vector<int32_t> values(view.scratch_values());
  std::vector<Interval> intervals(view.scratch_intervals());
  for (uint32_t w = 0; w < view.workload_count(); ++w) {
    const Space space(&view, w, &*options.facts, {values.data(), intervals.data()});
    Config config;
    demand(space.default_config(&config).ok(), "a sample's space has a default");
    PackVariant variant{static_cast<TemplateId>(space.view().id), {}, static_cast<uint16_t>(w)};
    for (uint32_t k = 0; k < space.view().compile_knob_count; ++k) {
      variant.values.push_back(static_cast<uint16_t>(space.value(k, config.choice[k])));
    }
    options.variants.push_back(variant);
  }
  options.templates = PackTemplates::kReduced;
  options.machine = PackMachine::kNominal;
  options.features = PackFeatures::kLeftOut;
  return written(options);
}

std::string sample_console_log() {
  return "boot 3\r\n" + console_dump(sample_history(7, {.trials = 8}), "\r\n", "[00:12] ") + "ready\r\n";
}

std::string sample_workloads() {
  Network network{"small", small_network(), {{"Softmax", "not tuned yet", 1, 0}}};
  return workloads_text(network);
}

}  // namespace temper::test
