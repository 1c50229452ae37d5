#include "schedules/pack_reduction.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "runtime/flatbuffers_config.h"
#include "runtime/random.h"
#include "runtime/space.h"
#include "schedules/spaces.h"

using namespace temper;

namespace {

//                           lanes regs L1 L2 L3 cores threads kHz MB/s lat per cycle memories
const temper_facts kCortexM4 = {{1, 32, 0, 0, 0, 1, 1, 25000, 50, 3, 1, 1}};
const temper_facts kCortexM7 = {{1, 32, 16384, 0, 0, 1, 1, 25000, 50, 3, 1, 1}};
const temper_facts kAvx2 = {{8, 16, 32768, 262144, 2097152, 4, 1, 3000000, 8000, 5, 2, 1}};

/// A pack's data, opened.
struct Opened {
  explicit Opened(const Result<std::vector<uint8_t>>& bytes) {
    REQUIRE_MESSAGE(bytes.ok(), (bytes.ok() ? "" : bytes.error().message));
    words.resize(bytes->size() / 8 + 1);
    std::copy(bytes->begin(), bytes->end(), reinterpret_cast<uint8_t*>(words.data()));
    size = bytes->size();
    REQUIRE(PackView::open({words.data(), size, nullptr, 0}, &view, nullptr).ok());
    values.resize(view.scratch_values());
    intervals.resize(view.scratch_intervals());
  }
  Space space(uint32_t workload, const temper_facts* facts) {
    return Space(&view, workload, facts, {values.data(), intervals.data()});
  }

  std::vector<uint64_t> words;
  size_t size = 0;
  PackView view;
  std::vector<int32_t> values;
  std::vector<Interval> intervals;
};

std::vector<PackVariant> variants_for(uint16_t lanes) {
  const TemplateId gemm = TemplateId::kGemm, depthwise = TemplateId::kDepthwise;
  return {{gemm, {6, 4, lanes, 2, kDirect, kConstant}, 0},
          {gemm, {4, 2, lanes, 1, kRows, kConstant}, 1},
          {gemm, {1, 3, lanes, 4, kRows, kPanel}, 2},
          {gemm, {2, 1, lanes, 1, kDirect, kDirect}, 3},
          {gemm, {1, 1, lanes, 2, kDirect, kPanel}, 4},
          {gemm, {4, 2, lanes, 2, kDirect, kConstant}, 5},
          {gemm, {6, 2, lanes, 2, kConstant, kPanel}, 6},
          {depthwise, {2, 2, 1, lanes}, 7},
          {depthwise, {1, 4, 2, lanes}, 8}};
}

/// The run knobs' values of `from` with the same in `to`; false when one is not listed there.
bool copy_config(const Space& from, const Config& config, const Space& to, Config* out) {
  for (uint32_t knob = 0; knob < from.knob_count(); ++knob) {
    if (!to.choose(knob, static_cast<uint16_t>(from.value(knob, config.choice[knob])), out).ok()) {
      return false;
    }
  }
  return true;
}

/// Every variant with `count` random settings of the run knobs: legal in both or in neither, and then with the same
/// shape and predicted time. Returns how many were legal.
uint32_t check_same_space(const Space& whole, const Space& small, const std::vector<PackVariant>& variants,
                          uint32_t count) {
  Random random(1);
  uint32_t legal = 0;
  const uint32_t first = whole.view().compile_knob_count;
  for (const PackVariant& variant : variants) {
    Config config;
    if (static_cast<uint16_t>(variant.template_id) != whole.view().id) {
      continue;
    }
    for (uint32_t knob = 0; knob < first; ++knob) {
      REQUIRE(whole.choose(knob, variant.values[knob], &config).ok());
    }
    for (uint32_t i = 0; i < count; ++i) {
      for (uint32_t knob = first; knob < whole.knob_count(); ++knob) {
        config.choice[knob] = static_cast<uint8_t>(random.below(whole.choice_count(knob)));
      }
      Config same;
      const bool listed = copy_config(whole, config, small, &same);
      REQUIRE(whole.legal(config) == (listed && small.legal(same)));
      if (!whole.legal(config)) {
        continue;
      }
      ++legal;
      Shape a{}, b{};
      whole.shape(config, &a);
      small.shape(same, &b);
      REQUIRE(a.grid == b.grid);
      REQUIRE(a.workspace_bytes == b.workspace_bytes);
      REQUIRE(a.packed_tensor == b.packed_tensor);
      REQUIRE(std::equal(a.pack_layout, a.pack_layout + 11, b.pack_layout));
      REQUIRE(whole.prior_q8(config) == small.prior_q8(same));
    }
  }
  return legal;
}

void check_network(const char* name, const temper_facts& facts, uint16_t lanes, PackMachine machine, uint32_t count) {
  INFO(std::string(name) << ", " << lanes << " lanes");
  const Result<Network> network = built_in_network(name);
  REQUIRE(network.ok());
  PackOptions options;
  options.target = "test";
  options.digests = false;
  options.facts = facts;
  options.variants = variants_for(lanes);
  Opened whole(write_pack(network->workloads, options));
  options.templates = PackTemplates::kReduced;
  options.machine = machine;
  Opened small(write_pack(network->workloads, options));
  CHECK(small.size < whole.size);
  CHECK(small.view.pack_hash() == whole.view.pack_hash());
  uint32_t legal = 0;
  for (uint32_t i = 0; i < whole.view.workload_count(); ++i) {
    const Space before = whole.space(i, &facts), after = small.space(i, &facts);
    INFO(std::string(before.workload().name));
    legal += check_same_space(before, after, options.variants, count);
    Config a, b;
    REQUIRE(before.default_config(&a).ok());
    REQUIRE(after.default_config(&b).ok());
    Config moved;
    REQUIRE(copy_config(before, a, after, &moved));
    CHECK(moved == b);
  }
  CHECK(legal > 100);
}

}  // namespace

