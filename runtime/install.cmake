# Installs the device core: public headers, libraries, and the package that find_package(temper) reads.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(installed temper_runtime)
set(TEMPER_HAS_PORT_LINUX OFF)
set_target_properties(temper_runtime PROPERTIES EXPORT_NAME runtime)
if(TARGET temper_port_linux)
  list(APPEND installed temper_port_linux)
  set(TEMPER_HAS_PORT_LINUX ON)
  set_target_properties(temper_port_linux PROPERTIES EXPORT_NAME port_linux)
endif()

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/temper)
install(TARGETS ${installed} EXPORT temper ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/include/temper DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT temper NAMESPACE temper:: FILE temperTargets.cmake DESTINATION ${package_folder})
configure_package_config_file(temperConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/temperConfig.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/temperConfigVersion.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/temperConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/temperConfigVersion.cmake
  DESTINATION ${package_folder})

# What an installed `temper build` cross-compiles: the core's sources, the firmware project, toolchain files and boards.
if(TEMPER_HOST)
  install(FILES ${PROJECT_SOURCE_DIR}/CMakeLists.txt DESTINATION share/temper)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime ${PROJECT_SOURCE_DIR}/toolchains DESTINATION share/temper USE_SOURCE_PERMISSIONS)
endif()
