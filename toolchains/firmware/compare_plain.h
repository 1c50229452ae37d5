// Executes what look-ups answer beside a plain C loop nest: the same result, and how much less time. Called by main
// after tuning and by the firmware of winners alone; prints one line a workload.
#ifndef TEMPER_TOOLCHAINS_FIRMWARE_COMPARE_PLAIN_H
#define TEMPER_TOOLCHAINS_FIRMWARE_COMPARE_PLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "temper/temper.h"

/// `memory` is aligned to 64 bytes. Workloads that are not ds_cnn's are passed over; those that do not fit are said by
/// name. False when a result differs.
bool compare_with_plain_loops(const temper_context* t, const temper_port* port, unsigned char* memory, size_t bytes);

#endif
