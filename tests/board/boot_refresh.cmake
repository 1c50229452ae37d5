# From the second boot on the board is another one, as far as its facts tell: what the first found is confirmed, and what does not hold
# is searched again, in at most a quarter of the first boot's trials; the third boot measures nothing.
# cmake -DBUILD=DIR -DCHANGE=name=value -DFIELD=name -P boot_refresh.cmake
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/expect_lines.cmake)
execute_process(COMMAND ${BUILD}/emulate ${BUILD}/first_boot.elf ${CHANGE} boots=3 dump=0 plain=0 RESULT_VARIABLE status
  OUTPUT_VARIABLE output ERROR_VARIABLE console TIMEOUT 120)
message(NOTICE "${output}${console}")
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the firmware ended with ${status}")
endif()
expect_lines("${console}"
  "boot 2: after reset" "before\n" "history: made elsewhere: ${FIELD}\n" "ended: ok, [1-9][0-9]* trials" "after\n" "from history"
  "boot 3: after reset" "ended: ok, 0 trials" "done\n")
string(REGEX MATCHALL "ended: ok, [0-9]+ trials" ended "${console}")
list(TRANSFORM ended REPLACE "[^0-9]" "")
list(GET ended 0 first)
list(GET ended 1 refresh)
math(EXPR most "${first} / 4")
if(refresh GREATER most)
  message(FATAL_ERROR "the refresh took ${refresh} trials, a first boot ${first}")
endif()
