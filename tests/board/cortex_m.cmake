# The Cortex-M boards; included by CMakeLists.txt where the tools are there.
add_firmware(cortex-m4 65536)
add_firmware(cortex-m7 65536)
add_firmware(cortex-m55 65536)
add_firmware(cortex-m7 65536 two-memories mps2-an500-psram 2)
find_program(ARM_OBJCOPY arm-none-eabi-objcopy)
foreach(target cortex-m4 cortex-m7 cortex-m55)
  if(NOT target STREQUAL cortex-m55)  # whose emulator lets a store to the planted bad address pass
    add_planted_firmware(${target} ${ARM_OBJCOPY} boot_board.cmake)
  endif()
  add_test(NAME board_${target}_boots_tunes_resets_and_remembers
    COMMAND ${CMAKE_COMMAND} -DBUILD=${CMAKE_CURRENT_BINARY_DIR}/${target} -DLIMITS=${CMAKE_CURRENT_SOURCE_DIR}/size_limits.cmake
            -P ${CMAKE_CURRENT_SOURCE_DIR}/boot_board.cmake)
  set_tests_properties(board_${target}_boots_tunes_resets_and_remembers PROPERTIES TIMEOUT 300)
  foreach(guard alarm watchdog)
    add_test(NAME board_${target}_${guard}_ends_a_boot
      COMMAND ${CMAKE_COMMAND} -DBUILD=${CMAKE_CURRENT_BINARY_DIR}/${target} -DGUARD=${guard}
              -P ${CMAKE_CURRENT_SOURCE_DIR}/boot_guard.cmake)
  endforeach()
endforeach()

add_executable(board_placements placements.cc)
target_link_libraries(board_placements PRIVATE temper_tools temper_warnings)
ExternalProject_Add_Step(firmware_of_two-memories every_config
  COMMAND ${CMAKE_COMMAND} --build ${CMAKE_CURRENT_BINARY_DIR}/two-memories --target every_config
  DEPENDEES build
  ALWAYS ON)
add_test(NAME board_with_two_memories_places_in_both
  COMMAND ${CMAKE_COMMAND} -DBUILD=${CMAKE_CURRENT_BINARY_DIR}/two-memories -DPLACEMENTS=$<TARGET_FILE:board_placements>
          -DSCRATCH=${CMAKE_CURRENT_BINARY_DIR}/two-memories-logs -P ${CMAKE_CURRENT_SOURCE_DIR}/boot_two_memories.cmake)
set_tests_properties(board_with_two_memories_places_in_both PROPERTIES TIMEOUT 600)

foreach(target cortex-m4 cortex-m7 cortex-m55)
  add_test(NAME board_${target}_ships_its_winners
    COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DBUILD=${CMAKE_CURRENT_BINARY_DIR}/${target} -DTARGET=${target}
            -DTEMPER=$<TARGET_FILE:temper> -DSCRATCH=${CMAKE_CURRENT_BINARY_DIR}/winners-${target}
            -P ${CMAKE_CURRENT_SOURCE_DIR}/boot_winners.cmake)
  set_tests_properties(board_${target}_ships_its_winners PROPERTIES TIMEOUT 600)
endforeach()

foreach(field clock driver)
  add_test(NAME board_cortex-m4_confirms_after_another_${field}
    COMMAND ${CMAKE_COMMAND} -DBUILD=${CMAKE_CURRENT_BINARY_DIR}/cortex-m4 -DFIELD=${field}
            -DCHANGE=$<IF:$<STREQUAL:${field},clock>,next-clock-percent=50,next-driver=7>
            -P ${CMAKE_CURRENT_SOURCE_DIR}/boot_refresh.cmake)
endforeach()

set(map ${CMAKE_CURRENT_BINARY_DIR}/cortex-m4/first_boot.map)
add_test(NAME board_size_report
  COMMAND ${CMAKE_COMMAND} -DMAP=${map} -DLIMITS=${CMAKE_CURRENT_SOURCE_DIR}/size_limits.cmake
          -P ${CMAKE_CURRENT_SOURCE_DIR}/report_size.cmake)
add_test(NAME board_size_report_notices_growth
  COMMAND ${CMAKE_COMMAND} -DMAP=${map} -DLIMITS=${CMAKE_CURRENT_SOURCE_DIR}/vices/size_limits.cmake
          -P ${CMAKE_CURRENT_SOURCE_DIR}/report_size.cmake)
set_tests_properties(board_size_report_notices_growth PROPERTIES
  PASS_REGULAR_EXPRESSION "core in flash is above its limit.*the firmware has grown")

set(check_symbols ${CMAKE_COMMAND} -DNM=${ARM_NM} -DREADELF=${ARM_READELF})
set(check_script -P ${CMAKE_CURRENT_SOURCE_DIR}/check_core_symbols.cmake)
add_test(NAME board_core_asks_for_nothing_forbidden
  COMMAND ${check_symbols} -DARCHIVE=${CMAKE_CURRENT_BINARY_DIR}/cortex-m4/temper/runtime/libtemper_runtime.a ${check_script})
# The check is checked: each vice must be noticed under its name.
ExternalProject_Add(vices
  SOURCE_DIR ${CMAKE_CURRENT_SOURCE_DIR}/vices
  BINARY_DIR ${CMAKE_CURRENT_BINARY_DIR}/vices
  PREFIX ${CMAKE_CURRENT_BINARY_DIR}/external/vices
  CMAKE_GENERATOR Ninja
  CMAKE_ARGS -DCMAKE_TOOLCHAIN_FILE=${PROJECT_SOURCE_DIR}/toolchains/cortex-m4.cmake -DCMAKE_BUILD_TYPE=Release
  BUILD_ALWAYS ON
  INSTALL_COMMAND "")
set(vices allocation exception rtti static_constructor float_library outside_symbol)
set(messages "allocation: _Znwj" "exception: __cxa_throw" "RTTI: _ZTI4Base" "static constructor: _GLOBAL__sub_I"
             "float library: __aeabi_d" "not on the list of outside symbols: puts")
foreach(vice message IN ZIP_LISTS vices messages)
  add_test(NAME board_check_notices_${vice}
    COMMAND ${check_symbols} -DARCHIVE=${CMAKE_CURRENT_BINARY_DIR}/vices/libvice_${vice}.a ${check_script})
  set_tests_properties(board_check_notices_${vice} PROPERTIES PASS_REGULAR_EXPRESSION "${message}")
endforeach()
