# Arm MPS2 with AN500, the FPGA board's PSRAM as a second memory: Cortex-M7. Read by toolchains/firmware; defines the target `board`.
set(board_memories 2)  # as board.c has them; temper build makes placement a knob of the pack
set(board_pool_bytes 262144)
set(board_folder ${CMAKE_CURRENT_LIST_DIR})
include(${CMAKE_CURRENT_LIST_DIR}/../cortex_m/cortex_m.cmake)
