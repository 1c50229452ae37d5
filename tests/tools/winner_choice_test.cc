#include "tools/winner_choice.h"

#include <doctest/doctest.h>

#include <cstring>

#include "tools/network_pack.h"
#include "tools/prepacked_constants.h"

namespace temper {
namespace {

constexpr uint64_t kTarget = 11;

Fingerprint device(uint64_t target, uint32_t core_type, int32_t clock_khz) {
  temper_facts facts = {{1, 32, 0, 0, 0, 1, 1, clock_khz, 50, 3, 1, 1}};
  return make_fingerprint(target, facts, core_type, 0, 0, 1);
}

Recommendation commit(uint64_t workload, size_t fingerprint) {
  Recommendation made;
  made.workload = workload;
  made.fingerprint = fingerprint;
  return made;
}

TEST_CASE("fingerprints that differ in nothing that matters are one device; the one with most commits is chosen") {
  BakeSources sources;
  sources.fingerprints = {device(kTarget, 1, 100), device(kTarget, 2, 100), device(kTarget, 1, 200),
                          device(kTarget + 1, 1, 100)};
  sources.commits = {commit(5, 0),  commit(6, 2), commit(5, 1), commit(99, 1),
                     commit(98, 1), commit(5, 3), commit(6, 3), commit(7, 3)};
  const std::vector<TunedDevice> devices = tuned_devices(sources, {5, 6, 7});
  REQUIRE(devices.size() == 3);
  CHECK(devices[0].fingerprints == std::vector<size_t>{0, 2});
  CHECK(devices[0].fingerprint.clock_khz() == 200);
  CHECK(devices[0].commit_count == 2);
  CHECK(devices[1].commit_count == 1);  // workloads of other networks do not count
  CHECK(devices[2].commit_count == 3);
  CHECK(*choose_device(devices, kTarget, "board", std::nullopt) == 0);
  CHECK(*choose_device(devices, kTarget, "board", 2) == 1);
  CHECK(choose_device(devices, kTarget, "board", 3).error().code == TEMPER_INVALID_ARGUMENT);  // of another target
  CHECK(choose_device(devices, kTarget, "board", 4).error().code == TEMPER_INVALID_ARGUMENT);
  CHECK(choose_device(devices, kTarget + 2, "board", std::nullopt).error().code == TEMPER_NOTHING_TO_TUNE);
  CHECK(choose_device({}, kTarget, "board", std::nullopt).error().code == TEMPER_NOTHING_TO_TUNE);
}

/// The space of one small matmul, and its configs as files hold them.
struct SmallSpace {
  SmallSpace() {
    Network network;
    network.name = "one";
    network.workloads = {{*parse_workload("matmul f32 1x8x32x24 bconst"), "dense", 1}};
    pack = std::move(*NetworkPack::create(network, "cortex-m4"));
    space = pack->space(0, &facts);
    REQUIRE(space.default_config(&fallback).ok());
    Random random(1);
    for (int tries = 0; tries < 10000 && (other == fallback || !space.legal(other)); ++tries) {
      other = space.mutate(random, fallback);
    }
    REQUIRE_FALSE(other == fallback);
    REQUIRE(space.legal(other));
  }

  Recommendation recommendation(const Config& config, RecommendationKind kind) const {
    Recommendation made = commit(space.workload().key, 0);
    made.template_id = space.view().id;
    made.template_version = space.view().version;
    made.kind = kind;
    int32_t values[TEMPER_MAX_KNOBS];
    space.values_of(config, values);
    for (uint32_t knob = 0; knob < space.knob_count(); ++knob) {
      made.knobs.push_back({space.view().knob(knob).id, static_cast<uint16_t>(values[knob])});
    }
    return made;
  }

