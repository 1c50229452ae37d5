# Target riscv64-linux: RV64GC, LP64D, glibc; kernels use the vector extension, everything else does not.
set(TEMPER_TARGET riscv64-linux)
set(temper_triple riscv64-linux-gnu)
set(temper_processor riscv64)
set(temper_core_flags "-march=rv64gc -mabi=lp64d")
set(TEMPER_CORE_FACTS 4 32 5 1)
include(${CMAKE_CURRENT_LIST_DIR}/linux_gnu.cmake)
