# Installs the library, the LLVM module beside it, the public headers, and what find_package(apsis) reads.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(apsis_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/apsis)
install(TARGETS apsis EXPORT apsis_targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET apsis_llvm)
  install(TARGETS apsis_llvm LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY include/apsis DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
install(EXPORT apsis_targets NAMESPACE apsis:: DESTINATION ${apsis_package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/apsisConfigVersion.cmake COMPATIBILITY SameMinorVersion)
configure_package_config_file(cmake/apsisConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/apsisConfig.cmake
                              INSTALL_DESTINATION ${apsis_package_dir})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/apsisConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/apsisConfigVersion.cmake
        DESTINATION ${apsis_package_dir})
