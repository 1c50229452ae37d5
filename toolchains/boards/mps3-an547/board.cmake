# Arm MPS3 with AN547: Cortex-M55. Read by toolchains/firmware; defines the target `board`.
set(board_pool_bytes 262144)
set(board_folder ${CMAKE_CURRENT_LIST_DIR})
include(${CMAKE_CURRENT_LIST_DIR}/../cortex_m/cortex_m.cmake)
