# Headers, library, program, coracleConfig.cmake and coracle.pc. All paths are relative to where the
# files lie, so `cmake --install --prefix` and a moved tree both work.

include(CMakePackageConfigHelpers)

install(TARGETS coracle EXPORT coracleTargets
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
if(TARGET coracle_static)
    install(TARGETS coracle_static EXPORT coracleTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
if(CORACLE_LTO AND (NOT BUILD_SHARED_LIBS OR TARGET coracle_static))
    # What would make every link of a program that uses the library one across files, unasked.
    set(archive "${CMAKE_INSTALL_LIBDIR}/libcoracle.a")
    if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
        string(PREPEND archive "\${CMAKE_INSTALL_PREFIX}/")
    endif()
    install(CODE "execute_process(COMMAND \"${CMAKE_OBJCOPY}\" --wildcard -R .gnu.lto_* -R .gnu.debuglto_*
        \"\$ENV{DESTDIR}${archive}\" COMMAND_ERROR_IS_FATAL ANY)")
endif()
if(TARGET coracle_redis)
    install(TARGETS coracle_redis EXPORT coracleRedisTargets
            ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
            LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
            FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
endif()
if(TARGET coracle_tool)
    install(TARGETS coracle_tool RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
    if(TARGET coracle_texts)
        install(FILES "${coracle_texts}/coracle"
                DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
        # Debian's zsh finds completions of packages in vendor-completions, local ones in site-functions.
        set(zsh_folder site-functions)
        if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
            set(zsh_folder vendor-completions)
        endif()
        install(FILES "${coracle_texts}/_coracle" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/${zsh_folder}")
        install(FILES "${coracle_texts}/coracle.fish"
                DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
        install(DIRECTORY "${coracle_texts}/man/" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1"
                FILES_MATCHING PATTERN "*.1")
    endif()
endif()

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/coracle")
set(coracle_find_dependencies "")
foreach(package IN LISTS coracle_requires)
    string(APPEND coracle_find_dependencies "find_dependency(${package})\n")
endforeach()
# "library:package" of each library that a link against the static library names.
set(coracle_link_libraries "")
if(NOT BUILD_SHARED_LIBS)
    foreach(dependency package IN ZIP_LISTS coracle_dependencies coracle_packages)
        foreach(library IN LISTS ${dependency}_LIBRARIES)
            list(APPEND coracle_link_libraries "${library}:${package}")
        endforeach()
    endforeach()
endif()
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/coracleConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/coracleConfig.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/coracleConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
install(EXPORT coracleTargets NAMESPACE coracle:: DESTINATION "${package_dir}")
if(TARGET coracle_redis)
    install(EXPORT coracleRedisTargets NAMESPACE coracle:: DESTINATION "${package_dir}")
endif()
install(FILES "${PROJECT_BINARY_DIR}/coracleConfig.cmake"
              "${PROJECT_BINARY_DIR}/coracleConfigVersion.cmake" DESTINATION "${package_dir}")

# The check of awaits, for the targets of whoever uses the library.
install(FILES "${PROJECT_SOURCE_DIR}/cmake/coracle_check_awaits.cmake" DESTINATION "${package_dir}")
install(PROGRAMS "${PROJECT_SOURCE_DIR}/scripts/check_awaits.py" DESTINATION "${package_dir}")

set(pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}"
           OUTPUT_VARIABLE pc_libdir)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_INCLUDEDIR BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}"
           OUTPUT_VARIABLE pc_includedir)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY
           "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" OUTPUT_VARIABLE pc_prefix)
# Who links a static library links what it needs too; a shared one brings it.
set(pc_private_key "")
set(pc_libs "-L\${libdir} -lcoracle")
set(pc_redis_libs "-L\${libdir} -lcoracle-redis")
if(BUILD_SHARED_LIBS)
    set(pc_private_key ".private")
    set(pc_libs_private "${coracle_pc_libs}")
else()
    string(APPEND pc_libs " ${coracle_pc_libs}")
    set(pc_libs_private "")
endif()
configure_file("${PROJECT_SOURCE_DIR}/cmake/coracle.pc.in" "${PROJECT_BINARY_DIR}/coracle.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/coracle.pc" DESTINATION "${pc_dir}")
if(TARGET coracle_redis)
    configure_file("${PROJECT_SOURCE_DIR}/cmake/coracle-redis.pc.in"
                   "${PROJECT_BINARY_DIR}/coracle-redis.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/coracle-redis.pc" DESTINATION "${pc_dir}")
endif()
