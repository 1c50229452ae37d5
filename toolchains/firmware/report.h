// What the first-boot program says of its needs, its workloads and its memory, one line each, in the form that
// toolchains/README.md lists. Called by main; measures nothing itself.
#ifndef TEMPER_TOOLCHAINS_FIRMWARE_REPORT_H
#define TEMPER_TOOLCHAINS_FIRMWARE_REPORT_H

#include <stdbool.h>

#include "temper/temper.h"

void report_boot(const char* mode);
/// *total_bytes: what the arena must hold.
temper_status report_needs(const temper_config* config, size_t pool_bytes, size_t* total_bytes);
/// Says by name which workloads' tensors do not fit. False when one does not.
bool report_tensors(const temper_context* t, size_t free_bytes);
/// One line a workload, then the sums over the network, weighted by how often each workload occurs. Returns how many
/// workloads the history answers for.
uint32_t report_answers(const temper_context* t);
/// What the history has taken of its storage; nothing where there is none.
void report_history(const temper_context* t);
void report_memory(void);

#endif
