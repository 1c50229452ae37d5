# Boots the first-boot firmware of a Cortex-M board in the emulator and compares what it prints, line by line where that is fixed.
# cmake -DBUILD=DIR -DLIMITS=size_limits.cmake -P boot_board.cmake
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/expect_lines.cmake)
include(${LIMITS})
function(boot printed)
  execute_process(COMMAND ${BUILD}/emulate ${BUILD}/first_boot.elf ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output
    ERROR_VARIABLE console TIMEOUT 120)
  if(NOT status EQUAL 0)
    without_dump("${output}${console}" shown)
    message(FATAL_ERROR "${shown}\nthe firmware ended with ${status}")
  endif()
  set(${printed} "${output}${console}" PARENT_SCOPE)
endfunction()
boot(printed)
without_dump("${printed}" shown)
message(NOTICE "${shown}")
boot(again)
if(NOT printed STREQUAL again)
  without_dump("${again}" shown)
  message(FATAL_ERROR "a second run printed something else:\n${shown}")
endif()

set(workloads conv_1 depthwise_1 pointwise_1 dense)
list(TRANSFORM workloads REPLACE "(.+)" "workload \\1: count [0-9]+, from default, history: unknown workload\n" OUTPUT_VARIABLE defaults)
list(TRANSFORM workloads REPLACE "(.+)" "workload \\1: count [0-9]+, ${answered}[^\n]*\n" OUTPUT_VARIABLE known)
list(TRANSFORM workloads REPLACE "(.+)" "plain \\1: plain [0-9]+ ns, temper [0-9]+ ns, ratio [0-9.]+, same result\n" OUTPUT_VARIABLE plain)
set(total "total: default [1-9][^\n]*, tuned [1-9][^\n]*, ratio (1\\.000|0\\.[0-9]+)\n")
expect_dump("${printed}")
expect_lines("${printed}"
  "boot 1: after power-on, board [a-z0-9-]+, target cortex-m[0-9]+, profile tuner, mode tune\n"
  "port: clock resolution [0-9]+ ns, storage 131072 bytes programmed by 8 and erased by 4096: ok\n"
  "arena [0-9]+ bytes of a pool of [0-9]+ bytes\n"
  "before\n" ${defaults}
  "ended: ok, [1-9][0-9]* trials, [0-9]+ ms\n"
  "outcomes: ok [1-9][0-9]*, [^\n]*wrong_result 0, crashed 0, timeout 0, [^\n]*\n"
  "after\n" ${known} ${total}
  "history: generation 1, 0 blocks erased, [1-9][0-9]* of 65536 bytes used\n" ${plain}
  "memory: flash [0-9]+ of [0-9]+ bytes, RAM [0-9]+ of [0-9]+ bytes, stack [0-9]+ of [0-9]+ bytes\n"
  "temper-history-begin [1-9][0-9]*\ntemper-history-end\n"
  "boot 2: after reset"
  "before\n" ${known} ${total}
  "ended: ok, 0 trials, [0-9]+ ms\n"
  "after\n" ${known} ${total}
  "done\n")

# The number that the pattern's group holds, in each line that matches.
function(compare_limit what pattern limit)
  string(REGEX MATCHALL "${pattern}" lines "${printed}")
  if(lines STREQUAL "")
    message(FATAL_ERROR "${what}: not printed")
  endif()
  foreach(line IN LISTS lines)
    string(REGEX MATCH "${pattern}" ignored "${line}")
    if(CMAKE_MATCH_1 GREATER limit)
      message(FATAL_ERROR "${what}: ${CMAKE_MATCH_1}, above the ${limit} of size_limits.cmake")
    endif()
  endforeach()
endfunction()
compare_limit(arena "arena ([0-9]+) bytes" ${limit_arena})
compare_limit(stack "stack ([0-9]+) of" ${limit_stack})
compare_limit("longest step of search in instructions" "longest step of search: [0-9]+ ns .([0-9]+) instructions" ${limit_search_step})
compare_limit("budget in ms" "ended: ok, [1-9][0-9]* trials, ([0-9]+) ms" 20100)

boot(printed stack-of-kernels=0 plain=0)
string(REGEX MATCHALL "stack [0-9]+ of" marks "${printed}")
message(NOTICE "without the kernels' share: ${marks}")
compare_limit("stack without kernels" "stack ([0-9]+) of" ${limit_stack_without_kernels})
