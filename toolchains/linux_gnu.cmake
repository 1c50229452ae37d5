# What the Linux toolchain files share: Debian's cross GCC (packages g++-<triple>, and libc6-dev of the architecture that comes with
# them). Included by *-linux.cmake, which set temper_triple, temper_processor, temper_core_flags and
# TEMPER_CORE_FACTS: lanes, vector registers, latency and number per cycle of multiply-adds, as codegen/target.cc has them.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${temper_processor})
set(CMAKE_C_COMPILER ${temper_triple}-gcc)
set(CMAKE_CXX_COMPILER ${temper_triple}-g++)
set(CMAKE_FIND_ROOT_PATH /usr/${temper_triple})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(TEMPER_DEFAULT_BOARD linux)

set(CMAKE_C_FLAGS_INIT "${temper_core_flags}")
set(CMAKE_CXX_FLAGS_INIT "${temper_core_flags}")
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "")
