# What `cmake --install build --prefix P` puts where: the programs, the two libraries as redoubt::client and
# redoubt::replica, the service units, and example configurations.
include(CMakePackageConfigHelpers)

install(TARGETS redoubt redoubt-broker redoubt_replica_program DESTINATION ${CMAKE_INSTALL_BINDIR})

# The libraries and those that they stand on, which nobody should name.
set_target_properties(redoubt_client PROPERTIES EXPORT_NAME client)
set_target_properties(redoubt_replica PROPERTIES EXPORT_NAME replica)
install(TARGETS redoubt_client redoubt_replica redoubt_core redoubt_wire redoubt_net redoubt_options
        EXPORT redoubt DESTINATION ${CMAKE_INSTALL_LIBDIR} INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/redoubt)
install(EXPORT redoubt NAMESPACE redoubt:: FILE redoubt-targets.cmake DESTINATION ${package})
configure_package_config_file(cmake/redoubt-config.cmake.in ${PROJECT_BINARY_DIR}/redoubt-config.cmake
                              INSTALL_DESTINATION ${package} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/redoubt-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/redoubt-config.cmake ${PROJECT_BINARY_DIR}/redoubt-config-version.cmake
        DESTINATION ${package})

install(FILES deploy/redoubt-broker.service deploy/redoubt-replica@.service DESTINATION lib/systemd/system)
install(FILES deploy/broker.toml deploy/replica.toml DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
