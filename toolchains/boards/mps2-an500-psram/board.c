#include "toolchains/boards/cortex_m/cortex_m.h"

enum { kPsramBytes = 131072 };
static uint8_t psram[kPsramBytes] __attribute__((section(".psram"), aligned(64)));
static const temper_memory further[] = {{psram, kPsramBytes}};

const cortex_m_board_data cortex_m_board = {.name = "mps2-an500-psram",
                                            .facts = {{[TEMPER_FACT_VECTOR_LANES] = 1,
                                                       [TEMPER_FACT_VECTOR_REGISTERS] = 32,
                                                       [TEMPER_FACT_L1D_BYTES] = 16384,
                                                       [TEMPER_FACT_CORES] = 1,
                                                       [TEMPER_FACT_THREADS] = 1,
                                                       [TEMPER_FACT_CLOCK_KHZ] = 25000,
                                                       [TEMPER_FACT_COPY_MB_S] = 50,
                                                       [TEMPER_FACT_FMA_LATENCY] = 3,
                                                       [TEMPER_FACT_FMA_PER_CYCLE] = 1,
                                                       [TEMPER_FACT_MEMORIES] = 2}},
                                            .clock_hz = 25000000,
                                            .ns_per_tick = 40,
                                            .ns_per_tick_shift = 0,
                                            .watchdog = (volatile uint32_t*)0x40008000u,
                                            .watchdog_hz = 25000000,
                                            .ns_per_instruction = 32,
                                            .memories = further,
                                            .memory_count = sizeof further / sizeof *further};
