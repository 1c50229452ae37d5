# Target x86_64-linux: x86-64; kernels use AVX2 and FMA, everything else the baseline.
set(TEMPER_TARGET x86_64-linux)
set(temper_triple x86_64-linux-gnu)
set(temper_processor x86_64)
set(temper_core_flags "-march=x86-64")
set(TEMPER_CORE_FACTS 8 16 5 2)
include(${CMAKE_CURRENT_LIST_DIR}/linux_gnu.cmake)
