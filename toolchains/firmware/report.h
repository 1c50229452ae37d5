// What the first-boot program says of its needs, its workloads and its memory, one line each, in the form that
// toolchains/README.md lists. Called by main; measures nothing itself.
#ifndef TEMPER_TOOLCHAINS_FIRMWARE_REPORT_H
#define TEMPER_TOOLCHAINS_FIRMWARE_REPORT_H

#include <stdbool.h>

#include "temper/temper.h"

/// Sums over the network, weighted by how often each workload occurs.
typedef struct network_times {
  uint64_t default_ns, tuned_ns;
  uint32_t from_history;  ///< workloads that the history answers for
  uint32_t unknown;       ///< workloads whose times no source tells
} network_times;

void report_boot(const char* mode);
/// *total_bytes: what the arena must hold.
temper_status report_needs(const temper_config* config, size_t pool_bytes, size_t* total_bytes);
/// Says by name which workloads' tensors do not fit. False when one does not.
bool report_tensors(const temper_context* t, size_t free_bytes);
/// One line a workload, then the totals.
network_times report_answers(const temper_context* t);
void report_progress(temper_status status, const temper_progress* progress,
                     const uint32_t outcomes[TEMPER_OUTCOME_COUNT]);
void report_memory(void);

#endif
