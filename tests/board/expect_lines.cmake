# without_dump(TEXT OUT): the history's records left out.
function(without_dump text out)
  string(REGEX REPLACE "\n:[0-9A-F]+" "" text "${text}")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# expect_lines(TEXT PATTERN...): fails unless each pattern matches behind the one before it. The dump is left out before.
function(expect_lines text)
  without_dump("${text}" text)
  set(rest "${text}")
  foreach(line IN LISTS ARGN)
    if(NOT rest MATCHES "${line}")
      message(FATAL_ERROR "missing, or not in this order: ${line}\nin:\n${text}")
    endif()
    string(FIND "${rest}" "${CMAKE_MATCH_0}" at)
    string(LENGTH "${CMAKE_MATCH_0}" length)
    math(EXPR at "${at} + ${length}")
    string(SUBSTRING "${rest}" ${at} -1 rest)
  endforeach()
endfunction()

# expect_dump(TEXT): a dump whose records are whole lines, closed by the record that ends it.
function(expect_dump text)
  if(NOT text MATCHES "temper-history-begin [1-9][0-9]*\n:20000000[0-9A-F]+\n" OR NOT text MATCHES "\n:00000001FF\ntemper-history-end\n")
    message(FATAL_ERROR "no whole dump of the history")
  endif()
endfunction()
set(answered "from history, history: none, default [1-9][0-9]* ns[^\n]*, tuned [1-9][0-9]* ns")
