// The numbers of the MPS2 with AN500, for cortex_m_board of every board folder that emulates it: they differ in name
// and in the memories besides RAM.
#ifndef TEMPER_TOOLCHAINS_BOARDS_MPS2_AN500_MPS2_AN500_H
#define TEMPER_TOOLCHAINS_BOARDS_MPS2_AN500_MPS2_AN500_H

#include "toolchains/boards/cortex_m/cortex_m.h"

/// `board_name`, then the further memories and how many these are.
#define MPS2_AN500(board_name, further, further_count)                                                            \
  {                                                                                                               \
    .name = board_name,                                                                                           \
    .facts = {{[TEMPER_FACT_VECTOR_LANES] = 1,                                                                    \
               [TEMPER_FACT_VECTOR_REGISTERS] = 32,                                                               \
               [TEMPER_FACT_L1D_BYTES] = 16384,                                                                   \
               [TEMPER_FACT_CORES] = 1,                                                                           \
               [TEMPER_FACT_THREADS] = 1,                                                                         \
               [TEMPER_FACT_CLOCK_KHZ] = 25000,                                                                   \
               [TEMPER_FACT_COPY_MB_S] = 50,                                                                      \
               [TEMPER_FACT_FMA_LATENCY] = 3,                                                                     \
               [TEMPER_FACT_FMA_PER_CYCLE] = 1,                                                                   \
               [TEMPER_FACT_MEMORIES] = 1 + (further_count)}},                                                    \
    .clock_hz = 25000000, .ns_per_tick = 40, .ns_per_tick_shift = 0, .watchdog = (volatile uint32_t*)0x40008000u, \
    .watchdog_hz = 25000000, .ns_per_instruction = 32, .memories = (further), .memory_count = (further_count)     \
  }

#endif
