// temper's C API: tune kernels on the device that runs them, look results up, execute them.
// Called by firmware and applications. Never allocates: all memory is the caller's arena, and buffers given per call.
// One temper_context belongs to one thread at a time; a plan may be executed from several threads with separate
// workspaces.
#ifndef TEMPER_TEMPER_H
#define TEMPER_TEMPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "temper/kernel.h"
#include "temper/port.h"
#include "temper/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TEMPER_VERSION_MAJOR 0
#define TEMPER_VERSION_MINOR 1

typedef struct temper_context temper_context;

/// A tuned table in ROM or memory (runtime/format/table.fbs), read in place.
typedef struct temper_table {
  const void* data;  ///< aligned to 8 bytes
  size_t data_bytes;
} temper_table;

/// What a firmware pays for only where its config points to it: the code that reads tuned tables, the learner of the
/// `learning` profile, the search for the default where facts are probed, and borrowing from other shapes. Opaque.
typedef struct temper_table_functions temper_table_functions;
extern const temper_table_functions temper_table_reader;
typedef struct temper_learning_functions temper_learning_functions;
extern const temper_learning_functions temper_learning;
typedef struct temper_default_functions temper_default_functions;
extern const temper_default_functions temper_probed_defaults;
typedef struct temper_nearest_functions temper_nearest_functions;
extern const temper_nearest_functions temper_nearest_shape;

/// One more memory of the board (tightly coupled, external), besides the one lent to temper_tune_start.
typedef struct temper_memory {
  void* data;  ///< aligned to 64 bytes
  size_t bytes;
} temper_memory;

typedef struct temper_config {
  const temper_pack* pack;
  const temper_port* port;
  temper_facts facts;          ///< of this device; THREADS bounds how many threads plans use
  const temper_table* tables;  ///< searched in order after the history; may be NULL
  uint32_t table_count;
  const temper_table_functions* table_reader;  ///< &temper_table_reader; NULL: tables are not read
  const temper_learning_functions* learning;   ///< &temper_learning; NULL: the analytic prior alone guides the search
  const temper_default_functions* defaults;    ///< &temper_probed_defaults where the pack is for machines that are
                                               ///< probed; NULL: it tells the default of each workload
  const temper_nearest_functions* nearest;     ///< &temper_nearest_shape; NULL: no config is borrowed
  const temper_memory* memories;  ///< number 1 and on of those that plans name; TEMPER_FACT_MEMORIES is count + 1
  uint32_t memory_count;
  uint32_t max_trials;   ///< trials remembered of one workload (history included), 1 to 2^24; bounds the arena
  uint64_t target_hash;  ///< identifies the target's name; part of the fingerprint; 0: FNV-1a of the pack's target
  uint32_t core_type;    ///< class of the core (temper_linux_core_type, CPUID, MIDR), 0: unknown; likewise
  uint32_t driver;       ///< what else results depend on and facts do not tell: the revision of a board or a driver;
                         ///< another number makes old results hints; 0: none
  uint64_t seed;
} temper_config;

/// The facts of the machine that the pack was made for, a start where nothing probes them. TEMPER_NOT_FOUND when the
/// pack tells none; TEMPER_BAD_DATA or TEMPER_BAD_VERSION when it does not verify.
temper_status temper_nominal_facts(const temper_pack* pack, temper_facts* facts);

/// One part of what the arena must hold, and why.
typedef struct temper_need {
  const char* part;  ///< static string
  size_t bytes;
} temper_need;

/// Fills up to `capacity` parts (parts may be NULL when capacity is 0); *count gets how many there are, *total_bytes
/// their sum with alignment. TEMPER_BAD_DATA or TEMPER_BAD_VERSION when the pack does not verify.
temper_status temper_requirements(const temper_config* config, temper_need* parts, size_t capacity, size_t* count,
                                  size_t* total_bytes);

/// Verifies pack and tables, reads the history, places everything in the arena. config, pack, port and tables must
/// outlive *out. TEMPER_NO_MEMORY when arena_bytes is below temper_requirements' total. A damaged history is no error:
/// what is whole is kept.
temper_status temper_init(temper_context** out, const temper_config* config, void* arena, size_t arena_bytes);

