#include "runtime/searcher.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "tests/runtime/sim_tuning.h"

namespace temper::test {
namespace {

std::string text_of(const Config& config) {
  return std::string(reinterpret_cast<const char*>(config.choice), TEMPER_MAX_KNOBS);
}

double uniform(uint32_t a, uint32_t b, uint32_t salt) {
  uint32_t hash = a * 0x9E3779B1u + b * 0x85EBCA6Bu + salt * 0xC2B2AE35u;
  hash = (hash ^ (hash >> 15)) * 0x2C1B3C6Du;
  hash = (hash ^ (hash >> 12)) * 0x297A2D39u;
  return (hash ^ (hash >> 15)) / 4294967296.0;
}

// log2 of the time of a config; six knobs of eight values.
using Landscape = double (*)(const Config& config, uint32_t seed);

// A register tile that must be large but not spill, a cache tile that must match it, an unrolling with an optimum.
double tiles(const Config& config, uint32_t seed) {
  const double rows = config.choice[0] + 1;
  const double columns = config.choice[1] + 1;
  const double tile = rows * columns;
  const double spill = tile > 24 ? 1.5 * std::log2(tile / 24) : 0;
  const double reuse = 2.0 / (1 / rows + 1 / columns);
  const double cache = std::abs(config.choice[2] + config.choice[3] - 8.0 - static_cast<int>(seed % 3));
  const double unroll = std::abs(config.choice[4] - 2.0 - static_cast<int>(seed % 4));
  const double order = config.choice[5] % 3 == static_cast<int>(seed % 3) ? 0 : 0.5;
  return -1.2 * std::log2(reuse) + spill + 0.25 * cache + 0.12 * unroll + order;
}

// Every two neighbouring knobs interact by a table of their own, besides what each does alone.
double tables(const Config& config, uint32_t seed) {
  double sum = 0;
  for (uint32_t knob = 0; knob < 6; ++knob) {
    const uint32_t next = (knob + 1) % 6;
    sum += 0.8 * uniform(config.choice[knob], knob, seed);
    sum += 0.8 * uniform(config.choice[knob] * 8u + config.choice[next], knob + 10, seed);
  }
  return sum;
}

// A valley that bends: a knob's best value follows from the one before.
double valley(const Config& config, uint32_t seed) {
  double sum = 0.3 * std::abs(config.choice[0] - static_cast<int>(seed % 8));
  for (uint32_t knob = 1; knob < 6; ++knob) {
    sum += 0.3 * std::abs(config.choice[knob] - (config.choice[knob - 1] * 3 + static_cast<int>(seed)) % 8);
  }
  return sum;
}

struct Truth {
  Landscape landscape;
  uint32_t seed;
};

void predict_nothing(void*, const Space&, Span<const Config> configs, int32_t* out) {
  std::fill_n(out, configs.size, 0);
}
void predict_noise(void* self, const Space&, Span<const Config> configs, int32_t* out) {
  for (size_t i = 0; i < configs.size; ++i) {
    out[i] = static_cast<int32_t>(hash_config(configs[i], static_cast<Truth*>(self)->seed) % 512);
  }
}
void predict_opposite(void* self, const Space&, Span<const Config> configs, int32_t* out) {
  const Truth* truth = static_cast<Truth*>(self);
  for (size_t i = 0; i < configs.size; ++i) {
    out[i] = static_cast<int32_t>(-256 * truth->landscape(configs[i], truth->seed));
  }
}
void predict_roughly(void* self, const Space&, Span<const Config> configs, int32_t* out) {
  const Truth* truth = static_cast<Truth*>(self);
  for (size_t i = 0; i < configs.size; ++i) {
    const double error = hash_config(configs[i], truth->seed) % 256 / 256.0 - 0.5;
    out[i] = static_cast<int32_t>(256 * (truth->landscape(configs[i], truth->seed) + error));
  }
}

double optimum(const Space& space, const Truth& truth) {
  double best = 1e9;
  Config config;
  do {
    best = std::min(best, truth.landscape(config, truth.seed));
  } while (space.next(&config));
  return best;
}

class Bench {
 public:
  Bench() : pack_(plain_pack(std::vector<std::vector<uint16_t>>(6, up_to(8)))) {
    space_ = Space(&pack_.view(), 0, &facts_, {pack_.values(), pack_.intervals()});
  }
  const Space& space() const { return space_; }

