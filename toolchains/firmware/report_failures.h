// What the first-boot program says of configs that failed on this device: each by name, and why; and which workloads
// are left without any that works. Reads the history, measures nothing.
#ifndef TEMPER_TOOLCHAINS_FIRMWARE_REPORT_FAILURES_H
#define TEMPER_TOOLCHAINS_FIRMWARE_REPORT_FAILURES_H

#include "temper/temper.h"

/// Returns how many workloads were tried without one config that works.
uint32_t report_failures(temper_context* t);

#endif
