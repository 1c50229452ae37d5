# without_dump(TEXT OUT): the history's records left out.
function(without_dump text out)
  string(REGEX REPLACE "\n:[0-9A-F]+" "" text "${text}")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# expect_lines(TEXT PATTERN...): fails unless each pattern matches behind the one before it.
function(expect_lines text)
  without_dump("${text}" shown)
  foreach(line IN LISTS ARGN)
    if(NOT text MATCHES "${line}(.*)")
      message(FATAL_ERROR "missing, or not in this order: ${line}\nin:\n${shown}")
    endif()
    set(text "${CMAKE_MATCH_1}")
  endforeach()
endfunction()
set(answered "from history, history: none, default [1-9][0-9]* ns[^\n]*, tuned [1-9][0-9]* ns")
