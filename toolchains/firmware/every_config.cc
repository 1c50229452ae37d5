// A firmware that tries every config of a pack's spaces on the device itself, for whoever makes kernels: mode=check
// runs them on small integers and compares digest and guards; mode=exhaust times them and prints the best, which shows
// what tuning could have found at most. It searches nothing, stores nothing and resets never; it looks inside the core,
// which no application does. Ends with 0 when no result is wrong.
#include <new>

#include "runtime/arena.h"
#include "runtime/pack_runner.h"
#include "toolchains/boards/board.h"
#include "toolchains/firmware/console.h"
#include "toolchains/firmware/options.h"

extern "C" const temper_pack TEMPER_PACK;
extern "C" int main();

namespace temper {
namespace {

alignas(64) unsigned char pool[TEMPER_POOL_BYTES];

struct Counts {
  uint32_t configs, legal, tried, variants;
  uint32_t outcomes[TEMPER_OUTCOME_COUNT];
};

/// One workload after the other, one config after the other.
class EveryConfig {
 public:
  EveryConfig(const temper_config& config, const first_boot_options& options) : config_(config), options_(options) {}

  bool run() {
    if (PackView::verify(*config_.pack, &pack_) != PackFault::kNone) {
      board_print("FAILED: the pack does not verify\n");
      return false;
    }
    Arena arena{pool, sizeof pool, 0};
    Scratch scratch;
    scratch.values = static_cast<int32_t*>(arena.take(pack_.scratch_values() * sizeof(int32_t), 8));
    scratch.intervals = static_cast<Interval*>(arena.take(pack_.scratch_intervals() * sizeof(Interval), 8));
    new (&spaces_) CurrentSpace(&pack_, &config_.facts, scratch);
    new (&runner_) PackRunner(&spaces_, &config_);
    if (!runner_.attach(pool + arena.used, sizeof pool - arena.used).ok()) {
      board_print("FAILED: a default does not fit; configure with a larger TEMPER_POOL_BYTES\n");
      return false;
    }
    bool good = true;
    for (uint32_t workload = 0; workload < pack_.workload_count(); ++workload) {
      good &= try_workload(workload);
    }
    return good;
  }

 private:
  bool try_workload(uint32_t workload) {
    const Space& space = spaces_.select(workload);
    counts_ = {};
    best_ns_ = UINT64_MAX;
    uint64_t default_ns = 0;
    if (Config config; space.nominal_default(&config).ok() && try_config(workload, config)) {
      default_ns = best_ns_;
    }
    for (uint32_t i = 0; i < pack_.variant_count() && options_.every != 0; ++i) {
      const VariantView variant = pack_.variant(i);
      if (variant.template_index == space.workload().template_index) {
        try_variant(workload, variant);
      }
    }
    print(space, default_ns);
    return counts_.outcomes[TEMPER_OUTCOME_WRONG_RESULT] == 0 && default_ns != 0;
  }

  void try_variant(uint32_t workload, const VariantView& variant) {
    const Space& space = spaces_.select(workload);
    const uint32_t first_run = space.view().compile_knob_count;
    Config config;
    for (uint32_t knob = 0; knob < first_run; ++knob) {
      if (!space.choose(knob, variant.values[knob], &config).ok()) {
        return;
      }
    }
    ++counts_.variants;
    do {
      ++counts_.configs;
      if (config_.port->feed_watchdog != nullptr) {
        config_.port->feed_watchdog(config_.port->self);
      }
      if (space.legal(config) && counts_.legal++ % options_.every == 0) {
        try_config(workload, config);
      }
    } while (next(space, first_run, &config));
  }

  /// The run knobs alone; false after the last.
  static bool next(const Space& space, uint32_t first, Config* config) {
    for (uint32_t knob = first; knob < space.knob_count(); ++knob) {
      if (++config->choice[knob] < space.choice_count(knob)) {
        return true;
      }
      config->choice[knob] = 0;
    }
    return false;
  }