uint32_t temper_workload_count(const temper_context* t);
/// Index of the workload with this name; TEMPER_NOT_FOUND.
temper_status temper_find_workload(const temper_context* t, const char* name, uint32_t* index);
/// Static storage of the pack. NULL when out of range.
const char* temper_workload_name(const temper_context* t, uint32_t index);
/// Elements of one tensor of the workload; 0 when absent or out of range.
size_t temper_tensor_elements(const temper_context* t, uint32_t index, temper_tensor which);
/// How often the network executes the workload: the weight of its time in totals. 0 when out of range.
uint32_t temper_workload_occurrences(const temper_context* t, uint32_t index);

/// Limits of one tuning run; whichever comes first. 0 in `trials` or `trials_per_workload`: no such limit.
typedef struct temper_budget {
  uint64_t time_ns;
  uint32_t trials;
  uint32_t trials_per_workload;
} temper_budget;

typedef struct temper_progress {
  uint32_t trials;    ///< finished in this run
  uint32_t workload;  ///< the one worked on last
  uint64_t elapsed_ns;
  uint64_t default_ns;  ///< of that workload, 0 while unknown
  uint64_t best_ns;     ///< of that workload, 0 while unknown
  temper_outcome last_outcome;
} temper_progress;

/// Starts a tuning run. `memory` is lent until the run ends: tensors of the largest workload, its packed constant and
/// workspace. temper_tuning_bytes is enough for every candidate; with less, those that do not fit are invalid.
/// Workloads that the history has a valid commit for are left alone. TEMPER_NO_MEMORY when a default does not fit;
/// TEMPER_UNSUPPORTED when the pack has no kernels; TEMPER_INVALID_ARGUMENT while another run goes on.
temper_status temper_tune_start(temper_context* t, const temper_budget* budget, void* memory, size_t memory_bytes);
size_t temper_tuning_bytes(const temper_context* t);
/// As temper_tune_start, for a run that only measures: random configs and neighbours of the best, appended to the
/// history as trials. Commits nothing. Stepped and stopped as a tuning run is.
temper_status temper_collect_start(temper_context* t, const temper_budget* budget, void* memory, size_t memory_bytes);
/// One bounded step. TEMPER_MORE while there is work, TEMPER_OK when the run is complete (winners committed), else why
/// it ended.
temper_status temper_tune_step(temper_context* t, temper_progress* progress);
/// Ends a run early; what was measured is kept and the best confirmed configs are committed.
temper_status temper_tune_stop(temper_context* t);

/// Where an answer came from, in the order of looking.
typedef enum temper_source {
  TEMPER_SOURCE_HISTORY = 0,
  TEMPER_SOURCE_TABLE,        ///< a tuned table of this device
  TEMPER_SOURCE_CLASS_TABLE,  ///< a tuned table of its class: the same target and vectors, another core, pack, ...
  TEMPER_SOURCE_NEAREST,      ///< what was committed for the nearest shape, where it is legal for this one
  TEMPER_SOURCE_DEFAULT,
  TEMPER_SOURCE_COUNT
} temper_source;

/// Why a source gave no answer.
typedef enum temper_miss {
  TEMPER_MISS_NONE = 0,  ///< it answered, or was not asked
  TEMPER_MISS_ABSENT,    ///< there is no such source
  TEMPER_MISS_UNKNOWN_WORKLOAD,
  TEMPER_MISS_FINGERPRINT,  ///< made on another target, core, pack, ... (see temper_answer::fingerprint_fields)
  TEMPER_MISS_ILLEGAL,      ///< the config breaks a constraint here
  TEMPER_MISS_NO_VARIANT,   ///< this pack has no kernel for it
  TEMPER_MISS_DAMAGED,
  TEMPER_MISS_COUNT
} temper_miss;

typedef struct temper_answer {
  temper_source source;
  temper_miss missed[TEMPER_SOURCE_COUNT];  ///< for each source before `source`
  /// For each source up to `source`: in which fields its device differs from this one, a bit for each
  /// (temper_fingerprint_field); 0: in none, or it knows nothing of the workload.
  uint16_t fingerprint_fields[TEMPER_SOURCE_COUNT];
  uint32_t table;       ///< index of the table that answered; UINT32_MAX: none did
  uint64_t default_ns;  ///< as recorded; 0 when unknown
  uint64_t tuned_ns;
  uint8_t knob_count;
  int32_t value[TEMPER_MAX_KNOBS];  ///< in the order of the template's knobs
} temper_answer;

