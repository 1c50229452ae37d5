// What the boards with a Cortex-M core share, and what tells them apart. Each board folder defines `cortex_m_board`.
#ifndef TEMPER_TOOLCHAINS_BOARDS_CORTEX_M_H
#define TEMPER_TOOLCHAINS_BOARDS_CORTEX_M_H

#include <stdint.h>

#include "temper/kernel.h"
#include "toolchains/boards/board.h"

typedef struct cortex_m_board_data {
  const char* name;
  temper_facts facts;
  uint32_t clock_hz;                        ///< of SysTick, the core's clock
  uint32_t ns_per_tick, ns_per_tick_shift;  ///< a tick takes ns_per_tick / 2^shift nanoseconds
  volatile uint32_t* watchdog;              ///< a CMSDK APB watchdog
  uint32_t watchdog_hz;
  uint32_t ns_per_instruction;    ///< as the emulator's command line counts, see `emulate`; 0 on hardware
  const temper_memory* memories;  ///< besides RAM
  uint32_t memory_count;
} cortex_m_board_data;
extern const cortex_m_board_data cortex_m_board;

/// Fills unused RAM at reset; what differs later was used.
#define CORTEX_M_PAINT 0xC5C5C5C5u

/// Starts clock and watchdog. Called by start-up, before main.
void cortex_m_start(void);
/// Resets the core; the next boot reports `cause`.
__attribute__((noreturn)) void cortex_m_reset(board_cause cause);

#endif
