#include "runtime/space.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "runtime/cost_model.h"
#include "tests/runtime/test_pack.h"

namespace temper {
namespace {

using test::OpenPack;
using test::ProgramWriter;
using test::TestPack;

const temper_facts kFacts = test::test_facts();

Space open_space(OpenPack& pack, uint32_t workload = 0) {
  return Space(&pack.view(), workload, &kFacts, {pack.values(), pack.intervals()});
}

std::vector<Config> legal_configs(const Space& space) {
  std::vector<Config> all;
  Config config;
  do {
    if (space.legal(config)) {
      all.push_back(config);
    }
  } while (space.next(&config));
  return all;
}

uint32_t differing_knobs(const Space& space, const Config& a, const Config& b) {
  uint32_t count = 0;
  for (uint32_t k = 0; k < space.knob_count(); ++k) {
    count += a.choice[k] != b.choice[k] ? 1 : 0;
  }
  return count;
}

// What a searcher does: the first of the mutations that is legal and something else. False when there is none in sight.
bool neighbour(const Space& space, Random& random, const Config& from, Config* out) {
  for (int tries = 0; tries < 5000; ++tries) {
    *out = space.mutate(random, from);
    if (!(*out == from) && space.legal(*out)) {
      return true;
    }
  }
  return false;
}

// Three run knobs of 6, 5 and 4 values; legal where the product of the first two is at most 40 and the third divides
// the first.
TestPack constrained_pack() {
  TestPack pack = test::plain_pack({{1, 2, 3, 4, 6, 8}, {1, 2, 4, 8, 16}, {1, 2, 3, 4}});
  test::TestTemplate& t = pack.templates[0];
  t.constraint = {};
  ProgramWriter w(&t, &t.constraint);
  w.output(w.op(Op::kLessEqual, w.op(Op::kMul, w.knob(0), w.knob(1)), w.constant(40)));
  w.output(w.op(Op::kEqual, w.op(Op::kMod, w.knob(0), w.knob(2)), w.constant(0)));
  return pack;
}

void wish(TestPack* pack, const std::vector<int32_t>& values) {
  test::TestTemplate& t = pack->templates[0];
  t.defaults = {};
  ProgramWriter w(&t, &t.defaults);
  for (const int32_t value : values) {
    w.output(w.constant(value));
  }
}

// `legal_count` configs of a space of 10^knobs: the sum of all knobs (values 0..9) is at least `least`.
TestPack sum_pack(uint32_t knobs, int32_t least) {
  TestPack pack = test::plain_pack(std::vector<std::vector<uint16_t>>(knobs, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  test::TestTemplate& t = pack.templates[0];
  t.constraint = {};
  ProgramWriter w(&t, &t.constraint);
  ProgramWriter::Value sum = w.knob(0);
  for (uint8_t k = 1; k < knobs; ++k) {
    sum = w.op(Op::kAdd, sum, w.knob(k));
  }
  w.output(w.op(Op::kLessEqual, w.constant(least), sum));
  return pack;
}

// Two compile knobs, one run knob; four variants out of nine tuples, two templates' variants interleaved.
TestPack variant_pack() {
  TestPack pack = test::plain_pack({{1, 2, 4}, {1, 2, 4}, {8, 16, 32, 64}});
  pack.templates[0].knobs[0].kind = KnobKind::kCompile;
  pack.templates[0].knobs[1].kind = KnobKind::kCompile;
  pack.templates.push_back(pack.templates[0]);
  pack.templates[1].id = 2;
  pack.variants = {{0, {1, 1}, 0}, {1, {2, 1}, 1}, {0, {2, 4}, 2}, {0, {4, 1}, 3}, {0, {4, 4}, 4}};
  return pack;
}

}  // namespace

TEST_CASE("a space tells its size, values and steps through all configs once") {
  OpenPack pack(test::plain_pack({{1, 2, 3}, {10, 20}, {5, 6}}));
  const Space space = open_space(pack);
  CHECK(space.size() == 12);
  CHECK(space.knob_count() == 3);
  CHECK(space.choice_count(0) == 3);
  CHECK(space.value(1, 1) == 20);
  std::set<std::vector<uint8_t>> seen;
  Config config;
  do {
    seen.insert({config.choice, config.choice + TEMPER_MAX_KNOBS});
  } while (space.next(&config));
  CHECK(seen.size() == 12);
  CHECK(config == Config());
}

TEST_CASE("a space of one config has a default, samples itself and cannot be mutated") {
  OpenPack pack(test::plain_pack({{7}, {9}}));
  const Space space = open_space(pack);
  Random random(1);
  Config config;
  CHECK(space.size() == 1);
  CHECK(space.default_config(&config).ok());
  CHECK(space.sample(random, &config).ok());
  CHECK(config == Config());
  CHECK(space.mutate(random, config) == config);
  CHECK_FALSE(space.next(&config));
}

TEST_CASE("a space without knobs is a space of one config") {
  OpenPack pack(test::plain_pack({}));
  const Space space = open_space(pack);
  Random random(1);
  Config config;
  CHECK(space.size() == 1);
  CHECK(space.default_config(&config).ok());
  CHECK(space.sample(random, &config).ok());
  CHECK(space.mutate(random, config) == config);
}

TEST_CASE("in a space of two configs each is the other's neighbour") {
  OpenPack pack(test::plain_pack({{7}, {9, 11}}));
  const Space space = open_space(pack);
  Random random(1);
  Config config, other;
  for (int i = 0; i < 20; ++i) {
    REQUIRE(neighbour(space, random, config, &other));
    REQUIRE_FALSE(other == config);
    config = other;
  }
}

TEST_CASE("a huge space saturates its size and is sampled all the same") {
  std::vector<uint16_t> values(64);
  for (uint16_t i = 0; i < 64; ++i) {
    values[i] = i;
  }
  OpenPack pack(test::plain_pack(std::vector<std::vector<uint16_t>>(TEMPER_MAX_KNOBS, values)));
  const Space space = open_space(pack);
  CHECK(space.size() == UINT64_MAX);
  Random random(5);
  Config config, near;
  REQUIRE(space.sample(random, &config).ok());
  REQUIRE(neighbour(space, random, config, &near));
  CHECK(differing_knobs(space, config, near) >= 1);
  CHECK(differing_knobs(space, config, near) <= 2);
  OpenPack ten(test::plain_pack(std::vector<std::vector<uint16_t>>(10, values)));
  CHECK(open_space(ten).size() == uint64_t{1} << 60);
  OpenPack eleven(test::plain_pack(std::vector<std::vector<uint16_t>>(11, values)));
  CHECK(open_space(eleven).size() == UINT64_MAX);
}

TEST_CASE("constraints decide what is legal") {
  OpenPack pack(constrained_pack());
  const Space space = open_space(pack);
  uint32_t legal = 0;
  Config config;
  do {
    int32_t v[TEMPER_MAX_KNOBS];
    space.values_of(config, v);
    const bool expected = v[0] * v[1] <= 40 && v[0] % v[2] == 0;
    REQUIRE(space.legal(config) == expected);
    REQUIRE(space.possible(config, space.knob_count()) == expected);
    legal += expected ? 1 : 0;
  } while (space.next(&config));
  CHECK(legal == legal_configs(space).size());
  CHECK(legal > 10);
}

TEST_CASE("a partly chosen config that some legal config completes is possible") {
  OpenPack constrained(constrained_pack());
  OpenPack restricted(variant_pack());
  OpenPack sums(sum_pack(3, 24));
  for (OpenPack* pack : {&constrained, &restricted, &sums}) {
    const Space space = open_space(*pack);
    for (const Config& config : legal_configs(space)) {
      for (uint32_t chosen = 0; chosen <= space.knob_count(); ++chosen) {
        REQUIRE(space.possible(config, chosen));
      }
    }
  }
  const Space space = open_space(sums);
  Config config;
  config.choice[0] = 5;  // 5 + 9 + 9 < 24: no completion is legal, and intervals know
  CHECK_FALSE(space.possible(config, 1));
}

TEST_CASE("the default takes the largest listed value not above each wish") {
  TestPack data = test::plain_pack({{2, 4, 8}, {2, 4, 8}, {2, 4, 8}});
  wish(&data, {1, 5, 100});
  OpenPack pack(data);
  Config config;
  REQUIRE(open_space(pack).default_config(&config).ok());
  CHECK(config.choice[0] == 0);
  CHECK(config.choice[1] == 1);
  CHECK(config.choice[2] == 2);
}

TEST_CASE("the wish for a knob may read the knobs before it as they were chosen") {
  TestPack data = test::plain_pack({{2, 4, 8}, {1, 2, 5, 9, 19}, {0, 6, 20, 38}, {1, 5, 7, 77}});
  test::TestTemplate& t = data.templates[0];
  t.defaults = {};
  ProgramWriter w(&t, &t.defaults);
  w.output(w.constant(7));                              // becomes 4
  w.output(w.op(Op::kMul, w.knob(0), w.constant(4)));   // so this wishes 16 and becomes 9
  w.output(w.op(Op::kMul, w.knob(1), w.constant(3)));   // 27, becomes 20
  w.output(w.op(Op::kSub, w.knob(2), w.constant(14)));  // 6, becomes 5
  OpenPack pack(data);
  const Space space = open_space(pack);
  Config config;
  REQUIRE(space.default_config(&config).ok());
  const int32_t expected[] = {4, 9, 20, 5};
  for (uint32_t k = 0; k < 4; ++k) {
    CHECK(space.value(k, config.choice[k]) == expected[k]);
  }
}

TEST_CASE("an illegal wish is repaired by the smallest change of one or two knobs") {
  TestPack data = constrained_pack();
  const auto distance = [](const Config& a, const Config& b) {
    int32_t sum = 0;
    for (uint32_t k = 0; k < TEMPER_MAX_KNOBS; ++k) {
      sum += std::abs(a.choice[k] - b.choice[k]);
    }
    return sum;
  };
  uint32_t singles = 0, pairs = 0;
  OpenPack plain(data);
  const std::vector<Config> all = legal_configs(open_space(plain));
  Config wished;
  do {
    int32_t v[TEMPER_MAX_KNOBS];
    open_space(plain).values_of(wished, v);
    wish(&data, {v[0], v[1], v[2]});
    OpenPack pack(data);
    const Space space = open_space(pack);
    int32_t nearest = INT32_MAX;
    for (const Config& config : all) {
      nearest = differing_knobs(space, config, wished) <= 2 ? std::min(nearest, distance(config, wished)) : nearest;
    }
    Config config;
    REQUIRE(space.default_config(&config).ok());
    REQUIRE(space.legal(config));
    REQUIRE(distance(config, wished) == nearest);
    singles += differing_knobs(space, config, wished) == 1 ? 1 : 0;
    pairs += differing_knobs(space, config, wished) == 2 ? 1 : 0;
  } while (open_space(plain).next(&wished));
  CHECK(singles > 10);
  CHECK(pairs > 2);
}

TEST_CASE("a default is found by sampling where no near config is legal, the same in every run") {
  TestPack data = sum_pack(4, 34);
  wish(&data, {0, 0, 0, 0});
  OpenPack pack(data);
  const Space space = open_space(pack);
  Config first, second;
  REQUIRE(space.default_config(&first).ok());
  REQUIRE(space.default_config(&second).ok());
  CHECK(space.legal(first));
  CHECK(first == second);
}

TEST_CASE("a space without a legal config has no default and no sample") {
  TestPack data = sum_pack(3, 28);
  OpenPack pack(data);
  const Space space = open_space(pack);
  Config config;
  Random random(3);
  CHECK(space.default_config(&config) == TEMPER_NOT_FOUND);
  CHECK(space.sample(random, &config) == TEMPER_NOT_FOUND);
}

TEST_CASE("variants restrict the tuples of compile knobs and are found by them") {
  OpenPack pack(variant_pack());
  const Space space = open_space(pack);
  const std::vector<Config> all = legal_configs(space);
  CHECK(all.size() == 4 * 4);
  Config config;
  config.choice[0] = 1;
  config.choice[1] = 2;
  CHECK(space.find_variant(config) == 2);
  config.choice[1] = 0;
  CHECK(space.find_variant(config) == -1);
  CHECK_FALSE(space.legal(config));
  CHECK_FALSE(space.possible(config, 2));
  CHECK(space.possible(config, 1));
}

TEST_CASE("with variants the default is the one nearest to the wish") {
  TestPack data = variant_pack();
  wish(&data, {2, 2, 16});  // (2, 2) is no variant; (2, 4) is one step away
  OpenPack pack(data);
  const Space space = open_space(pack);
  Config config;
  REQUIRE(space.default_config(&config).ok());
  CHECK(space.find_variant(config) == 2);
  CHECK(space.value(2, config.choice[2]) == 16);

  // Where the nearest variant breaks a constraint with every run knob, the next one serves.
  test::TestTemplate& t = data.templates[0];
  t.constraint = {};
  ProgramWriter w(&t, &t.constraint);
  w.output(w.op(Op::kNot, w.op(Op::kEqual, w.knob(0), w.constant(2))));
  OpenPack second(data);
  REQUIRE(open_space(second).default_config(&config).ok());
  CHECK(open_space(second).find_variant(config) == 0);
}

TEST_CASE("a pack with variants but none of this template has no legal config") {
  TestPack data = variant_pack();
  data.variants = {{1, {1, 1}, 0}};
  OpenPack pack(data);
  const Space space = open_space(pack);
  Config config;
  Random random(3);
  CHECK(legal_configs(space).empty());
  CHECK(space.default_config(&config) == TEMPER_NOT_FOUND);
  CHECK(space.sample(random, &config) == TEMPER_NOT_FOUND);
}

namespace {

// Chi-square of samples over the legal configs, per degree of freedom: 1 on average when uniform, over kSeeds
// independent runs with a deviation of sqrt(2 / (kSeeds * (count - 1))).
constexpr uint32_t kSeeds = 10;
double chi_square(const Space& space, uint32_t draws_per_config) {
  const std::vector<Config> all = legal_configs(space);
  double sum = 0;
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    std::map<uint32_t, uint32_t> counts;
    Random random(seed);
    for (size_t i = 0; i < all.size() * draws_per_config; ++i) {
      Config config;
      REQUIRE(space.sample(random, &config).ok());
      ++counts[hash_config(config, 0)];
    }
    for (const Config& config : all) {
      const double apart = counts[hash_config(config, 0)] - double{1} * draws_per_config;
      sum += apart * apart / draws_per_config;
    }
  }
  return sum / (kSeeds * static_cast<double>(all.size() - 1));
}

}  // namespace

TEST_CASE("samples are uniform among the legal configs, with and without variants") {
  OpenPack constrained(constrained_pack());
  OpenPack restricted(variant_pack());
  OpenPack rare(sum_pack(3, 25));  // 10 of 1,000
  for (OpenPack* pack : {&constrained, &restricted, &rare}) {
    const double ratio = chi_square(open_space(*pack), 100);
    CAPTURE(ratio);
    CHECK(ratio > 0.5);
    CHECK(ratio < 1.5);
  }
}

TEST_CASE("a sample may be made step by step, and steps make the same samples") {
  OpenPack pack(constrained_pack());
  const Space space = open_space(pack);
  Random whole(41), stepped(41);
  Sampler sampler;
  for (int i = 0; i < 50; ++i) {
    Config at_once, by_steps;
    REQUIRE(space.sample(whole, &at_once).ok());
    Status status = TEMPER_MORE;
    for (int steps = 0; status == TEMPER_MORE && steps < 10000; ++steps) {
      status = space.sample_step(stepped, &sampler, &by_steps, Space::descend);
    }
    REQUIRE(status.ok());
    CHECK(at_once == by_steps);
  }
}

TEST_CASE("where legal configs are one in a million they are built knob by knob, and all of them can be reached") {
  OpenPack pack(sum_pack(6, 53));  // 9 9 9 9 9 9 and the six with one 8
  const Space space = open_space(pack);
  Random random(17);
  std::set<uint32_t> seen;
  for (int i = 0; i < 200; ++i) {
    Config config;
    REQUIRE(space.sample(random, &config).ok());
    REQUIRE(space.legal(config));
    seen.insert(hash_config(config, 0));
  }
  CHECK(seen.size() == 7);
}

TEST_CASE("building knob by knob steps back where the interval test promised too much") {
  TestPack data = sum_pack(4, 35);
  test::TestTemplate& t = data.templates[0];
  const std::vector<uint16_t> digits = t.knobs[0].values;
  t.knobs.push_back({20, KnobKind::kRun, digits, "even"});
  t.knobs.push_back({21, KnobKind::kRun, digits, "last"});
  t.defaults = {};
  test::fill_programs(&t);
  data.workloads[0].default_values = {};  // they were for four knobs
  // Only an odd value of knob 4 can be completed, which the bounds of a remainder do not tell.
  ProgramWriter w(&t, &t.constraint);
  const ProgramWriter::Value sum = w.op(Op::kAdd, w.knob(4), w.op(Op::kMul, w.constant(2), w.knob(5)));
  w.output(w.op(Op::kEqual, w.op(Op::kMod, sum, w.constant(10)), w.constant(1)));
  OpenPack pack(data);
  const Space space = open_space(pack);
  Random random(31);
  for (int i = 0; i < 300; ++i) {
    Config config;
    REQUIRE(space.sample(random, &config).ok());
    REQUIRE(space.legal(config));
  }
}

TEST_CASE("mutations differ in one or two knobs, mostly by one step, and walk the whole space") {
  OpenPack pack(constrained_pack());
  const Space space = open_space(pack);
  Random random(23);
  Config config;
  REQUIRE(space.sample(random, &config).ok());
  uint32_t single_steps = 0, singles = 0;
  std::set<uint32_t> seen;
  constexpr uint32_t kMoves = 4000;
  for (uint32_t i = 0; i < kMoves; ++i) {
    Config near;
    REQUIRE(neighbour(space, random, config, &near));
    REQUIRE(space.legal(near));
    const uint32_t apart = differing_knobs(space, config, near);
    REQUIRE(apart >= 1);
    REQUIRE(apart <= 2);
    for (uint32_t k = 0; apart == 1 && k < space.knob_count(); ++k) {
      const int distance = std::abs(int{near.choice[k]} - int{config.choice[k]});
      single_steps += distance == 1 ? 1 : 0;
      singles += distance != 0 ? 1 : 0;
    }
    seen.insert(hash_config(near, 0));
    config = near;
  }
  CHECK(single_steps * 3 > singles * 2);
  CHECK(seen.size() == legal_configs(space).size());  // walks the whole space
}

TEST_CASE("mutations cross between variants whose tuples share nothing") {
  TestPack data = variant_pack();
  data.variants = {{0, {1, 2}, 0}, {0, {2, 4}, 1}, {0, {4, 1}, 2}};
  OpenPack pack(data);
  const Space space = open_space(pack);
  Random random(29);
  Config config;
  REQUIRE(space.default_config(&config).ok());
  std::set<uint32_t> seen;
  for (int i = 0; i < 500; ++i) {
    Config near;
    REQUIRE(neighbour(space, random, config, &near));
    REQUIRE(space.legal(near));
    REQUIRE_FALSE(near == config);
    seen.insert(hash_config(near, 0));
    config = near;
  }
  CHECK(seen.size() == 12);
}

TEST_CASE("shape, features and prior are what the template's programs say") {
  TestPack data = test::plain_pack({{1, 2, 4}});
  data.workloads[0].dims = {100};
  test::TestTemplate& t = data.templates[0];
  t.dim_count = 1;
  t.shape = {};
  ProgramWriter shape(&t, &t.shape);
  shape.output(shape.op(Op::kCeilDiv, shape.dim(0), shape.knob(0)));
  shape.output(shape.op(Op::kMul, shape.knob(0), shape.constant(64)));
  shape.output(shape.constant(TEMPER_IN_B));
  for (int32_t i = 0; i < 11; ++i) {
    shape.output(shape.constant(i + 20));
  }
  ProgramWriter features(&t, &t.features);
  features.output(features.constant(-5));
  features.output(features.op(Op::kMul, features.knob(0), features.constant(3)));
  features.output(features.constant(1000));
  t.prior = {};
  ProgramWriter prior(&t, &t.prior);
  prior.output(prior.op(Op::kLog2, prior.knob(0)));
  OpenPack pack(data);
  const Space space = open_space(pack);
  Config config;
  config.choice[0] = 2;
  Shape result;
  space.shape(config, &result);
  CHECK(result.grid == 25);
  CHECK(result.workspace_bytes == 256);
  CHECK(result.packed_tensor == TEMPER_IN_B);
  CHECK(result.pack_layout[0] == 20);
  CHECK(result.pack_layout[10] == 30);
  uint8_t out[kMaxFeatures];
  REQUIRE(space.features(config, out) == 3);
  CHECK(out[0] == 0);
  CHECK(out[1] == 12);
  CHECK(out[2] == 255);
  CHECK(space.prior_q8(config) == 512);
  const CostModel model = analytic_prior();
  const Config both[] = {Config(), config};
  int32_t times[2];
  model.predict(model.self, space, {both, 2}, times);
  CHECK(times[0] == 0);
  CHECK(times[1] == 512);
}

TEST_CASE("a knob is set by its value, and an unknown value leaves it") {
  OpenPack pack(test::plain_pack({{1, 2, 4}, {8, 16}}));
  const Space space = open_space(pack);
  Config config;
  REQUIRE(space.choose(0, 4, &config).ok());
  REQUIRE(space.choose(1, 16, &config).ok());
  CHECK(space.choose(0, 3, &config) == TEMPER_NOT_FOUND);
  CHECK(config.choice[0] == 2);
  CHECK(config.choice[1] == 1);
}

TEST_CASE("the pack's default values are the default where they are legal, and no default where they are not") {
  TestPack content = test::plain_pack({{1, 2, 4}, {8, 16}});
  test::TestTemplate& t = content.templates[0];
  t.constraint = {};
  test::ProgramWriter writer(&t, &t.constraint);
  writer.output(writer.op(Op::kLess, writer.knob(0), writer.constant(4)));
  content.workloads[0].default_values = {2, 16};
  OpenPack legal(content);
  Config config;
  REQUIRE(open_space(legal).nominal_default(&config).ok());
  CHECK(config.choice[0] == 1);
  CHECK(config.choice[1] == 1);
  content.workloads[0].default_values = {4, 16};
  OpenPack illegal(content);
  CHECK(open_space(illegal).nominal_default(&config) == TEMPER_NOT_FOUND);
  content.workloads[0].default_values = {};
  OpenPack none(content);
  CHECK(open_space(none).nominal_default(&config) == TEMPER_NOT_FOUND);
}

TEST_CASE("where a pack has no defaults program its default values serve, and where those are illegal a legal sample") {
  TestPack content = test::plain_pack({{1, 2, 4}, {8, 16}});
  test::TestTemplate& t = content.templates[0];
  t.defaults = {};
  t.constraint = {};
  test::ProgramWriter writer(&t, &t.constraint);
  writer.output(writer.op(Op::kLess, writer.knob(0), writer.constant(4)));
  content.workloads[0].default_values = {2, 8};
  OpenPack legal(content);
  Config config;
  REQUIRE(open_space(legal).default_config(&config).ok());
  CHECK(open_space(legal).value(0, config.choice[0]) == 2);
  content.workloads[0].default_values = {4, 8};
  OpenPack illegal(content);
  REQUIRE(open_space(illegal).default_config(&config).ok());
  CHECK(open_space(illegal).legal(config));
}

TEST_CASE("a shape program may tell the memory of a config; where it does not, that is memory 0") {
  TestPack content = test::plain_pack({{0, 1, 2}});
  OpenPack plain(content);
  Config config;
  config.choice[0] = 2;
  Shape shape;
  open_space(plain).shape(config, &shape);
  CHECK(shape.memory == 0);
  test::TestTemplate& t = content.templates[0];
  test::ProgramWriter writer(&t, &t.shape);
  writer.output(writer.knob(0));
  OpenPack placed(content);
  open_space(placed).shape(config, &shape);
  CHECK(shape.memory == 2);
}

}  // namespace temper
