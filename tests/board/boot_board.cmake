# Boots the first-boot firmware in the emulator and compares what it prints, line by line where that is fixed.
# cmake -DQEMU=... -DFIRMWARE=first_boot.elf -P boot_board.cmake
cmake_minimum_required(VERSION 3.25)
# icount makes every run the same: 32 ns per instruction, and idle time is not waited for.
execute_process(
  COMMAND ${QEMU} -M mps2-an386 -kernel ${FIRMWARE} -semihosting-config enable=on,target=native -display none -serial none
          -monitor none -icount shift=5,sleep=off
  RESULT_VARIABLE status OUTPUT_VARIABLE printed ERROR_VARIABLE said TIMEOUT 120)
set(printed "${printed}${said}")
message(NOTICE "${printed}")
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the firmware ended with ${status}")
endif()

# Each is looked for behind the one before it.
set(expected
  "boot 1\n"
  "arena: [0-9]+ bytes in all\n"
  "dense: from default, history: unknown workload, default 0 ns, tuned 0 ns\n"
  "tuning ended: ok, [0-9]+ trials, [0-9]+ ms\n"
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
