// The C API (temper/temper.h): places everything in the caller's arena and passes calls on to the core. What a firmware
// need not call lies in functions of its own, which the linker drops.
#include <new>

#include "runtime/api_context.h"
#include "runtime/plan.h"

namespace temper {

// Where a size has 32 bits, more entries would wrap around and the arena come out too small.
constexpr uint32_t kMostTrials = 1u << 24;

Status check_config(const temper_config* config) {
  if (config == nullptr || config->pack == nullptr || config->port == nullptr || config->port->now_ns == nullptr ||
      config->max_trials - 1 >= kMostTrials || (config->table_count > 0 && config->tables == nullptr) ||
      (config->memory_count > 0 && config->memories == nullptr)) {
    return TEMPER_INVALID_ARGUMENT;
  }
  const int32_t* facts = config->facts.value;
  const bool probed =
      facts[TEMPER_FACT_THREADS] > 0 && facts[TEMPER_FACT_CORES] > 0 && facts[TEMPER_FACT_VECTOR_LANES] > 0;
  return probed ? TEMPER_OK : TEMPER_INVALID_ARGUMENT;
}

void take_parts(const temper_config& config, const PackView& pack, Arena& arena, ArenaParts* parts, Lookup* lookup,
                temper_context* t) {
  const temper_storage* const storage = config.port->storage;
  const bool stored = storage != nullptr && storage->program_bytes <= kMaxProgramBytes;
  const uint32_t buffer_bytes = stored ? history_buffer_bytes(storage->program_bytes) : 0;
  // Values and intervals are never needed at the same time; only the learner's samples look at intervals.
  size_t scratch_bytes = pack.scratch_values() * sizeof(int32_t);
  if (config.learning != nullptr) {
    const size_t of_intervals = pack.scratch_intervals() * sizeof(Interval);
    scratch_bytes = scratch_bytes > of_intervals ? scratch_bytes : of_intervals;
  }
  parts->end[kContextPart] = arena.used;
  parts->history_buffer = {static_cast<uint8_t*>(arena.take(buffer_bytes, kArenaAlignment)), buffer_bytes};
  parts->end[kHistoryPart] = arena.used;
  new (lookup) Lookup(arena, pack, t == nullptr ? nullptr : &t->spaces, t == nullptr ? nullptr : &t->fingerprint,
                      {config.tables, config.table_count}, config.table_reader, config.nearest);
  parts->end[kLookupPart] = arena.used;
  parts->scratch = arena.take(scratch_bytes, kArenaAlignment);
  parts->end[kScratchPart] = arena.used;
  parts->search = arena.take(BoardTuner::search_bytes(config, pack), kArenaAlignment);
  parts->end[kSearchPart] = arena.used;
}

namespace {

// FNV-1a (Fowler, Noll, Vo) in 64 bits: what tools call a target's hash.
uint64_t hash_name(const char* name) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (; *name != '\0'; ++name) {
    hash = (hash ^ static_cast<uint8_t>(*name)) * 0x100000001B3u;
  }
  return hash;
}

// The C library's comparison is seven times as long, for speed.
bool same_text(const char* a, const char* b) {
  for (; *a == *b && *a != '\0'; ++a, ++b) {
  }
  return *a == *b;
}

void on_frame(void* self, const FrameView& frame) {
  temper_context* t = static_cast<temper_context*>(self);
  t->lookup.offer(frame);
  t->tuner.note_history(frame.type);
}

// Damage, another version and failing storage are no errors of init: what is whole is used, and the miss is explained
// by look-ups.
void open_history(temper_context* t, Span<uint8_t> buffer) {
  ScanReport report{};
  const temper_port& port = *t->config->port;
  const Status status = t->history.open(port.storage, buffer, t, on_frame, &report);
  t->lookup.set_history(!status.ok() || report.damaged_bytes > 0);
  if (!status.ok()) {
    log_memory_only(port);
  }
}

// Not inlined: its frame would lie under everything that reading the history needs.
[[gnu::noinline]] Status set_up(const temper_config* config, Arena& arena, temper_context** out,
                                Span<uint8_t>* history_buffer) {
  PackView verified;
  const Status status = status_of(PackView::verify(*config->pack, &verified));
  if (!status.ok()) {
    return status;
  }
  temper_context* const t = static_cast<temper_context*>(arena.take(sizeof(temper_context), kArenaAlignment));
  if (t == nullptr) {
    return TEMPER_NO_MEMORY;
  }
  const PackView& pack = *new (&t->pack) PackView(verified);
  ArenaParts parts;
  take_parts(*config, pack, arena, &parts, &t->lookup, t);
  if (arena.overflowed()) {
    return TEMPER_NO_MEMORY;
  }
  t->config = config;
  const uint64_t target_hash = config->target_hash == 0 ? hash_name(pack.target()) : config->target_hash;
  new (&t->fingerprint) Fingerprint(make_fingerprint(target_hash, config->facts, config->core_type, config->driver,
                                                     pack.pack_hash(), pack.feature_version()));
  new (&t->spaces)
      CurrentSpace(&pack, &config->facts, {static_cast<int32_t*>(parts.scratch), static_cast<Interval*>(parts.scratch)},
                   config->defaults);
  new (&t->history) History();
  new (&t->runner) PackRunner(&t->spaces, config);
  new (&t->tuner) BoardTuner(config, &t->spaces, &t->lookup, parts.history_buffer.empty() ? nullptr : &t->history,
                             &t->fingerprint, t->runner.runner(), parts.search);
  *history_buffer = parts.history_buffer;
  *out = t;
  return status;
}

Status start(temper_context* t, const temper_budget* budget, void* memory, size_t memory_bytes, RunPurpose purpose) {
  if (t == nullptr || budget == nullptr || memory == nullptr || t->tuner.running()) {
    return TEMPER_INVALID_ARGUMENT;
  }
  if (t->pack.workload_count() == 0) {
    return TEMPER_NOTHING_TO_TUNE;
  }
  if (t->pack.variant_count() == 0) {
    return TEMPER_UNSUPPORTED;  // a pack without kernels: nothing can be timed here
  }
  const Status status = t->runner.attach(memory, memory_bytes);
  return status.ok() ? t->tuner.start(*budget, purpose) : status;
}

}  // namespace
}  // namespace temper

