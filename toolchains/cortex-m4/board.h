// What the Cortex-M4 board supplies: temper's port (clock, data flash, log) and the few things a first-boot program
// prints. Called by firmware. Never allocates.
#ifndef TEMPER_TOOLCHAINS_CORTEX_M4_BOARD_H
#define TEMPER_TOOLCHAINS_CORTEX_M4_BOARD_H

#include <stdint.h>

#include "temper/port.h"

/// Fills unused RAM at reset; what differs later was used.
#define BOARD_PAINT 0xC5C5C5C5u

/// Starts the clock. Called by start-up, before main.
void board_start(void);
const temper_port* board_port(void);

/// Resets since power-on, as a part's reset-cause register would tell; 1 in the first boot.
uint32_t board_boot_count(void);
/// System reset by the core's own register: memory is lost except the data flash.
__attribute__((noreturn)) void board_reset(void);

void board_print(const char* text);
void board_print_number(uint64_t number);

/// Bytes; `stack_used` is the high-water mark since reset.
typedef struct board_memory {
  uint32_t flash_used, ram_used, stack_used, stack_size;
} board_memory;
/// ram_used counts static data and the whole stack.
board_memory board_measure_memory(void);

#endif
