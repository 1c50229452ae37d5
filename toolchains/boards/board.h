// What a board gives the first-boot program besides temper's port: console, options, reset, facts and high-water marks.
// One implementation per board folder; called by firmware only. Never allocates after board_port.
#ifndef TEMPER_TOOLCHAINS_BOARDS_BOARD_H
#define TEMPER_TOOLCHAINS_BOARDS_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "temper/temper.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What ended the boot before this one.
typedef enum board_cause {
  BOARD_POWER_ON = 0,
  BOARD_RESET,     ///< board_reset
  BOARD_ALARM,     ///< the port's alarm rang
  BOARD_WATCHDOG,  ///< nobody fed it
  BOARD_FAULT,     ///< the core met an illegal access or instruction
  BOARD_CAUSE_COUNT
} board_cause;

/// Bytes; 0 where the board cannot tell. RAM counts static data and the whole stack; `stack_used` is the high-water
/// mark since reset.
typedef struct board_memory {
  uint32_t flash_used, flash_size, ram_used, ram_size, stack_used, stack_size;
} board_memory;

/// Clock, storage, alarm, watchdog and log, started by the first call. NULL, after a message, when a part of it cannot
/// be had.
const temper_port* board_port(void);
const char* board_name(void);
/// What temper is to know of this machine.
void board_facts(temper_facts* facts);
/// For temper_config; NULL where packs tell the defaults.
extern const temper_default_functions* const board_defaults;
/// For the fingerprint; 0 when unknown.
uint32_t board_core_type(void);

/// Boots since power-on, 1 in the first; where nothing outlives a run, always 1.
uint32_t board_boot_count(void);
board_cause board_last_cause(void);
/// Resets: memory is lost except the storage. Returns only where the board cannot.
void board_reset(void);

/// Words "name=value" given to this run, separated by blanks; empty where a board takes none.
const char* board_options(void);
void board_print(const char* text);
/// Time of one instruction where the clock counts instructions (an emulator), else 0.
uint32_t board_ns_per_instruction(void);
board_memory board_measure_memory(void);
/// Forgets that the stack was ever deeper than `stack_used` (a high-water mark of before) and than the caller is.
void board_forget_stack(uint32_t stack_used);
/// Memories besides the pool, numbered from 1 on; *count says how many. NULL and 0 where there is one alone.
const temper_memory* board_memories(uint32_t* count);

#ifdef __cplusplus
}
#endif
#endif