using temper::Config;
using temper::Status;

temper_status temper_init(temper_context** out, const temper_config* config, void* arena, size_t arena_bytes) {
  if (out == nullptr || arena == nullptr) {
    return TEMPER_INVALID_ARGUMENT;
  }
  *out = nullptr;
  Status status = temper::check_config(config);
  const size_t skip = -reinterpret_cast<uintptr_t>(arena) % temper::kArenaAlignment;
  temper_context* t = nullptr;
  temper::Span<uint8_t> history_buffer;
  if (status.ok()) {
    temper::Arena placed{static_cast<uint8_t*>(arena) + skip, arena_bytes < skip ? 0 : arena_bytes - skip, 0};
    status = temper::set_up(config, placed, &t, &history_buffer);
  }
  if (!status.ok()) {
    return status.code();
  }
  t->lookup.offer_tables();
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
    if (temper::same_text(t->pack.workload(i).name, name)) {
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

// The runner and the space are worked with and left as they may be between two steps: the context is one thread's.
size_t temper_tuning_bytes(const temper_context* t) {
  if (t == nullptr || t->tuner.running()) {
    return 0;
  }
  return const_cast<temper_context*>(t)->runner.bytes_wanted();
}

temper_status temper_tune_start(temper_context* t, const temper_budget* budget, void* memory, size_t memory_bytes) {
  return temper::start(t, budget, memory, memory_bytes, temper::RunPurpose::kTune).code();
}

temper_status temper_collect_start(temper_context* t, const temper_budget* budget, void* memory, size_t memory_bytes) {
  return temper::start(t, budget, memory, memory_bytes, temper::RunPurpose::kCollect).code();
}

temper_status temper_tune_step(temper_context* t, temper_progress* progress) {
  if (t == nullptr || !t->tuner.running()) {
    return TEMPER_INVALID_ARGUMENT;
  }
  const temper_port& port = *t->config->port;
  if (port.feed_watchdog != nullptr) {
    port.feed_watchdog(port.self);
  }
  const Status status = t->tuner.step();
  if (progress != nullptr) {
    t->tuner.progress(progress);
  }
  return status.code();
}

temper_status temper_tune_stop(temper_context* t) {
  if (t == nullptr || !t->tuner.running()) {
    return TEMPER_INVALID_ARGUMENT;
  }
  t->tuner.stop();
  temper_status status = TEMPER_MORE;
  while (status == TEMPER_MORE) {
    status = temper_tune_step(t, nullptr);
  }
  return status;
}

temper_status temper_lookup(const temper_context* t, uint32_t workload, temper_answer* answer) {
  if (answer == nullptr || workload >= temper_workload_count(t)) {
    return TEMPER_INVALID_ARGUMENT;
  }
  Config config;
  return t->lookup.find(workload, &config, answer).code();
}

temper_status temper_make_plan(const temper_context* t, uint32_t workload, temper_plan* plan) {
  if (plan == nullptr || workload >= temper_workload_count(t)) {
    return TEMPER_INVALID_ARGUMENT;
  }
  Config config;
  temper_answer answer;
  const Status status = t->lookup.find(workload, &config, &answer);
  if (!status.ok()) {
    return status.code();
  }
  return t->spaces.plan(config, plan).code();
}
