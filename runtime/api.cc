// The C API (temper/temper.h): places everything in the caller's arena and passes calls on to the core.
#include <cstring>
#include <new>

#include "runtime/history.h"
#include "runtime/lookup.h"
#include "runtime/pack_runner.h"
#include "runtime/plan.h"
#include "runtime/table_view.h"
#include "runtime/tuner.h"
#include "temper/temper.h"

struct temper_context {
  const temper_config* config;
  temper::PackView pack;
  temper::Fingerprint fingerprint;
  temper::History history;
  temper::Lookup lookup;
  temper::PackRunner runner;
  temper::Tuner tuner;
  temper_progress progress;
  size_t tuning_bytes;
  bool tuning;
};

namespace temper {
namespace {

constexpr size_t kArenaAlignment = 8;

/// Reports what each part took from the arena.
class NeedList {
 public:
  NeedList(temper_need* parts, size_t capacity) : parts_(parts), capacity_(capacity) {}

  void add(const char* part, size_t bytes) {
    if (bytes == 0) {
      return;
    }
    if (count_ < capacity_) {
      parts_[count_] = {part, bytes};
    }
    ++count_;
  }
  /// What was taken since the last call.
  void close(const char* part, const Arena& arena) {
    add(part, arena.used - closed_);
    closed_ = arena.used;
  }
  size_t count() const { return count_; }

 private:
  temper_need* parts_;
  size_t capacity_;
  size_t count_ = 0;
  size_t closed_ = 0;
};

Status check_config(const temper_config* config) {
  if (config == nullptr || config->pack == nullptr || config->port == nullptr || config->port->now_ns == nullptr ||
      config->max_trials == 0 || (config->table_count > 0 && config->tables == nullptr)) {
    return TEMPER_INVALID_ARGUMENT;
  }
  const int32_t* facts = config->facts.value;
  const bool probed =
      facts[TEMPER_FACT_THREADS] > 0 && facts[TEMPER_FACT_CORES] > 0 && facts[TEMPER_FACT_VECTOR_LANES] > 0;
  return probed ? TEMPER_OK : TEMPER_INVALID_ARGUMENT;
}

// Observed: testing one candidate and predicting its time takes, for the matmul template, some 13,000 instructions on a
// Cortex-M4 and half as many cycles on x86-64. A step may take about one millisecond, so the clock in kHz over 16,000
// is how many fit, with the tuner's own work. A wrong clock only makes steps longer.
uint32_t candidates_per_ms(const temper_facts& facts) {
  const int32_t fitting = facts.value[TEMPER_FACT_CLOCK_KHZ] / 16000;
  return fitting < 1 ? 1u : fitting > 128 ? 128u : static_cast<uint32_t>(fitting);
}

TunerOptions tuner_options(const temper_config& config) {
  TunerOptions options;
  options.max_trials = config.max_trials;
  options.step_candidates = candidates_per_ms(config.facts);
  options.proposal_effort = options.step_candidates < 4 ? 8 : 2 * options.step_candidates;
  options.max_slots = PackRunner::kSlots;
  options.write_intents = true;
  options.retune_committed = false;
  options.seed = config.seed;
  return options;
}

void on_event(void* self, const TunerEvent& event) {
  temper_context* t = static_cast<temper_context*>(self);
  if (event.kind == TunerEvent::Kind::kStorageLost) {
    if (t->config->port->log != nullptr) {
      t->config->port->log(t->config->port->self, "history: storage failed; further results are kept in memory only");
    }
    return;
  }
  t->progress.workload = event.workload;
  if (event.kind == TunerEvent::Kind::kTrial) {
    t->progress.last_outcome = event.trial.outcome;
  }
  if (event.kind == TunerEvent::Kind::kCommit) {
    const WorkloadState& state = t->tuner.state(event.workload);
    t->lookup.record(event.workload, *event.config, state.rematch_default_ns, state.rematch_best_ns);
  }
}

void on_frame(void* self, const FrameView& frame) {
  temper_context* t = static_cast<temper_context*>(self);
  t->lookup.offer(frame, t->tuner.spaces());
  t->tuner.resume(frame);
}

// Damage, another version and failing storage are no errors of init: what is whole is used, and the miss is explained
// by look-ups.
void open_history(temper_context* t, Span<uint8_t> buffer) {
  ScanReport report{};
  const Status status = t->history.open(t->config->port->storage, buffer, t, on_frame, &report);
  t->lookup.set_history(!status.ok() || report.damaged_bytes > 0);
  if (!status.ok() && t->config->port->log != nullptr) {
    t->config->port->log(t->config->port->self, status == TEMPER_BAD_VERSION
                                                    ? "history: of another version; it is left as it is and not used"
                                                    : "history: unusable; results are kept in memory only");
  }
}

bool has_storage(const temper_config* config) {
  const temper_storage* const storage = config->port->storage;
  return storage != nullptr && storage->program_bytes <= kMaxProgramBytes;
}

Span<uint8_t> take_history_buffer(const temper_config* config, Arena& arena) {
  const uint32_t bytes = has_storage(config) ? history_buffer_bytes(config->port->storage->program_bytes) : 0;
  return {static_cast<uint8_t*>(arena.take(bytes, kArenaAlignment)), bytes};
}

/// Takes from a counting arena what set_up takes, in the same order.
void count_parts(const temper_config* config, const PackView& pack, Arena& arena, NeedList& needs) {
  arena.take(sizeof(temper_context), kArenaAlignment);
  needs.close("context: tuner, runner and history state", arena);
  take_history_buffer(config, arena);
  needs.close("history buffer: one frame and one programmed page", arena);
  const Lookup counted(arena, &pack, nullptr, {config->tables, config->table_count});
  needs.close("look-up: the last commit of each workload, a view of each table", arena);
  arena.take(Tuner::bytes_needed(pack, tuner_options(*config)), kArenaAlignment);
  needs.close("search: space and searcher of each workload, max_trials visited configs, scratch of the evaluators",
              arena);
}

// Not inlined: its frame would lie under everything that reading the history needs.
[[gnu::noinline]] Status set_up(const temper_config* config, const PackView& pack, Arena& arena, temper_context** out,
                                Span<uint8_t>* history_buffer) {
  void* const memory = arena.take(sizeof(temper_context), kArenaAlignment);
  *history_buffer = take_history_buffer(config, arena);
  if (arena.overflowed()) {
    return TEMPER_NO_MEMORY;
  }
  temper_context* const t = new (memory) temper_context();
  t->config = config;
  t->pack = pack;
  t->fingerprint = make_fingerprint(config->target_hash, config->facts, config->core_type, 0, pack.pack_hash(),
                                    pack.feature_version());
  new (&t->lookup) Lookup(arena, &t->pack, &t->fingerprint, {config->tables, config->table_count});
  const Status status = t->tuner.init(arena, &t->pack, &config->facts, t->fingerprint, t->runner.runner(),
                                      analytic_prior(), has_storage(config) ? &t->history : nullptr,
                                      config->port->now_ns, config->port->self, tuner_options(*config));
  new (&t->runner) PackRunner(&t->pack, t->tuner.spaces(), config->port);
  t->tuner.set_listener(t, on_event);
  *out = t;
  return status;
}

// Not inlined, as set_up.
[[gnu::noinline]] Status count_needs(const temper_config* config, NeedList& needs, PackView* pack,
                                     size_t* total_bytes) {
  Status status = check_config(config);
  if (!status.ok()) {
    return status;
  }
  status = status_of(PackView::verify(*config->pack, pack));
  if (!status.ok()) {
    return status;
  }
  Arena counting;
  count_parts(config, *pack, counting, needs);
  needs.add("alignment of the arena's start", kArenaAlignment - 1);
  *total_bytes = counting.used + kArenaAlignment - 1;
  return {};
}

void fill_progress(temper_context* t) {
  temper_progress& progress = t->progress;
  progress.trials = t->tuner.trials();
  progress.elapsed_ns = t->tuner.elapsed_ns();
  if (progress.workload < t->tuner.workload_count()) {
    const WorkloadState& state = t->tuner.state(progress.workload);
    progress.default_ns = state.default_ns;
    progress.best_ns = state.best_ns;
  }
}

}  // namespace
}  // namespace temper