  /// optimum / best time found after 64 trials.
  double quality(SearcherKind kind, Truth truth, CostModel model, double best_log,
                 const temper_learning_functions* learning = &temper_learning) {
    std::vector<uint8_t> memory(1 << 16);
    Arena arena{memory.data(), memory.size(), 0};
    VisitedSet visited(arena, 256);
    Proposal proposal;
    Searcher searcher(arena, kind, &space_, &visited, &proposal, model, truth.seed, learning);
    REQUIRE(!arena.overflowed());
    double found = 1e9;
    for (uint32_t trial = 0; trial < 64; ++trial) {
      searcher.set_progress(trial * 4);
      Config config;
      if (trial > 0) {
        REQUIRE(searcher.propose(&config, 256).ok());  // trial 0 is the default: all at their first choice
      }
      const double log_time = truth.landscape(config, truth.seed);
      found = std::min(found, log_time);
      searcher.observe(config, TEMPER_OUTCOME_OK, static_cast<uint64_t>(100000 * std::exp2(log_time)));
    }
    return std::exp2(best_log - found);
  }

 private:
  temper_facts facts_ = test_facts();
  OpenPack pack_;
  Space space_;
};

TEST_CASE("annealing is clearly better than random at 64 trials, with whatever prior") {
  constexpr uint32_t kSeeds = 60;
  Bench bench;
  const struct {
    const char* name;
    Landscape landscape;
  } landscapes[] = {{"tiles", tiles}, {"tables", tables}, {"valley", valley}};
  for (const auto& [name, landscape] : landscapes) {
    double random = 0;
    double annealing[4] = {};
    for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
      Truth truth{landscape, seed};
      const double best = optimum(bench.space(), truth);
      random += bench.quality(SearcherKind::kRandom, truth, {&truth, predict_nothing}, best) / kSeeds;
      const CostModel models[] = {
          {&truth, predict_nothing}, {&truth, predict_noise}, {&truth, predict_opposite}, {&truth, predict_roughly}};
      for (int m = 0; m < 4; ++m) {
        annealing[m] += bench.quality(SearcherKind::kAnnealing, truth, models[m], best) / kSeeds;
      }
    }
    MESSAGE(std::string(name) << ": optimum / best after 64 trials, mean of " << kSeeds << " seeds: random " << random
                              << ", annealing without prior " << annealing[0] << ", with noise for one " << annealing[1]
                              << ", with the opposite " << annealing[2] << ", with a rough one " << annealing[3]);
    CHECK(annealing[0] > random + 0.05);
    CHECK(annealing[1] > random + 0.03);
    CHECK(annealing[2] > random);
    CHECK(annealing[3] > annealing[0]);
  }
}

TEST_CASE("no config is proposed twice, by any searcher, and small spaces are exhausted exactly") {
  const OpenPack pack(plain_pack({up_to(5), up_to(4), up_to(3)}));
  OpenPack scratch(plain_pack({up_to(5), up_to(4), up_to(3)}));
  const temper_facts facts = test_facts();
  const Space space(&pack.view(), 0, &facts, {scratch.values(), scratch.intervals()});
  for (const SearcherKind kind : {SearcherKind::kGrid, SearcherKind::kRandom, SearcherKind::kAnnealing}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      std::vector<uint8_t> memory(1 << 16);
      Arena arena{memory.data(), memory.size(), 0};
      VisitedSet visited(arena, 100);
      Proposal proposal;
      Searcher searcher(arena, kind, &space, &visited, &proposal, {nullptr, predict_nothing}, seed);
      std::set<std::string> seen;
      Config config;
      while (searcher.propose(&config, 64).ok()) {
        CHECK(seen.insert(text_of(config)).second);
        searcher.observe(config, seen.size() % 5 == 0 ? TEMPER_OUTCOME_CRASHED : TEMPER_OUTCOME_OK, 1000 + seen.size());
        searcher.set_progress(static_cast<uint32_t>(seen.size() * 4));
      }
      CHECK(seen.size() == 60);
      CHECK(searcher.exhausted());
    }
  }
}

