# Target cortex-m55: Armv8.1-M with MVE (integer and float) and FPU, hard float ABI, bare metal.
set(TEMPER_TARGET cortex-m55)
set(TEMPER_DEFAULT_BOARD mps3-an547)
set(temper_core_flags "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard")
include(${CMAKE_CURRENT_LIST_DIR}/arm_none_eabi.cmake)