using temper::Arena;
using temper::Config;
using temper::NeedList;
using temper::PackView;
using temper::Space;
using temper::Status;

temper_status temper_requirements(const temper_config* config, temper_need* parts, size_t capacity, size_t* count,
                                  size_t* total_bytes) {
  if (count == nullptr || total_bytes == nullptr || (capacity > 0 && parts == nullptr)) {
    return TEMPER_INVALID_ARGUMENT;
  }
  PackView pack;
  NeedList needs(parts, capacity);
  const Status status = temper::count_needs(config, needs, &pack, total_bytes);
  *count = needs.count();
  return status.code();
}

temper_status temper_init(temper_context** out, const temper_config* config, void* arena, size_t arena_bytes) {
  if (out == nullptr || arena == nullptr) {
    return TEMPER_INVALID_ARGUMENT;
  }
  *out = nullptr;
  PackView pack;
  NeedList needs(nullptr, 0);
  size_t total_bytes = 0;
  Status status = temper::count_needs(config, needs, &pack, &total_bytes);
  if (!status.ok()) {
    return status.code();
  }
  if (arena_bytes < total_bytes) {
    return TEMPER_NO_MEMORY;
  }
  const size_t skip = (temper::kArenaAlignment - reinterpret_cast<uintptr_t>(arena) % temper::kArenaAlignment) %
                      temper::kArenaAlignment;
  Arena placed{static_cast<uint8_t*>(arena) + skip, arena_bytes - skip, 0};
  temper::Span<uint8_t> history_buffer;
  temper_context* t = nullptr;
  status = temper::set_up(config, pack, placed, &t, &history_buffer);
  if (!status.ok()) {
    return status.code();
  }
  t->tuning_bytes = t->runner.bytes_wanted();
  if (!history_buffer.empty()) {
    temper::open_history(t, history_buffer);
  }
  *out = t;
  return TEMPER_OK;
}