TEST_CASE("a proposal worked out candidate by candidate is the one worked out at once") {
  Bench bench;
  std::vector<uint8_t> memory(1 << 16);
  Arena arena{memory.data(), memory.size(), 0};
  VisitedSet visited(arena, 100), visited_too(arena, 100);
  Proposal proposal, proposal_too;
  Searcher whole(arena, SearcherKind::kAnnealing, &bench.space(), &visited, &proposal, {nullptr, predict_nothing}, 5);
  Searcher stepped(arena, SearcherKind::kAnnealing, &bench.space(), &visited_too, &proposal_too,
                   {nullptr, predict_nothing}, 5);
  for (uint32_t trial = 0; trial < 90; ++trial) {
    Config at_once, by_steps;
    REQUIRE(whole.propose(&at_once, 32).ok());
    Status status = TEMPER_MORE;
    for (int steps = 0; status == TEMPER_MORE && steps < 10000; ++steps) {
      status = stepped.propose(&by_steps, 32, 1);
    }
    REQUIRE(status.ok());
    REQUIRE(at_once == by_steps);
    for (Searcher* searcher : {&whole, &stepped}) {
      searcher->observe(at_once, TEMPER_OUTCOME_OK, 1000 + 100u * at_once.choice[1]);
      searcher->set_progress(trial * 3);
    }
  }
}

TEST_CASE("a full visited set ends proposals without calling the space exhausted") {
  Bench bench;
  std::vector<uint8_t> memory(1 << 16);
  Arena arena{memory.data(), memory.size(), 0};
  VisitedSet visited(arena, 10);
  Proposal proposal;
  Searcher searcher(arena, SearcherKind::kAnnealing, &bench.space(), &visited, &proposal, {nullptr, predict_nothing},
                    1);
  Config config;
  for (int i = 0; i < 10; ++i) {
    CHECK(searcher.propose(&config, 64).ok());
  }
  CHECK(searcher.propose(&config, 64) == TEMPER_NOT_FOUND);
  CHECK(!searcher.exhausted());
  CHECK(visited.full());
}

// k0 == k1, k2 == k3, k4 <= 2 of 16: 4,096 legal configs of 8,388,608.
TestPack one_in_2048() {
  TestPack pack;
  TestTemplate t = plain_template({up_to(16), up_to(16), up_to(16), up_to(16), up_to(16), up_to(8)});
  t.constraint = TestProgram();
  ProgramWriter writer(&t, &t.constraint);
  writer.output(writer.op(Op::kEqual, writer.knob(0), writer.knob(1)));
  writer.output(writer.op(Op::kEqual, writer.knob(2), writer.knob(3)));
  writer.output(writer.op(Op::kLessEqual, writer.knob(4), writer.constant(2)));
  pack.templates.push_back(t);
  pack.workloads.push_back(TestWorkload());
  return pack;
}

TEST_CASE("where one config in 2,000 is legal, proposals are legal, new and spread over all of them") {
  OpenPack pack(one_in_2048());
  const temper_facts facts = test_facts();
  const Space space(&pack.view(), 0, &facts, {pack.values(), pack.intervals()});
  for (const SearcherKind kind : {SearcherKind::kRandom, SearcherKind::kAnnealing}) {
    std::vector<uint8_t> memory(1 << 16);
    Arena arena{memory.data(), memory.size(), 0};
    VisitedSet visited(arena, 1000);
    Proposal proposal;
    Searcher searcher(arena, kind, &space, &visited, &proposal, {nullptr, predict_nothing}, 3);
    std::set<std::string> seen;
    uint32_t count[2][16] = {};
    for (int trial = 0; trial < 320; ++trial) {
      Config config;
      REQUIRE(searcher.propose(&config, 64).ok());
      CHECK(space.legal(config));
      CHECK(seen.insert(text_of(config)).second);
      ++count[0][config.choice[0]];
      ++count[1][config.choice[2]];
      if (kind == SearcherKind::kAnnealing) {
        searcher.observe(config, TEMPER_OUTCOME_OK, 1000 + 100 * static_cast<uint64_t>(config.choice[0]));
      }
    }
    if (kind == SearcherKind::kRandom) {
      for (const auto& knob : count) {
        CHECK(*std::min_element(knob, knob + 16) >= 6);  // 20 expected
        CHECK(*std::max_element(knob, knob + 16) <= 45);
      }
    }
  }
}

