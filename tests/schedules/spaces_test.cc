#include "schedules/spaces.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "runtime/space.h"
#include "tests/schedules/random_workload.h"

using namespace temper;

namespace {

/// A pack of one workload and its space on one machine.
struct OneSpace {
  OneSpace(const Workload& workload, const temper_facts& machine) : facts(machine) {
    PackOptions options;
    options.target = "test";
    options.digests = false;
    const Result<std::vector<uint8_t>> bytes = write_pack({{workload, "only", 1}}, options);
    REQUIRE_MESSAGE(bytes.ok(), (bytes.ok() ? "" : bytes.error().message));
    memory.resize(bytes->size() / 8 + 1);
    std::copy(bytes->begin(), bytes->end(), reinterpret_cast<uint8_t*>(memory.data()));
    REQUIRE(PackView::open({memory.data(), bytes->size(), nullptr, 0}, &pack, nullptr).ok());
    values.resize(pack.scratch_values());
    intervals.resize(pack.scratch_intervals());
    space = Space(&pack, 0, &facts, {values.data(), intervals.data()});
  }

  temper_facts facts;
  std::vector<uint64_t> memory;
  PackView pack;
  std::vector<int32_t> values;
  std::vector<Interval> intervals;
  Space space;
};

struct Machine {
  const char* name;
  temper_facts facts;
};

//                               lanes regs  L1        L2        L3     cores threads  kHz    MB/s  lat per cycle
constexpr Machine kMachines[] = {
    {"AVX2", {{8, 16, 32 << 10, 256 << 10, 4 << 20, 4, 1, 3000000, 12000, 4, 2}}},
    {"AVX-512, two threads", {{16, 32, 48 << 10, 2 << 20, 8 << 20, 2, 2, 3000000, 10000, 4, 2}}},
    {"NEON, four threads", {{4, 32, 32 << 10, 512 << 10, 0, 4, 4, 1800000, 4000, 4, 2}}},
    {"Cortex-M4", {{1, 32, 0, 0, 0, 1, 1, 100000, 100, 3, 1}}},
    {"Cortex-M55", {{4, 8, 16 << 10, 0, 0, 1, 1, 400000, 400, 3, 1}}},
};

/// The template's default wishes, moved to listed values, without the core's repair.
Config wished(const OneSpace& one) {
  const TemplateView& view = one.space.view();
  std::vector<int32_t> values(view.defaults().code.size);
  const int32_t no_knobs[TEMPER_MAX_KNOBS] = {};
  evaluate(
      view.defaults(),
      {view.constants, one.space.workload().dims, {no_knobs, view.knob_count}, {one.facts.value, TEMPER_FACT_COUNT}},
      values.data());
  Config config;
  for (uint32_t knob = 0; knob < view.knob_count; ++knob) {
    const int32_t wish = values[view.defaults().outputs[knob]];
    while (config.choice[knob] + 1u < one.space.choice_count(knob) &&
           one.space.value(knob, config.choice[knob] + 1u) <= wish) {
      ++config.choice[knob];
    }
  }
  return config;
}

std::string text_of(const OneSpace& one, const Config& config) {
  std::string text;
  for (uint32_t knob = 0; knob < one.space.knob_count(); ++knob) {
    text += std::string(one.space.view().knob(knob).name) + "=" +
            std::to_string(one.space.value(knob, config.choice[knob])) + " ";
  }
  return text;
}

void check_default(const Workload& workload, const Machine& machine) {
  const OneSpace one(workload, machine.facts);
  INFO(machine.name << ": " << canonical_text(workload));
  const Config config = wished(one);
  INFO(text_of(one, config));
  REQUIRE(one.space.legal(config));
  Shape shape;
  one.space.shape(config, &shape);
  CHECK(shape.grid > 0);
  CHECK(shape.workspace_bytes >= 0);
  CHECK(shape.workspace_bytes % 64 == 0);
  CHECK(shape.workspace_bytes <=
        std::max(2 * std::max(machine.facts.value[TEMPER_FACT_L1D_BYTES], machine.facts.value[TEMPER_FACT_L2_BYTES]),
                 32 << 10));
}

const char* const kMobileNet[] = {
    "conv2d f32 nchw 1x3x224x224 o32 k3x3 s2x2 p1,1,1,1 d1x1 g1 bias clip(0,6)",
    "conv2d f32 nhwc 1x3x224x224 o32 k3x3 s2x2 p1,1,1,1 d1x1 g1 bias clip(0,6)",
    "conv2d f32 nhwc 1x32x112x112 o16 k1x1 s1x1 p0,0,0,0 d1x1 g1 bias",
    "conv2d f32 nchw 1x24x56x56 o144 k1x1 s1x1 p0,0,0,0 d1x1 g1 bias clip(0,6)",
    "conv2d f32 nhwc 1x144x56x56 o24 k1x1 s1x1 p0,0,0,0 d1x1 g1 bias addend",
    "conv2d f32 nchw 1x960x7x7 o320 k1x1 s1x1 p0,0,0,0 d1x1 g1 bias",
    "conv2d f32 nhwc 1x320x7x7 o1280 k1x1 s1x1 p0,0,0,0 d1x1 g1 bias clip(0,6)",
    "matmul f32 1x128x768x768 bconst bias",
};

/// Configs of the space among `count` drawn evenly from all, legal or not.
uint64_t estimated_legal(const OneSpace& one, uint32_t count) {
  Random random(1);
  uint64_t legal = 0;
  for (uint32_t i = 0; i < count; ++i) {
    Config config;
    for (uint32_t knob = 0; knob < one.space.knob_count(); ++knob) {
      config.choice[knob] = static_cast<uint8_t>(random.below(one.space.choice_count(knob)));
    }
    legal += one.space.legal(config);
  }
  return one.space.size() * legal / count;
}

}  // namespace

