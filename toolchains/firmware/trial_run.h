// One run of trials: started with the options' budget, stepped to its end, and told in three lines. Called by main.
#ifndef TEMPER_TOOLCHAINS_FIRMWARE_TRIAL_RUN_H
#define TEMPER_TOOLCHAINS_FIRMWARE_TRIAL_RUN_H

#include <stdbool.h>
#include <stddef.h>

#include "temper/temper.h"
#include "toolchains/firmware/options.h"

typedef temper_status (*trial_start)(temper_context* t, const temper_budget* budget, void* memory, size_t bytes);

/// What distinguishes first_boot (run_tune.c), which ends with winners, from collect_boot (run_collect.c), which only
/// measures.
extern const trial_start first_boot_start;
extern const bool first_boot_commits;

/// The port to give to temper: `port` with its alarm watched, so that steps which call no kernel can be told apart.
const temper_port* watch_port(const temper_port* port);

/// False, after a message, when the run ends for another reason
/// than its budget or its completion.
bool run_trials(temper_context* t, const first_boot_options* options, void* memory, size_t bytes);

#endif