  temper_facts facts = {{1, 32, 0, 0, 0, 1, 1, 25000, 50, 3, 1, 1}};
  std::unique_ptr<NetworkPack> pack;
  Space space;
  Config fallback, other;
};

TEST_CASE("the last legal commit wins, and a history goes before a table whatever the order") {
  SmallSpace small;
  BakeSources sources;
  sources.fingerprints = {device(kTarget, 1, 100)};
  const TunedDevice tuned{sources.fingerprints[0], {0}, 1};
  uint32_t illegal = 0;
  BakeChoice choice;
  CHECK(choose_winner(sources, tuned, small.space, &choice, &illegal) == nullptr);

  sources.commits = {small.recommendation(small.fallback, RecommendationKind::kHistory),
                     small.recommendation(small.other, RecommendationKind::kHistory),
                     small.recommendation(small.fallback, RecommendationKind::kTable)};
  sources.commits[1].memory = 1;
  CHECK(choose_winner(sources, tuned, small.space, &choice, &illegal) == &sources.commits[1]);
  CHECK(choice.config == small.other);
  CHECK(choice.memory == 1);
  CHECK(illegal == 0);

  Recommendation outdated = sources.commits[0];
  outdated.template_version = static_cast<uint16_t>(outdated.template_version + 1);
  Recommendation unknown = sources.commits[0];
  unknown.knobs[0].value = 12345;
  Recommendation short_of_one = sources.commits[0];
  short_of_one.knobs.pop_back();
  Recommendation elsewhere = sources.commits[0];
  elsewhere.fingerprint = 1;
  for (const Recommendation& bad : {outdated, unknown, short_of_one, elsewhere}) {
    sources.commits.push_back(bad);
  }
  CHECK(choose_winner(sources, tuned, small.space, &choice, &illegal) == &sources.commits[1]);
  CHECK(illegal == 3);
}

TEST_CASE("the default is what the device used, else the space's") {
  SmallSpace small;
  BakeSources sources;
  sources.fingerprints = {device(kTarget, 1, 100)};
  const TunedDevice tuned{sources.fingerprints[0], {0}, 1};
  BakeChoice choice;
  REQUIRE(choose_default(sources, tuned, small.space, &choice).ok());
  CHECK(choice.config == small.fallback);
  sources.defaults = {small.recommendation(small.other, RecommendationKind::kHistory)};
  REQUIRE(choose_default(sources, tuned, small.space, &choice).ok());
  CHECK(choice.config == small.other);
}

TEST_CASE("names become names of files and C identifiers") {
  CHECK(file_name_of("block/conv 1:0.w-x") == "block_conv_1_0.w-x");
  CHECK(identifier_of("7x7/conv.a") == "_7x7_conv_a");
  CHECK(identifier_of("") == "_");
  CHECK(identifier_of("temper") == "_temper");  // temper_pack and temper_winners are types
  CHECK(constant_files("w", "a/b", 1) == std::vector<std::string>{"w/a_b.f32"});
  CHECK(constant_files("w", "a", 2) == std::vector<std::string>{"w/a.0.f32", "w/a.1.f32"});
}

TEST_CASE("a constant is packed as the plan says, zero-padded to whole blocks") {
  temper_plan plan{};
  plan.packed_tensor = TEMPER_IN_B;
  plan.packed_bytes = 2 * 2 * 2 * sizeof(float);
  const int32_t layout[11] = {1, 0, 3, 1, 2, 1, 0, 1, 0, 2, 3};
  std::memcpy(plan.pack_layout, layout, sizeof layout);
  const Result<std::vector<uint8_t>> packed = pack_constant(plan, {1, 2, 3, 4, 5, 6});
  REQUIRE(packed.ok());
  float values[8];
  REQUIRE(packed->size() == sizeof values);
  std::memcpy(values, packed->data(), sizeof values);
  const float expected[8] = {1, 2, 4, 5, 3, 0, 6, 0};
  for (int i = 0; i < 8; ++i) {
    CHECK(values[i] == expected[i]);
  }
}

}  // namespace
}  // namespace temper