TEST_CASE("the default that the facts suggest is legal as it stands, for any workload on any machine") {
  Random random(11);
  for (const Machine& machine : kMachines) {
    for (int i = 0; i < 300; ++i) {
      check_default(test::random_workload(random, i % 3 == 0 ? 400 : i % 3 == 1 ? 40 : 6), machine);
    }
    for (const char* text : kMobileNet) {
      check_default(*parse_workload(text), machine);
    }
    for (const char* text :
         {"matmul f32 1x1x1x1", "matmul f32 1x1x1024x1000 bconst bias", "matmul f32 64x1x4096x1",
          "matmul f32 1x400000x16x2 ta tb", "conv2d f32 nhwc 1x16x640x640 o16 k3x3 s1x1 p1,1,1,1 d1x1 g1",
          "conv2d f32 nchw 1x16x640x640 o16 k1x1 s1x1 p0,0,0,0 d1x1 g1", "matmul f32 1x3000x100000x3 ta",
          "conv2d f32 nhwc 1x512x7x7 o512 k3x3 s1x1 p1,1,1,1 d1x1 g1 fvar"}) {
      check_default(*parse_workload(text), machine);
    }
  }
}

TEST_CASE("spaces of network shapes hold thousands of legal configs, and sampling finds them") {
  for (const char* text : kMobileNet) {
    const OneSpace one(*parse_workload(text), kMachines[1].facts);
    const uint64_t legal = estimated_legal(one, 200000);
    MESSAGE(std::string(text) << ": about " << legal << " legal of " << one.space.size());
    CHECK(legal > 5000);
    Random random(5);
    for (int i = 0; i < 50; ++i) {
      Config config;
      REQUIRE(one.space.sample(random, &config).ok());
      CHECK(one.space.legal(config));
    }
  }
  const OneSpace depthwise(*parse_workload("conv2d f32 nhwc 1x96x56x56 o96 k3x3 s1x1 p1,1,1,1 d1x1 g96 bias"),
                           kMachines[1].facts);
  MESSAGE("depthwise: about " << estimated_legal(depthwise, 20000) << " legal of " << depthwise.space.size());
  CHECK(estimated_legal(depthwise, 20000) > 1000);
}

