# Defines the target `board` for boards with a Cortex-M core; included by a board's board.cmake, which sets board_folder.
set(cortex_m ${CMAKE_CURRENT_LIST_DIR})
add_library(board OBJECT ${board_folder}/board.c ${cortex_m}/data_flash.c ${cortex_m}/port.c ${cortex_m}/semihosting.c
  ${cortex_m}/startup.c)
target_compile_options(board PRIVATE -ffunction-sections -fdata-sections)
target_link_libraries(board PRIVATE temper_warnings)
target_link_options(board INTERFACE --specs=nano.specs -nostartfiles -Wl,--gc-sections -Wl,--no-warn-rwx-segments -Wl,-z,noexecstack
  -L${cortex_m} -T ${board_folder}/memory.ld)
set(board_link_depends ${board_folder}/memory.ld ${cortex_m}/sections.ld)
set(board_executable_suffix .elf)
set(board_storage_bytes 131072)  # as data_flash.c has them
set(board_program_bytes 8)