TEST_CASE("hints come first, the fastest ahead, and only legal ones") {
  OpenPack pack(one_in_2048());
  const temper_facts facts = test_facts();
  const Space space(&pack.view(), 0, &facts, {pack.values(), pack.intervals()});
  std::vector<uint8_t> memory(1 << 16);
  Arena arena{memory.data(), memory.size(), 0};
  VisitedSet visited(arena, 1000);
  Proposal proposal;
  Searcher searcher(arena, SearcherKind::kAnnealing, &space, &visited, &proposal, {nullptr, predict_nothing}, 3);
  for (uint8_t i = 0; i < 12; ++i) {
    Config config;
    config.choice[0] = config.choice[1] = i;
    searcher.hint(config, 1000 - i * 10u);
    searcher.hint(config, 1000 - i * 10u);
  }
  Config illegal;
  illegal.choice[0] = 3;
  searcher.hint(illegal, 1);
  for (uint8_t i = 0; i < kEliteCount - 1; ++i) {
    Config config;
    REQUIRE(searcher.propose(&config, 64).ok());
    CHECK(config.choice[0] == 11 - i);
  }
}

TEST_CASE("elites are the fastest distinct configs, fastest first") {
  Bench bench;
  std::vector<uint8_t> memory(1 << 16);
  Arena arena{memory.data(), memory.size(), 0};
  VisitedSet visited(arena, 1000);
  Proposal proposal;
  Searcher searcher(arena, SearcherKind::kRandom, &bench.space(), &visited, &proposal, {nullptr, predict_nothing}, 3);
  for (uint8_t i = 0; i < 8; ++i) {
    Config config;
    config.choice[0] = i;
    searcher.observe(config, i == 7 ? TEMPER_OUTCOME_WRONG_RESULT : TEMPER_OUTCOME_OK, 1000 - i * 100u);
  }
  REQUIRE(searcher.elites().size == kEliteCount);
  for (uint8_t i = 0; i < kEliteCount; ++i) {
    CHECK(searcher.elites()[i].config.choice[0] == 6 - i);
  }
  searcher.observe(searcher.elites()[0].config, TEMPER_OUTCOME_OK, 650);
  REQUIRE(searcher.elites().size == kEliteCount);
  CHECK(searcher.elites()[0].config.choice[0] == 5);
  CHECK(searcher.elites()[2].config.choice[0] == 6);  // 500, 600, 650, 700
}

TEST_CASE("choices that always fail are proposed less and less") {
  Bench bench;
  uint32_t failed_early = 0;
  uint32_t failed_late = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    std::vector<uint8_t> memory(1 << 16);
    Arena arena{memory.data(), memory.size(), 0};
    VisitedSet visited(arena, 1000);
    Proposal proposal;
    Searcher searcher(arena, SearcherKind::kAnnealing, &bench.space(), &visited, &proposal, {nullptr, predict_nothing},
                      seed);
    for (uint32_t trial = 0; trial < 96; ++trial) {
      searcher.set_progress(trial * 2);
      Config config;
      REQUIRE(searcher.propose(&config, 128).ok());
      const bool fails = config.choice[2] >= 5 || config.choice[4] == 0;
      (trial < 64 ? failed_early : failed_late) += fails ? 1 : 0;
      searcher.observe(config, fails ? TEMPER_OUTCOME_BUILD_ERROR : TEMPER_OUTCOME_OK, 1000);
    }
  }
  MESSAGE("failures in the first 64 trials " << failed_early << ", in the last 32 " << failed_late);
  CHECK(failed_late * 2 * 2 < failed_early);
}