TEST_CASE("no two legal configs mean the same blocks") {
  // Reduced to the block knobs of one register tile: each combination must cut the iteration space differently.
  const Workload workload = *parse_workload("matmul f32 1x50x70x90 bconst");
  const OneSpace one(workload, kMachines[0].facts);
  const Config base = wished(one);
  const auto value = [&](const Config& config, uint32_t knob) { return one.space.value(knob, config.choice[knob]); };
  std::vector<std::array<int32_t, 4>> seen;
  for (Config config = base;;) {
    if (one.space.legal(config)) {
      const int32_t tile_m = value(config, kKnobTileM),
                    tile_n = value(config, kKnobTileVectors) * value(config, kKnobLanes);
      const auto block = [](int32_t wish, int32_t tile, int32_t extent) {
        const int32_t whole = (extent + tile - 1) / tile * tile;
        return std::min((wish + tile - 1) / tile * tile, whole);
      };
      const std::array<int32_t, 4> cut = {block(value(config, kKnobBlockM), tile_m, 50),
                                          block(value(config, kKnobBlockN), tile_n, 90),
                                          std::min(value(config, kKnobBlockK), 70), value(config, kKnobInnerLoop)};
      CHECK(std::find(seen.begin(), seen.end(), cut) == seen.end());
      seen.push_back(cut);
    }
    uint32_t knob = kKnobBlockM;
    while (knob < kGemmKnobCount && ++config.choice[knob] == one.space.choice_count(knob)) {
      config.choice[knob++] = 0;
    }
    if (knob == kGemmKnobCount) {
      break;
    }
  }
  CHECK(seen.size() > 30);
}

TEST_CASE("the pack layout of a constant reads each of its elements once and pads with whole tiles") {
  Random random(23);
  int packed_count = 0;
  for (int i = 0; i < 300; ++i) {
    const Workload workload = test::random_workload(random, 12);
    const OneSpace one(workload, kMachines[0].facts);
    Shape shape;
    one.space.shape(wished(one), &shape);
    if (shape.packed_tensor == TEMPER_TENSOR_COUNT) {
      for (int32_t number : shape.pack_layout) {
        CHECK(number == 0);
      }
      continue;
    }
    ++packed_count;
    INFO(canonical_text(workload));
    const auto [groups, group_stride, n, n_stride, block, k0, stride0, k1, stride1, k2, stride2] = shape.pack_layout;
    std::vector<int> reads(tensor_elements(workload)[shape.packed_tensor], 0);
    for (int32_t g = 0; g < groups; ++g) {
      for (int32_t at = 0; at < n * k0 * k1 * k2; ++at) {
        const int32_t c = at % k2, kw = at / k2 % k1, kh = at / (k1 * k2) % k0, column = at / (k0 * k1 * k2);
        const int32_t offset = g * group_stride + column * n_stride + kh * stride0 + kw * stride1 + c * stride2;
        REQUIRE(offset < static_cast<int32_t>(reads.size()));
        ++reads[offset];
      }
    }
    CHECK(block > 0);
    // A constant without batch is read by every g inner of a batch that varies in the other operand.
    const int per_element = std::max(1, groups * (group_stride == 0 ? 1 : 0));
    CHECK(std::all_of(reads.begin(), reads.end(), [&](int count) { return count == per_element; }));
  }
  CHECK(packed_count > 80);
}

TEST_CASE("the prior ranks sound configs above poor ones") {
  const OneSpace one(*parse_workload("conv2d f32 nhwc 1x64x56x56 o64 k1x1 s1x1 p0,0,0,0 d1x1 g1 bias"),
                     kMachines[1].facts);
  const Config base = wished(one);
  const int32_t of_default = one.space.prior_q8(base);
  Config narrow = base;
  narrow.choice[kKnobLanes] = 1;
  narrow.choice[kKnobTileM] = 1;
  REQUIRE(one.space.legal(narrow));
  CHECK(one.space.prior_q8(narrow) > of_default + 256);  // at least twice the time
  Random random(9);
  int better = 0;
  for (int i = 0; i < 1000; ++i) {
    Config config;
    REQUIRE(one.space.sample(random, &config).ok());
    better += one.space.prior_q8(config) < of_default;
  }
  MESSAGE("of 1000 random configs the prior prefers " << better << " to the default");
  CHECK(better < 150);
}

