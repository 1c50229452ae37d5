# Boots the first-boot firmware in the emulator and compares what it prints, line by line where that is fixed.
# cmake -DQEMU=... -DFIRMWARE=first_boot.elf -DLIMITS=size_limits.cmake -P boot_board.cmake
cmake_minimum_required(VERSION 3.25)
include(${LIMITS})
# icount makes every run the same: 32 ns per instruction, and idle time is not waited for.
function(boot printed)
  execute_process(
    COMMAND ${QEMU} -M mps2-an386 -kernel ${FIRMWARE} -semihosting-config enable=on,target=native -display none -serial none
            -monitor none -icount shift=5,sleep=off
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE console TIMEOUT 120)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${output}${console}\nthe firmware ended with ${status}")
  endif()
  set(${printed} "${output}${console}" PARENT_SCOPE)
endfunction()
boot(printed)
message(NOTICE "${printed}")
boot(again)
if(NOT printed STREQUAL again)
  message(FATAL_ERROR "a second run printed something else:\n${again}")
endif()

# Each is looked for behind the one before it.
set(expected
  "boot 1\n"
  "arena: [0-9]+ bytes in all\n"
  "dense: from default, history: unknown workload, default 0 ns, tuned 0 ns\n"
  "tuning ended: ok, [0-9]+ trials, [0-9]+ ms\n"
  "longest step of search: [0-9]+ instructions\n"
  "dense: from history, history: none, default [1-9][0-9]* ns, tuned [1-9][0-9]* ns\n"
  "result: right\n"
  "flash [0-9]+ bytes, RAM [0-9]+ bytes, stack [0-9]+ of [0-9]+ bytes\n"
  "reset\n"
  "boot 2\n"
  "dense: from history, history: none, default [1-9][0-9]* ns, tuned [1-9][0-9]* ns\n"
  "tuning ended: ok, 0 trials, [0-9]+ ms\n"
  "result: right\n"
  "done\n")
set(rest "${printed}")
foreach(line IN LISTS expected)
  if(NOT rest MATCHES "${line}(.*)")
    message(FATAL_ERROR "missing, or not in this order: ${line}")
  endif()
  set(rest "${CMAKE_MATCH_1}")
endforeach()

function(compare_limit what pattern limit)
  string(REGEX MATCHALL "${pattern}" lines "${printed}")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "[0-9]+" measured "${line}")
    if(measured GREATER limit)
      message(FATAL_ERROR "${what}: ${measured}, above the ${limit} of size_limits.cmake")
    endif()
  endforeach()
endfunction()
compare_limit(arena "arena: [0-9]+ bytes" ${limit_arena})
compare_limit(stack "stack [0-9]+ of" ${limit_stack})
compare_limit("longest step of search" "longest step of search: [0-9]+" ${limit_search_step})
