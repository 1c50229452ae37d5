#include "toolchains/boards/mps2-an500/mps2_an500.h"

const cortex_m_board_data cortex_m_board = MPS2_AN500("mps2-an500", NULL, 0);
