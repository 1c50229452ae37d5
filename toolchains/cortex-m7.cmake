# Target cortex-m7: Armv7E-M, double-precision FPU (kernels and core use single precision only), hard float ABI, bare metal.
set(TEMPER_TARGET cortex-m7)
set(TEMPER_DEFAULT_BOARD mps2-an500)
set(temper_core_flags "-mcpu=cortex-m7 -mthumb -mfloat-abi=hard -mfpu=fpv5-d16")
include(${CMAKE_CURRENT_LIST_DIR}/arm_none_eabi.cmake)
