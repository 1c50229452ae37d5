# Fails when the device core needs what a microcontroller must not be given: an allocation, an exception, RTTI, a static constructor,
# floating-point library calls, or any other outside symbol that is not on the list below.
# cmake -DNM=... -DREADELF=... -DARCHIVE=libtemper_runtime.a -P check_core_symbols.cmake
cmake_minimum_required(VERSION 3.25)

# What the core may ask of the C library and of the compiler's run-time library.
set(allowed memcpy memmove memset memcmp strlen strcmp strncmp
  __aeabi_memcpy __aeabi_memcpy4 __aeabi_memcpy8 __aeabi_memmove __aeabi_memset __aeabi_memclr
  __aeabi_uldivmod __aeabi_ldivmod __aeabi_uidiv __aeabi_idiv __aeabi_llsl __aeabi_llsr __aeabi_lmul)

# name of the fault, then the symbols that show it
set(faults
  "allocation" "(malloc|calloc|realloc|free|_malloc_r|_free_r|_sbrk|aligned_alloc|strdup|_Zn[wa].*|_Zd[la].*)"
  "exception" "(__cxa_.*throw.*|__cxa_(begin|end)_catch|__cxa_allocate_exception|__gxx_personality.*|_Unwind_.*|__cxa_end_cleanup|_ZSt[0-9]+__throw.*|__aeabi_unwind_cpp_pr[0-9])"
  "RTTI" "(_ZTI.*|_ZTS.*|__dynamic_cast|_ZTVN10__cxxabiv1.*)"
  "static constructor" "(_GLOBAL__sub_I_.*|__cxa_guard_.*|__cxa_atexit|__aeabi_atexit|atexit|__dso_handle)"
  "float library" "(__aeabi_(f|d|cf|cd)[a-z0-9]*|__aeabi_(i|ui|l|ul|h)2[fd]|__(add|sub|mul|div|neg|fix|fixuns|float|floatun|extend|trunc|eq|ne|lt|le|gt|ge|unord)[a-z]*[sd][if]+[0-9]*|(sqrt|cbrt|exp|exp2|expm1|log|log2|log10|log1p|pow|sin|cos|tan|tanh|atan2?|floor|ceil|round|rint|nearbyint|trunc|fmod|fabs|fma|ldexp|frexp|fmin|fmax|lround|lrint)[fl]?)")

execute_process(COMMAND ${NM} ${ARCHIVE} OUTPUT_VARIABLE symbols RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "nm cannot read ${ARCHIVE}")
endif()
execute_process(COMMAND ${READELF} -SW ${ARCHIVE} OUTPUT_VARIABLE sections RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "readelf cannot read ${ARCHIVE}")
endif()

string(REGEX REPLACE "\n" ";" lines "${symbols}")
set(member "")
set(defined "")
set(wanted "")
set(found "")
set(object_count 0)
foreach(line IN LISTS lines)
  if(line MATCHES "^(.+\\.o(bj)?):$")
    set(member "${CMAKE_MATCH_1}")
    math(EXPR object_count "${object_count} + 1")
  elseif(line MATCHES " ([A-Za-z]) ([^ ]+)$")
    set(kind "${CMAKE_MATCH_1}")
    set(symbol "${CMAKE_MATCH_2}")
    if(kind STREQUAL "U")
      list(APPEND wanted "${symbol}")
      set(user_${symbol} "${member}")
    elseif(NOT symbol MATCHES "^\\$")
      list(APPEND defined "${symbol}")
    endif()
    set(rest ${faults})
    while(rest)
      list(POP_FRONT rest fault pattern)
      if(symbol MATCHES "^${pattern}$")
        list(APPEND found "${fault}: ${symbol} in ${member}")
      endif()
    endwhile()
  endif()
endforeach()
if(object_count EQUAL 0)
  message(FATAL_ERROR "${ARCHIVE} holds no object")
endif()

list(REMOVE_DUPLICATES wanted)
list(REMOVE_ITEM wanted ${allowed} ${defined})
foreach(symbol IN LISTS wanted)
  list(APPEND found "not on the list of outside symbols: ${symbol} in ${user_${symbol}}")
endforeach()

string(REGEX MATCHALL "\\.(init_array|preinit_array|fini_array|ctors|dtors)[^ ]*" constructors "${sections}")
string(REGEX MATCHALL "\\.(gcc_except_table|ARM\\.extab|eh_frame)[^ ]*" tables "${sections}")
foreach(section IN LISTS constructors)
  list(APPEND found "static constructor: section ${section}")
endforeach()
foreach(section IN LISTS tables)
  list(APPEND found "exception: section ${section}")
endforeach()

list(REMOVE_DUPLICATES found)
if(found)
  list(JOIN found "\n  " text)
  message(FATAL_ERROR "the device core needs what it must not:\n  ${text}")
endif()
message(STATUS "${object_count} objects, none asks for anything that is not allowed")
