# An overlay port for the tree that it lies in: `vcpkg install coracle --overlay-ports=packaging/vcpkg`. A
# registry takes the sources of a release instead (vcpkg_from_git).
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

set(redis OFF)
if("redis" IN_LIST FEATURES)
    set(redis ON)
endif()
# Static libraries need those below them, which only --static lists.
set(pkg_config_arguments "")
if(VCPKG_LIBRARY_LINKAGE STREQUAL "static")
    set(pkg_config_arguments "-DPKG_CONFIG_ARGN=--static")
endif()

vcpkg_find_acquire_program(PKGCONFIG)
vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        "-DPKG_CONFIG_EXECUTABLE=${PKGCONFIG}"
        ${pkg_config_arguments}
        -DCORACLE_INSTALL=ON
        -DCORACLE_REDIS=${redis}
        -DCORACLE_WERROR=OFF
        -DCORACLE_BUILD_TESTS=OFF
        -DCORACLE_BUILD_EXAMPLES=OFF
        -DCORACLE_BUILD_TOOLS=OFF
        -DCORACLE_BUILD_BENCH=OFF
        -DCORACLE_BUILD_FUZZ=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME coracle CONFIG_PATH lib/cmake/coracle)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