const char* temper_source_name(temper_source source);
const char* temper_miss_name(temper_miss miss);

/// What would be used for a workload, without measuring anything.
temper_status temper_lookup(const temper_context* t, uint32_t workload, temper_answer* answer);

/// What the history's storage has taken. Compactions move between the two regions of a flash; a file is one region.
typedef struct temper_history_info {
  uint32_t generation;     ///< compactions so far and 1; 0: there is one region, and none
  uint32_t erased_blocks;  ///< by those compactions, all together; those that were interrupted are not counted
  uint32_t region_bytes;   ///< that the history may take
  uint32_t used_bytes;     ///< of them, what was damaged included
  uint32_t free_bytes;
  bool writable;  ///< false: results are kept in memory only from now on
} temper_history_info;

/// TEMPER_NOT_FOUND when there is no storage, or no history could be read from it.
temper_status temper_get_history_info(const temper_context* t, temper_history_info* info);

/// One finished trial of this device, as its history tells it. Valid during the visit only.
typedef struct temper_trial {
  uint32_t workload;
  temper_outcome outcome;  ///< crashed: an earlier boot or this one did not survive it; it is quarantined
  bool is_default;
  uint8_t knob_count;
  uint64_t median_ns;  ///< per call; 0 when nothing was timed
  uint16_t knob_id[TEMPER_MAX_KNOBS];
  const char* knob_name[TEMPER_MAX_KNOBS];  ///< NULL or empty where the pack tells none
  int32_t value[TEMPER_MAX_KNOBS];
} temper_trial;

/// Calls `visit` for every trial of this device and of the pack's workloads, oldest first, read where they lie and told
/// in *memory, which weighs too much for a stack. Not while a step goes on. TEMPER_NOT_FOUND without a storage: only
/// the progress of a run tells outcomes then; TEMPER_STORAGE_* when the history takes or gives no more;
/// TEMPER_BAD_DATA, TEMPER_BAD_VERSION when it is none.
temper_status temper_visit_trials(temper_context* t, temper_trial* memory, void* self,
                                  void (*visit)(void* self, const temper_trial* trial));

/// A workload bound to a kernel, its run knobs and the layout of its packed constants. Caller-owned, plain data.
typedef struct temper_plan {
  temper_kernel kernel;
  int32_t grid;                 ///< work items
  uint32_t threads;             ///< chunks the grid is cut into
  uint32_t workspace_bytes;     ///< per thread, multiple of 64
  temper_tensor packed_tensor;  ///< TEMPER_TENSOR_COUNT: nothing is packed
  uint32_t packed_bytes;        ///< of the packed constant; 0 when none
  uint32_t memory;              ///< where packed constant and workspace were meant to lie: 0 the board's usual memory
  int32_t
      pack_layout[11];  ///< groups, group stride, n, n stride, n block, k0, stride, k1, stride, k2, stride (elements)
  uint32_t arg_count;
  int32_t args[TEMPER_MAX_DIMS + TEMPER_MAX_KNOBS];
} temper_plan;

/// TEMPER_NOT_FOUND when no kernel of the pack serves the config found (never for a pack that verified: it has a
/// default).
temper_status temper_make_plan(const temper_context* t, uint32_t workload, temper_plan* plan);
/// Packs the constant operand once. `packed` holds plan->packed_bytes, aligned to 64. Pass it instead of the tensor
/// afterwards.
temper_status temper_pack_constant(const temper_plan* plan, const float* constant, void* packed, size_t packed_bytes);
/// Runs the plan on the caller's tensors (the packed buffer in place of plan->packed_tensor). `workspace` holds
/// plan->threads * plan->workspace_bytes, aligned to 64; NULL when that is 0. `port` may be NULL: one thread.
temper_status temper_execute(const temper_plan* plan, const temper_port* port, void* const tensors[TEMPER_TENSOR_COUNT],
                             void* workspace, size_t workspace_bytes);

#ifdef __cplusplus
}
#endif
#endif
