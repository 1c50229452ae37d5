# First boot of a Cortex-M board over a pack with planted faults: resets by the fault handler, the watchdog and the alarm; each config that
# was open is quarantined and named, tuning completes, later boots measure nothing, and no winner is a planted one.
# cmake -DBUILD=DIR of the firmware -DPLAN=plan.h -DTEMPER=temper -P boot_board.cmake
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/expect_outcome.cmake)
set(boots 28)
execute_process(
  COMMAND ${BUILD}/emulate ${BUILD}/first_boot.elf boots=${boots} trials-per-workload=32 budget-ms=8000 plain=0
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE console TIMEOUT 240)
set(console "${output}${console}")
without_dump("${console}" shown)
string(REGEX MATCHALL "boot [0-9]+: after [a-z-]+" all "${shown}")
message(NOTICE "${all}")
if(NOT status EQUAL 1)
  message(FATAL_ERROR "${shown}\nthe firmware ended with ${status}, not with 1 for the workload that nothing works for")
endif()
foreach(cause fault watchdog)  # the alarm, where the search meets a variant that hangs once something works
  expect_lines("${shown}" "boot [0-9]+: after ${cause}, ")
endforeach()
string(FIND "${console}" "boot ${boots}: " at)
string(SUBSTRING "${console}" ${at} -1 last)
without_dump("${last}" shown_last)
message(NOTICE "${shown_last}")
expect_lines("${shown_last}" "boot ${boots}: after reset, ")
expect_report("${shown_last}")
expect_lines("${shown_last}" "FAILED: network: nothing works for a workload of it, see above\n" "failed\n")
file(WRITE ${BUILD}/console.log "${last}")
expect_innocent_winners(${BUILD}/console.log)
