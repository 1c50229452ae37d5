// The `lookup` profile: firmware that ships winners only, as `temper bake` makes them. Finds a workload by key or name,
// plans it, and tells where the plan came from; temper_execute and temper_pack_constant (temper.h) do the rest. Holds
// no tuner, no searcher, no evaluator; allocates nothing, reads everything in place, writes nothing but what it is
// given.
#ifndef TEMPER_WINNERS_H
#define TEMPER_WINNERS_H

#include "temper/temper.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What `temper bake -o NAME` puts into NAME.a as NAME_winners: a tuned table with plans, the kernels and prepacked
/// constants that the plans name by index. Read in place; outlives every view of it.
typedef struct temper_winners {
  temper_table table;
  const temper_kernel* kernels;
  uint32_t kernel_count;
  const void* const* constants;  ///< each aligned to 64 bytes, packed for the plan that names it; NULL when none are
  uint32_t constant_count;
} temper_winners;

/// This device, to be held against the one that the winners were tuned on.
typedef struct temper_device {
  temper_facts facts;    ///< as the firmware that tuned gave them in temper_config
  uint64_t target_hash;  ///< likewise; 0: that of the winners, whose kernels this device executes after all
  uint32_t core_type;
} temper_device;

/// Opened winners. Caller-owned, plain data; only read after temper_winners_open, from any number of threads.
typedef struct temper_winners_view {
  const temper_winners* winners;
  const uint64_t* keys;     ///< ascending
  const void* entries;      ///< by key
  const uint32_t* names;    ///< of the entries
  const uint32_t* by_name;  ///< indices of entries, ascending by name
  uint32_t count;
  uint32_t fingerprint_fields;  ///< in which the device differs (runtime/fingerprint.h), bit per field
  temper_source source;         ///< TEMPER_SOURCE_TABLE; TEMPER_SOURCE_DEFAULT when a field that matters differs
} temper_winners_view;

/// Verifies everything that is read later: the table's checksum and bounds, kernel and constant indices, layouts.
/// `device` NULL: it is the one that the winners were tuned on, on the caller's word. On another device every plan is
/// the default's. TEMPER_BAD_DATA or TEMPER_BAD_VERSION: *reason, when not null, gets a static text; *view then holds
/// nothing.
temper_status temper_winners_open(temper_winners_view* view, const temper_winners* winners, const temper_device* device,
                                  const char** reason);

/// Index below view->count, by binary search; NAME.h has the keys. TEMPER_NOT_FOUND.
temper_status temper_winners_find(const temper_winners_view* view, uint64_t key, uint32_t* index);
/// Likewise by the name of the network's layer; one of them where several workloads bear it. TEMPER_NOT_FOUND.
temper_status temper_winners_find_name(const temper_winners_view* view, const char* name, uint32_t* index);
/// NULL when out of range.
const char* temper_winners_name(const temper_winners_view* view, uint32_t index);

/// What is known of one workload, in the table itself.
typedef struct temper_winner {
  uint64_t default_ns, tuned_ns;  ///< as recorded where it was tuned; 0: never, its plan is the default's
  uint32_t elements[TEMPER_TENSOR_COUNT];
  uint32_t digest;  ///< of the output on small integers (temper_check_digest); 0: unknown
  uint32_t count;   ///< occurrences in the network
  uint32_t reserved;
} temper_winner;

/// NULL when out of range.
const temper_winner* temper_winners_get(const temper_winners_view* view, uint32_t index);

/// Fills the plan to execute with at most `threads` threads (0: one). Its `args` stay as they are: the kernels have
/// everything built in. TEMPER_INVALID_ARGUMENT when the index is out of range.
temper_status temper_winners_plan(const temper_winners_view* view, uint32_t index, uint32_t threads, temper_plan* plan);

/// The prepacked constant for the n-th occurrence of the workload, in place of plan->packed_tensor. NULL: none was
/// baked, or n is out of range; then, where plan->packed_bytes is not 0, pack it once with temper_pack_constant.
const void* temper_winners_constant(const temper_winners_view* view, uint32_t index, uint32_t occurrence);

/// A self-check without data: fills a tensor with the integers of which temper_winner::digest knows the output ...
void temper_check_fill(temper_tensor which, float* tensor, size_t elements);
/// ... and computes the digest of an output.
uint32_t temper_check_digest(const float* output, size_t elements);

#ifdef __cplusplus
}
#endif
#endif
