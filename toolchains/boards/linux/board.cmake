# A Linux board. Read by toolchains/firmware; defines the target `board`. Linked statically, so that it runs on any kernel of its
# architecture and under qemu-user without a system root.
set(board_pool_bytes 16777216)
set(board_storage_bytes 4194304)  # the history file, as in board.c
set(board_program_bytes 1)
set(board_folder ${CMAKE_CURRENT_LIST_DIR})
add_library(board OBJECT ${board_folder}/board.c)
string(REPLACE ";" "," core_facts "${TEMPER_CORE_FACTS}")
target_compile_definitions(board PRIVATE _GNU_SOURCE TEMPER_CORE_FACTS=${core_facts})
target_link_libraries(board PUBLIC temper::port_linux PRIVATE temper_warnings)
target_link_options(board INTERFACE -static -Wl,--gc-sections)
set(board_link_depends "")
set(board_executable_suffix "")
