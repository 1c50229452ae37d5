# Target riscv64gc-linux: RV64GC without vectors, LP64D, glibc.
set(TEMPER_TARGET riscv64gc-linux)
set(temper_triple riscv64-linux-gnu)
set(temper_processor riscv64)
set(temper_core_flags "-march=rv64gc -mabi=lp64d")
set(TEMPER_CORE_FACTS 1 32 5 1)
include(${CMAKE_CURRENT_LIST_DIR}/linux_gnu.cmake)
