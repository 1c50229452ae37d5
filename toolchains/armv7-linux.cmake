# Target armv7-linux: Armv7-A with NEON and VFPv4, hard float ABI, glibc.
set(TEMPER_TARGET armv7-linux)
set(temper_triple arm-linux-gnueabihf)
set(temper_processor armv7l)
set(temper_core_flags "-march=armv7-a -mfpu=neon-vfpv4 -mfloat-abi=hard")
set(TEMPER_CORE_FACTS 4 16 8 1)
include(${CMAKE_CURRENT_LIST_DIR}/linux_gnu.cmake)