TEST_CASE("a reduced pack has the configs, shapes, predictions and defaults of the whole one") {
  check_network("ds_cnn", kCortexM4, 1, PackMachine::kNominal, 3000);
  check_network("ds_cnn", kCortexM7, 1, PackMachine::kNominal, 3000);
  check_network("mobilenet_v2", kAvx2, 8, PackMachine::kProbed, 500);
}

TEST_CASE("a reduced pack for probed facts fits machines with other facts too") {
  const Result<Network> network = built_in_network("ds_cnn");
  REQUIRE(network.ok());
  PackOptions options;
  options.target = "test";
  options.digests = false;
  options.facts = kAvx2;
  options.variants = variants_for(8);
  Opened whole(write_pack(network->workloads, options));
  options.templates = PackTemplates::kReduced;
  Opened small(write_pack(network->workloads, options));
  const temper_facts other = {{16, 32, 49152, 2097152, 8388608, 2, 2, 2500000, 12000, 4, 2, 1}};
  uint32_t legal = 0;
  for (uint32_t i = 0; i < whole.view.workload_count(); ++i) {
    legal += check_same_space(whole.space(i, &other), small.space(i, &other), options.variants, 1000);
  }
  CHECK(legal > 10);
}

TEST_CASE("facts, defaults and left-out programs are what a pack for nominal facts says") {
  const Result<Network> network = built_in_network("ds_cnn");
  REQUIRE(network.ok());
  PackOptions options;
  options.target = "cortex-m4";
  options.digests = false;
  options.facts = kCortexM4;
  options.variants = variants_for(1);
  options.machine = PackMachine::kNominal;
  options.features = PackFeatures::kLeftOut;
  PackParts parts;
  const Result<std::vector<uint8_t>> bytes = write_pack(network->workloads, options, &parts);
  Opened pack(bytes);
  const auto* root = flatbuffers::GetRoot<format::Pack>(pack.words.data());
  REQUIRE(root->facts() != nullptr);
  CHECK(root->facts()->size() == TEMPER_FACT_COUNT);
  CHECK(root->facts()->Get(TEMPER_FACT_CLOCK_KHZ) == 25000);
  for (const auto* workload : *root->workloads()) {
    REQUIRE(workload->default_values() != nullptr);
    CHECK(workload->default_values()->size() == root->templates()->Get(workload->template_index())->knobs()->size());
  }
  for (const auto* data : *root->templates()) {
    CHECK(data->defaults() == nullptr);
    CHECK(data->features() == nullptr);
  }
  CHECK(parts.defaults == 0);
  CHECK(parts.features == 0);
  const uint32_t sum =
      parts.constraint + parts.shape + parts.prior + parts.knobs + parts.workloads + parts.variants + parts.rest;
  CHECK(sum == bytes->size());
}

TEST_CASE("several memories make placement a knob, for configs that have something to place") {
  const Result<Network> network = built_in_network("ds_cnn");
  REQUIRE(network.ok());
  PackOptions options;
  options.target = "cortex-m7";
  options.digests = false;
  options.facts = kCortexM7;
  options.facts->value[TEMPER_FACT_MEMORIES] = 2;
  options.variants = variants_for(1);
  for (const PackTemplates templates : {PackTemplates::kFull, PackTemplates::kReduced}) {
    options.templates = templates;
    Opened pack(write_pack(network->workloads, options));
    uint32_t elsewhere = 0;
    for (uint32_t i = 0; i < pack.view.workload_count(); ++i) {
      const Space space = pack.space(i, &*options.facts);
      const uint32_t knob = space.knob_count() - 1;
      CHECK(space.view().knob(knob).id == kMemoryKnobId);
      Config config;
      REQUIRE(space.default_config(&config).ok());
      CHECK(space.value(knob, config.choice[knob]) == 0);
      Random random(3);
      for (int n = 0; n < 100 && space.sample(random, &config).ok(); ++n) {
        Shape shape;
        space.shape(config, &shape);
        const bool places = shape.workspace_bytes > 0 || shape.packed_tensor != TEMPER_TENSOR_COUNT;
        const int32_t memory = space.value(knob, config.choice[knob]);
        CHECK((memory == 0 || places));
        elsewhere += memory != 0 ? 1 : 0;
      }
    }
    CHECK(elsewhere > 0);
  }
}

TEST_CASE("a pack that leaves parts out needs variants that serve every workload, and facts") {
  const Result<Network> network = built_in_network("ds_cnn");
  REQUIRE(network.ok());
  PackOptions options;
  options.target = "cortex-m4";
  options.digests = false;
  options.templates = PackTemplates::kReduced;
  CHECK(write_pack(network->workloads, options).error().code == TEMPER_INVALID_ARGUMENT);
  options.variants = variants_for(1);
  options.machine = PackMachine::kNominal;
  CHECK(write_pack(network->workloads, options).error().code == TEMPER_INVALID_ARGUMENT);
  options.facts = kCortexM4;
  std::erase_if(options.variants, [](const PackVariant& v) { return v.template_id == TemplateId::kDepthwise; });
  const Result<std::vector<uint8_t>> unserved = write_pack(network->workloads, options);
  REQUIRE(!unserved.ok());
  CHECK(unserved.error().code == TEMPER_NOT_FOUND);
  CHECK(unserved.error().message.find("depthwise_1") != std::string::npos);
}
