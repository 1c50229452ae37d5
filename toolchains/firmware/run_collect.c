#include "toolchains/firmware/trial_run.h"

const trial_start first_boot_start = temper_collect_start;
const bool first_boot_commits = false;