uint32_t temper_workload_count(const temper_context* t) { return t == nullptr ? 0 : t->pack.workload_count(); }

temper_status temper_find_workload(const temper_context* t, const char* name, uint32_t* index) {
  if (t == nullptr || name == nullptr || index == nullptr) {
    return TEMPER_INVALID_ARGUMENT;
  }
  for (uint32_t i = 0; i < t->pack.workload_count(); ++i) {
    if (std::strcmp(t->pack.workload(i).name, name) == 0) {
      *index = i;
      return TEMPER_OK;
    }
  }
  return TEMPER_NOT_FOUND;
}

const char* temper_workload_name(const temper_context* t, uint32_t index) {
  return index < temper_workload_count(t) ? t->pack.workload(index).name : nullptr;
}

size_t temper_tensor_elements(const temper_context* t, uint32_t index, temper_tensor which) {
  const bool in_range = index < temper_workload_count(t) && static_cast<uint32_t>(which) < TEMPER_TENSOR_COUNT;
  return in_range ? t->pack.workload(index).elements[which] : 0;
}

uint32_t temper_workload_occurrences(const temper_context* t, uint32_t index) {
  return index < temper_workload_count(t) ? t->pack.workload(index).count : 0;
}

size_t temper_tuning_bytes(const temper_context* t) { return t == nullptr ? 0 : t->tuning_bytes; }

temper_status temper_tune_start(temper_context* t, const temper_budget* budget, void* memory, size_t memory_bytes) {
  if (t == nullptr || budget == nullptr || memory == nullptr || t->tuning) {
    return TEMPER_INVALID_ARGUMENT;
  }
  if (t->pack.variant_count() == 0) {
    return TEMPER_UNSUPPORTED;  // a pack without kernels: nothing can be timed here
  }
  Status status = t->runner.attach(memory, memory_bytes);
  if (status.ok()) {
    t->progress = {};
    status = t->tuner.start(*budget);
  }
  t->tuning = status.ok();
  return status.code();
}

temper_status temper_tune_step(temper_context* t, temper_progress* progress) {
  if (t == nullptr || !t->tuning) {
    return TEMPER_INVALID_ARGUMENT;
  }
  const temper_port& port = *t->config->port;
  if (port.feed_watchdog != nullptr) {
    port.feed_watchdog(port.self);
  }
  const Status status = t->tuner.step();
  t->tuning = status == TEMPER_MORE;
  temper::fill_progress(t);
  if (progress != nullptr) {
    *progress = t->progress;
  }
  return status.code();
}

temper_status temper_tune_stop(temper_context* t) {
  if (t == nullptr || !t->tuning) {
    return TEMPER_INVALID_ARGUMENT;
  }
  t->tuner.stop();
  temper_status status = TEMPER_MORE;
  while (status == TEMPER_MORE) {
    status = temper_tune_step(t, nullptr);
  }
  return status;
}

const char* temper_source_name(temper_source source) {
  static const char* const kNames[TEMPER_SOURCE_COUNT] = {"history", "table", "default"};
  return static_cast<uint32_t>(source) < TEMPER_SOURCE_COUNT ? kNames[source] : "unknown";
}

const char* temper_miss_name(temper_miss miss) {
  static const char* const kNames[TEMPER_MISS_COUNT] = {"none",    "absent",     "unknown workload", "fingerprint",
                                                        "illegal", "no variant", "damaged"};
  return static_cast<uint32_t>(miss) < TEMPER_MISS_COUNT ? kNames[miss] : "unknown";
}

temper_status temper_lookup(const temper_context* t, uint32_t workload, temper_answer* answer) {
  if (answer == nullptr || workload >= temper_workload_count(t)) {
    return TEMPER_INVALID_ARGUMENT;
  }
  Config config;
  return t->lookup.find(workload, t->tuner.spaces()[workload], &config, answer).code();
}

temper_status temper_make_plan(const temper_context* t, uint32_t workload, temper_plan* plan) {
  if (plan == nullptr || workload >= temper_workload_count(t)) {
    return TEMPER_INVALID_ARGUMENT;
  }
  const Space& space = t->tuner.spaces()[workload];
  Config config;
  temper_answer answer;
  const Status found = t->lookup.find(workload, space, &config, &answer);
  if (!found.ok()) {
    return found.code();
  }
  const int32_t variant = space.find_variant(config);
  const temper_kernel kernel =
      variant < 0 ? nullptr : t->pack.kernel(t->pack.variant(static_cast<uint32_t>(variant)).kernel);
  return kernel == nullptr ? TEMPER_NOT_FOUND : temper::make_plan(space, config, kernel, plan).code();
}