TEST_CASE("features are bounded in number and tell configs apart") {
  const OneSpace one(*parse_workload(kMobileNet[4]), kMachines[0].facts);
  Random random(2);
  uint8_t first[kMaxFeatures], second[kMaxFeatures];
  for (int i = 0; i < 100; ++i) {
    Config a, b;
    REQUIRE(one.space.sample(random, &a).ok());
    REQUIRE(one.space.sample(random, &b).ok());
    const uint32_t count = one.space.features(a, first);
    CHECK(one.space.features(b, second) == count);
    CHECK(count <= kMaxFeatures);
    CHECK((a == b || !std::equal(first, first + count, second)));
  }
}

TEST_CASE("a pack holds the digest, key and sizes of its workloads and only the templates they use") {
  const Workload workload = *parse_workload("matmul f32 2x33x40x17 bconst bias");
  PackOptions options;
  options.target = "x";
  const Result<std::vector<uint8_t>> bytes = write_pack({{workload, "name", 3}}, options);
  REQUIRE(bytes.ok());
  std::vector<uint64_t> memory(bytes->size() / 8 + 1);
  std::copy(bytes->begin(), bytes->end(), reinterpret_cast<uint8_t*>(memory.data()));
  PackView pack;
  REQUIRE(PackView::open({memory.data(), bytes->size(), nullptr, 0}, &pack, nullptr).ok());
  CHECK(pack.template_count() == 1);
  CHECK(pack.pack_hash() == 0);
  CHECK(pack.feature_version() == 1);
  const WorkloadView view = pack.workload(0);
  CHECK(view.key == workload_key(workload));
  CHECK(view.digest == 3691253738u);
  CHECK(view.count == 3);
  CHECK(view.flops == flops(workload));
  CHECK(view.elements[TEMPER_IN_B] == 2 * 40 * 17);
  CHECK(view.constants == ((1u << TEMPER_IN_B) | (1u << TEMPER_BIAS)));
}

TEST_CASE("a pack with variants has a hash that depends on them and not on the workloads") {
  const Workload first = *parse_workload("matmul f32 1x8x8x8"), second = *parse_workload("matmul f32 1x9x9x9");
  PackOptions options;
  options.target = "x";
  options.variants = {{TemplateId::kGemm, {4, 1, 8, 1, kDirect, kPanel}, 0}};
  const auto hash = [](const std::vector<NetworkWorkload>& workloads, const PackOptions& with) {
    const Result<std::vector<uint8_t>> bytes = write_pack(workloads, with);
    REQUIRE(bytes.ok());
    std::vector<uint64_t> memory(bytes->size() / 8 + 1);
    std::copy(bytes->begin(), bytes->end(), reinterpret_cast<uint8_t*>(memory.data()));
    PackView pack;
    REQUIRE(PackView::open({memory.data(), bytes->size(), nullptr, 0}, &pack, nullptr).ok());
    return pack.pack_hash();
  };
  const uint32_t of_first = hash({{first, "a", 1}}, options);
  CHECK(of_first != 0);
  CHECK(hash({{first, "a", 1}, {second, "b", 1}}, options) == of_first);
  options.variants[0].values[0] = 5;
  CHECK(hash({{first, "a", 1}}, options) != of_first);
  options.variants[0].values[0] = 99;  // not a listed value
  CHECK(!write_pack({{first, "a", 1}}, options).ok());
  Workload invalid;
  invalid.matmul.k = 0;
  CHECK(!write_pack({{invalid, "bad", 1}}, PackOptions{}).ok());
}