TEST_CASE("failures in a row are counted by kind, and any success ends them") {
  Bench bench;
  std::vector<uint8_t> memory(1 << 16);
  Arena arena{memory.data(), memory.size(), 0};
  VisitedSet visited(arena, 1000);
  Proposal proposal;
  Searcher searcher(arena, SearcherKind::kRandom, &bench.space(), &visited, &proposal, {nullptr, predict_nothing}, 3);
  Config config;
  const auto observe = [&](temper_outcome outcome) {
    REQUIRE(searcher.propose(&config, 16).ok());
    searcher.observe(config, outcome, 1000);
    return searcher.failed_in_a_row();
  };
  CHECK(observe(TEMPER_OUTCOME_CRASHED) == 1);
  CHECK(observe(TEMPER_OUTCOME_CRASHED) == 2);
  CHECK(observe(TEMPER_OUTCOME_TIMEOUT) == 1);
  CHECK(observe(TEMPER_OUTCOME_TIMEOUT) == 2);
  CHECK(observe(TEMPER_OUTCOME_TOO_SLOW) == 0);
  CHECK(observe(TEMPER_OUTCOME_TIMEOUT) == 1);
  CHECK(observe(TEMPER_OUTCOME_OK) == 0);
}

TEST_CASE("the visited set holds what it was made for, and no more") {
  std::vector<uint8_t> memory(1 << 16);
  Arena arena{memory.data(), memory.size(), 0};
  VisitedSet visited(arena, 1000);
  Proposal proposal;
  CHECK(!visited.contains(0));
  for (uint32_t i = 0; i < 1000; ++i) {
    CHECK(visited.insert(i == 0 ? 0 : i * 64 + 1));
    CHECK(!visited.insert(i == 0 ? 0 : i * 64 + 1));
  }
  CHECK(visited.full());
  CHECK(!visited.insert(77));
  CHECK(!visited.contains(77));
  CHECK(visited.contains(65));
  VisitedSet none;
  CHECK(!none.contains(5));
}

TEST_CASE("a searcher without a learner needs no memory of its own, stays legal and is better than random") {
  constexpr uint32_t kSeeds = 20;
  Bench bench;
  double random = 0, plain = 0;
  for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
    Truth truth{tiles, seed};
    const double best = optimum(bench.space(), truth);
    random += bench.quality(SearcherKind::kRandom, truth, {&truth, predict_roughly}, best, nullptr) / kSeeds;
    plain += bench.quality(SearcherKind::kAnnealing, truth, {&truth, predict_roughly}, best, nullptr) / kSeeds;
  }
  CHECK(plain > random + 0.05);
  Arena counting;
  VisitedSet visited;
  Proposal proposal;
  const Searcher searcher(counting, SearcherKind::kAnnealing, &bench.space(), &visited, &proposal,
                          {nullptr, predict_nothing}, 1, nullptr);
  CHECK(counting.used == 0);
}

TEST_CASE("where rejection finds no sample a searcher without a learner goes on from what it knows") {
  TestPack content = plain_pack(std::vector<std::vector<uint16_t>>(6, up_to(30)));
  TestTemplate& t = content.templates[0];
  t.constraint = {};
  ProgramWriter writer(&t, &t.constraint);
  for (uint8_t knob = 0; knob < 5; ++knob) {  // 30 legal configs among 30^6
    writer.output(writer.op(Op::kLess, writer.knob(knob), writer.constant(2)));
  }
  OpenPack pack(content);
  const temper_facts facts = test_facts();
  const Space space(&pack.view(), 0, &facts, {pack.values(), pack.intervals()});
  std::vector<uint64_t> memory(1 << 10);
  Arena arena{reinterpret_cast<uint8_t*>(memory.data()), memory.size() * sizeof memory[0], 0};
  VisitedSet visited(arena, 64);
  Proposal proposal;
  Searcher searcher(arena, SearcherKind::kAnnealing, &space, &visited, &proposal, {nullptr, predict_nothing}, 3,
                    nullptr);
  uint32_t found = 0;
  for (uint32_t trial = 0; trial < 30; ++trial) {
    Config config;
    searcher.set_progress(trial * 8);
    if (!searcher.propose(&config, 16).ok()) {
      break;
    }
    CHECK(space.legal(config));
    ++found;
    searcher.observe(config, TEMPER_OUTCOME_OK, 1000 + config.choice[5]);
  }
  CHECK(found == 30);
}

}  // namespace
}  // namespace temper::test
