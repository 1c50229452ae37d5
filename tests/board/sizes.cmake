# What the profiles take in flash and the tuner's arena at 32 knobs, each part and the limits; included by CMakeLists.txt.
add_executable(write_sized_pack sizes/write_sized_pack.cc)
target_link_libraries(write_sized_pack PRIVATE temper_test_pack doctest::doctest temper_warnings)
add_custom_command(
  OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/sized_pack/sized_pack.h
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/sized_pack
  COMMAND write_sized_pack ${CMAKE_CURRENT_BINARY_DIR}/sized_pack/sized_pack.h
  DEPENDS write_sized_pack
  VERBATIM)
add_custom_target(sized_pack DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/sized_pack/sized_pack.h)

# Target, compiler, emulator; the arena's limit is twice as large where pointers have 64 bits.
set(sized_targets cortex-m4 aarch64-linux)
set(sized_compilers arm-none-eabi-g++ aarch64-linux-gnu-g++)
set(sized_emulators qemu-system-arm qemu-aarch64)
foreach(target compiler emulator IN ZIP_LISTS sized_targets sized_compilers sized_emulators)
  find_program(found_${compiler} ${compiler})
  find_program(found_${emulator} ${emulator})
  if(NOT found_${compiler} OR NOT found_${emulator})
    message(WARNING "no ${compiler} or no ${emulator}: the sizes on ${target} are NOT tested")
    continue()
  endif()
  set(sizes_build ${CMAKE_CURRENT_BINARY_DIR}/sizes-${target})
  ExternalProject_Add(sizes_of_${target}
    SOURCE_DIR ${CMAKE_CURRENT_SOURCE_DIR}/sizes
    BINARY_DIR ${sizes_build}
    PREFIX ${CMAKE_CURRENT_BINARY_DIR}/external/sizes-${target}
    CMAKE_GENERATOR Ninja
    CMAKE_ARGS -DCMAKE_TOOLCHAIN_FILE=${PROJECT_SOURCE_DIR}/toolchains/${target}.cmake -DCMAKE_BUILD_TYPE=Release
               -DTEMPER_SIZED_PACK=${CMAKE_CURRENT_BINARY_DIR}/sized_pack
    BUILD_ALWAYS ON
    INSTALL_COMMAND ""
    DEPENDS sized_pack)
  set(report ${CMAKE_COMMAND} -DSIZED_TARGET=${target})
  foreach(profile lookup tuner learning)
    add_test(NAME board_${target}_size_of_${profile}
      COMMAND ${report} -DPROFILE=${profile} -DMAP=${sizes_build}/${profile}.map
              -DLIMITS=${CMAKE_CURRENT_SOURCE_DIR}/size_limits.cmake -P ${CMAKE_CURRENT_SOURCE_DIR}/report_size.cmake)
  endforeach()
  add_test(NAME board_${target}_arena_at_32_knobs
    COMMAND ${report} -DFIRMWARE=${sizes_build}/arena_boot -DEMULATE=${sizes_build}/emulate
            -DLIMITS=${CMAKE_CURRENT_SOURCE_DIR}/size_limits.cmake -P ${CMAKE_CURRENT_SOURCE_DIR}/report_arena.cmake)
endforeach()
