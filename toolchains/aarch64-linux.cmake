# Target aarch64-linux: Armv8-A with NEON, LP64, glibc.
set(TEMPER_TARGET aarch64-linux)
set(temper_triple aarch64-linux-gnu)
set(temper_processor aarch64)
set(temper_core_flags "-march=armv8-a")
set(TEMPER_CORE_FACTS 4 32 4 1)
include(${CMAKE_CURRENT_LIST_DIR}/linux_gnu.cmake)
