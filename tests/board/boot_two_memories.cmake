# Boots first_boot and every_config on a board with a second memory: placement is a knob there; configs that place packed constant and
# workspace in either memory are run, checked by digest, timed and recorded.
# cmake -DBUILD=DIR -DPLACEMENTS=placements -DSCRATCH=DIR -P boot_two_memories.cmake
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/expect_lines.cmake)
function(boot firmware printed)
  execute_process(COMMAND ${BUILD}/emulate ${BUILD}/${firmware}.elf ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output
    ERROR_VARIABLE console TIMEOUT 240)
  without_dump("${output}${console}" shown)
  message(NOTICE "${shown}")
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${firmware} ended with ${status}")
  endif()
  set(${printed} "${output}${console}" PARENT_SCOPE)
endfunction()

boot(first_boot printed plain=0)
expect_lines("${printed}" "board mps2-an500-psram" "ended: ok, [1-9][0-9]* trials" "wrong_result 0, crashed 0" "done\n")
file(MAKE_DIRECTORY ${SCRATCH})
file(WRITE ${SCRATCH}/console.log "${printed}")
execute_process(COMMAND ${PLACEMENTS} ${SCRATCH}/console.log RESULT_VARIABLE status OUTPUT_VARIABLE counted ERROR_VARIABLE error)
message(NOTICE "${counted}")
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${error}")
endif()
expect_lines("${counted}" "memory 0: ok [1-9]" "memory 1: ok [1-9]")

# A sample of all legal configs, those among them that were never tuned to.
boot(every_config checked mode=check every=211)
expect_lines("${checked}" "every conv_1:[^\n]*invalid 0,[^\n]*wrong_result 0," "every pointwise_1:[^\n]*invalid 0,[^\n]*wrong_result 0," "done\n")
