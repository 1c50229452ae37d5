# Says what a toolchain file is for, so that `temper build` can look for what it needs before it configures anything:
# cmake -DTOOLCHAIN=toolchains/TARGET.cmake -P describe.cmake prints lines "compiler NAME", "nm NAME", "board NAME", "packages NAMES",
# "target NAME", "flags FLAGS", "core_facts NUMBERS".
cmake_minimum_required(VERSION 3.25)
include(${TOOLCHAIN})
string(REGEX REPLACE "g\\+\\+$" "nm" nm "${CMAKE_CXX_COMPILER}")
string(REGEX REPLACE "-g\\+\\+$" "" triple "${CMAKE_CXX_COMPILER}")
if(triple STREQUAL "arm-none-eabi")
  set(packages gcc-arm-none-eabi libnewlib-arm-none-eabi libstdc++-arm-none-eabi-newlib)
elseif(triple STREQUAL "x86_64-linux-gnu")
  set(packages g++)
else()
  set(packages g++-${triple})
endif()
string(REPLACE ";" " " packages "${packages}")
string(REPLACE ";" " " core_facts "${TEMPER_CORE_FACTS}")
execute_process(COMMAND ${CMAKE_COMMAND} -E echo
  "compiler ${CMAKE_CXX_COMPILER}\nnm ${nm}\nboard ${TEMPER_DEFAULT_BOARD}\npackages ${packages}\ntarget ${TEMPER_TARGET}\nflags ${temper_core_flags}\ncore_facts ${core_facts}")