  /// True when the config is right and, where it is timed, faster than all before it.
  bool try_config(uint32_t workload, const Config& config) {
    ++counts_.tried;
    const Runner runner = runner_.runner();
    temper_outcome outcome = TEMPER_OUTCOME_INVALID;
    uint32_t build_us = 0;
    if (!runner.build(runner.self, 0, workload, config).ok() ||
        !runner.poll_build(runner.self, 0, &outcome, &build_us) || outcome != TEMPER_OUTCOME_OK) {
      ++counts_.outcomes[TEMPER_OUTCOME_INVALID];
      return false;
    }
    RunResult result = execute(runner, RunKind::kCheck, UINT32_MAX);
    if (result.outcome == TEMPER_OUTCOME_OK && options_.mode == MODE_EXHAUST) {
      result = execute(runner, RunKind::kTime, best_ns_);
    } else if (result.outcome != TEMPER_OUTCOME_OK) {
      print_wrong(spaces_.select(workload), config);
    }
    runner.release(runner.self, 0);
    ++counts_.outcomes[result.outcome];
    if (result.outcome != TEMPER_OUTCOME_OK || result.elapsed_ns >= best_ns_) {
      return false;
    }
    best_ns_ = options_.mode == MODE_EXHAUST ? result.elapsed_ns : best_ns_;
    best_ = config;
    return true;
  }

  static RunResult execute(const Runner& runner, RunKind kind, uint64_t limit_ns) {
    RunResult result{TEMPER_OUTCOME_CRASHED, 0};
    if (runner.run(runner.self, 0, kind, 1, limit_ns).ok()) {
      while (!runner.poll_run(runner.self, &result)) {
      }
    }
    return result;
  }

  static void print_values(const Space& space, const Config& config) {
    for (uint32_t knob = 0; knob < space.knob_count(); ++knob) {
      say(" ", static_cast<uint64_t>(space.value(knob, config.choice[knob])), "");
    }
    board_print("\n");
  }

  static void print_wrong(const Space& space, const Config& config) {
    board_print("wrong ");
    board_print(space.workload().name);
    board_print(":");
    print_values(space, config);
  }

  void print(const Space& space, uint64_t default_ns) const {
    board_print("every ");
    board_print(space.workload().name);
    say(": variants ", counts_.variants, "");
    say(", configs ", counts_.configs, "");
    say(", legal ", counts_.legal, "");
    say(", tried ", counts_.tried, "");
    for (int outcome = 0; outcome < TEMPER_OUTCOME_COUNT; ++outcome) {
      board_print(", ");
      board_print(temper_outcome_name(static_cast<temper_outcome>(outcome)));
      say(" ", counts_.outcomes[outcome], "");
    }
    board_print("\n");
    if (options_.mode == MODE_EXHAUST && default_ns != 0) {
      board_print("best ");
      board_print(space.workload().name);
      say(": count ", space.workload().count, "");
      say(", default ", default_ns, " ns");
      say(", best ", best_ns_, " ns, ratio ");
      say_ratio(best_ns_, default_ns);
      board_print(", knobs");
      print_values(space, best_);
    }
  }

  const temper_config& config_;
  const first_boot_options& options_;
  PackView pack_;
  CurrentSpace spaces_;
  PackRunner runner_;
  Counts counts_{};
  Config best_{};
  uint64_t best_ns_ = 0;
};

}  // namespace
}  // namespace temper

int main() {
  static first_boot_options options;
  static temper_config config;
  const temper_port* const port = board_port();
  if (port == nullptr || !read_options(&options)) {
    return 2;
  }
  config.pack = &TEMPER_PACK;
  config.port = port;
  board_facts(&config.facts);
  config.memories = board_memories(&config.memory_count);
  temper::EveryConfig every(config, options);
  const bool good = every.run();
  board_print(good ? "done\n" : "failed\n");
  return good ? 0 : 1;
}
