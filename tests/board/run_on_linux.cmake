# Runs the first-boot program of a Linux target twice on one history file: the first run tunes, the second measures nothing.
# cmake -DBUILD=DIR -P run_on_linux.cmake
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/expect_lines.cmake)
set(history ${BUILD}/first_boot.history)
file(REMOVE ${history})
function(boot printed)
  execute_process(COMMAND ${BUILD}/emulate ${BUILD}/first_boot history=${history} budget-ms=120000 trials-per-workload=8 trials=0
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE errors TIMEOUT 120)
  if(NOT status EQUAL 0)
    without_dump("${output}${errors}" shown)
    message(FATAL_ERROR "${shown}\nthe program ended with ${status}")
  endif()
  set(${printed} "${output}" PARENT_SCOPE)
endfunction()

set(workloads conv_1 depthwise_1 pointwise_1 dense)
list(TRANSFORM workloads REPLACE "(.+)" "workload \\1: count [0-9]+, from default, history: unknown workload\n" OUTPUT_VARIABLE defaults)
list(TRANSFORM workloads REPLACE "(.+)" "workload \\1: count [0-9]+, ${answered}\n" OUTPUT_VARIABLE known)
boot(first)
without_dump("${first}" shown)
message(NOTICE "${shown}")
expect_dump("${first}")
expect_lines("${first}"
  "boot 1: after power-on, board linux, "
  "before\n" ${defaults}
  "ended: ok, [1-9][0-9]* trials, [0-9]+ ms\n"
  "outcomes: ok [1-9][0-9]*, [^\n]*wrong_result 0, crashed 0, [^\n]*\n"
  "after\n" ${known} "total: "
  "temper-history-begin [1-9][0-9]*\ntemper-history-end\n"
  "done\n")
boot(second)
expect_lines("${second}"
  "before\n" ${known} "ended: ok, 0 trials, [0-9]+ ms\n" "after\n" ${known} "done\n")
