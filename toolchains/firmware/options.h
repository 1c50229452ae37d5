// What a run of the first-boot program is asked for: chosen when it was configured, changed by words "name=value" where
// the board hands such on. Called by main.
#ifndef TEMPER_TOOLCHAINS_FIRMWARE_OPTIONS_H
#define TEMPER_TOOLCHAINS_FIRMWARE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum first_boot_mode {
  MODE_TUNE = 0,
  MODE_ALARM,     ///< waits for the port's alarm, which ends the boot; the next boot says that it did
  MODE_WATCHDOG,  ///< likewise for the watchdog
  MODE_CHECK,     ///< every_config alone: runs what it tries on small integers
  MODE_EXHAUST,   ///< every_config alone: times it too
  MODE_COUNT
} first_boot_mode;

/// Of first_boot, collect_boot and every_config.
typedef struct first_boot_options {
  first_boot_mode mode;
  uint32_t budget_ms, trials, trials_per_workload, max_trials;
  uint32_t boots;  ///< the program ends in this one; those before it reset where the board can
  uint32_t seed;
  uint32_t dump;                             ///< 0: the history is not printed
  uint32_t plain;                            ///< 0: the tuned kernels are not set beside plain loops
  uint32_t stack_of_kernels;                 ///< 0: the stack that is told is the one that everything but kernels took
  uint32_t next_clock_percent, next_driver;  ///< a stand-in for a change of the board: its clock and its revision as
                                             ///< told from the second boot on; 0: as they are
  uint32_t every;                            ///< every_config tries each so many-th legal config; 0: the defaults alone
} first_boot_options;

/// False, after a message, for a word that is not understood.
bool read_options(first_boot_options* options);
const char* mode_name(first_boot_mode mode);

#ifdef __cplusplus
}
#endif

#endif
