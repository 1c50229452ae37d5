# What both kinds of boards are held to, once tuning over planted faults has ended. Includes ../expect_lines.cmake.
include(${CMAKE_CURRENT_LIST_DIR}/../expect_lines.cmake)

# expect_report(TEXT): of the boot that found everything and measured nothing; each failure is named, with its reason.
function(expect_report text)
  expect_lines("${text}"
    "before\n"
    "ended: ok, 0 trials, [0-9]+ ms\n"
    "after\n"
    "workload conv_1: count 1, from default, history: unknown workload\n"
    "workload depthwise_1: count 4, from history, history: none, the default does not work, tuned [1-9]"
    "workload pointwise_1: count 4, ${answered}"
    "workload dense: count 1, ${answered}")
  foreach(line
      "quarantined: conv_1 default tile_m=[^\n]*: crashed\n"
      "quarantined: conv_1 tile_m=[^\n]*: crashed\n"
      "quarantined: depthwise_1 default tile_w=[^\n]*: crashed\n"
      "quarantined: pointwise_1 tile_m=[^\n]*: crashed\n"
      "quarantined: pointwise_1 tile_m=[^\n]*: wrong_result\n"
      "quarantined: dense tile_m=[^\n]*: wrong_result\n"
      "nothing works: conv_1, every config tried failed; do not run it\n")
    expect_lines("${text}" "${line}")
  endforeach()
  foreach(line "quarantined: pointwise_1 default" "quarantined: dense default" "nothing works: [a-bd-z]")
    if(text MATCHES "${line}")
      message(FATAL_ERROR "blamed, and nothing was planted: ${line}\nin:\n${text}")
    endif()
  endforeach()
endfunction()

# expect_innocent_winners(HISTORY): no commit is of a variant that plan.h names as planted.
function(expect_innocent_winners history)
  execute_process(COMMAND ${TEMPER} inspect ${history} --json - RESULT_VARIABLE status OUTPUT_VARIABLE json ERROR_VARIABLE errors)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${errors}\ntemper inspect ended with ${status}")
  endif()
  file(STRINGS ${PLAN} planted REGEX "^// planted ")
  list(LENGTH planted planted_count)
  if(planted_count LESS 9)
    message(FATAL_ERROR "${PLAN}: only ${planted_count} variants are planted")
  endif()
  string(JSON workload_count LENGTH "${json}" workloads)
  math(EXPR last "${workload_count} - 1")
  set(commits 0)
  foreach(index RANGE ${last})
    string(JSON name GET "${json}" workloads ${index} workload)
    string(JSON commit ERROR_VARIABLE none GET "${json}" workloads ${index} commit config_by_knob_id)
    if(NOT none STREQUAL "NOTFOUND")
      continue()
    endif()
    math(EXPR commits "${commits} + 1")
    foreach(line IN LISTS planted)
      if(NOT line MATCHES "^// planted ${name} ([A-Z_]+) (.*)$")
        continue()
      endif()
      set(fault ${CMAKE_MATCH_1})
      string(REPLACE " " ";" knobs "${CMAKE_MATCH_2}")
      set(same TRUE)
      foreach(knob IN LISTS knobs)
        string(REPLACE "=" ";" pair "${knob}")
        list(GET pair 0 id)
        list(GET pair 1 value)
        string(JSON chosen GET "${commit}" ${id})
        if(NOT chosen EQUAL value)
          set(same FALSE)
        endif()
      endforeach()
      if(same)
        message(FATAL_ERROR "${name}: the winner is of a planted variant, ${fault}: ${commit}")
      endif()
    endforeach()
  endforeach()
  if(NOT commits EQUAL 3)
    message(FATAL_ERROR "${commits} commits, not one for each workload but conv_1")
  endif()
endfunction()
