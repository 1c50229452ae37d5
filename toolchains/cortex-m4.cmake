# Target cortex-m4: Armv7E-M, single-precision FPU, hard float ABI, bare metal.
set(TEMPER_TARGET cortex-m4)
set(TEMPER_DEFAULT_BOARD mps2-an386)
set(temper_core_flags "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16")
include(${CMAKE_CURRENT_LIST_DIR}/arm_none_eabi.cmake)
