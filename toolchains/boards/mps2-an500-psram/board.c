#include "toolchains/boards/mps2-an500/mps2_an500.h"

enum { kPsramBytes = 131072 };
static uint8_t psram[kPsramBytes] __attribute__((section(".psram"), aligned(64)));
static const temper_memory further[] = {{psram, kPsramBytes}};

const cortex_m_board_data cortex_m_board = MPS2_AN500("mps2-an500-psram", further, sizeof further / sizeof *further);
