# The port's alarm, or the watchdog that nobody feeds, ends a boot, and the next boot knows.
# cmake -DBUILD=DIR -DGUARD=alarm|watchdog -P boot_guard.cmake
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/expect_lines.cmake)
execute_process(COMMAND ${BUILD}/emulate ${BUILD}/first_boot.elf mode=${GUARD} dump=0 RESULT_VARIABLE status OUTPUT_VARIABLE output
  ERROR_VARIABLE console TIMEOUT 60)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${output}${console}\nthe firmware ended with ${status}")
endif()
expect_lines("${console}" "boot 1: after power-on, " "boot 2: after ${GUARD}, " "done\n")
