# The version stands twice, here for packages and in a public header for programs: they must agree.

set(version_header "${PROJECT_SOURCE_DIR}/include/coracle/base/version.hpp")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${version_header}")
file(STRINGS "${version_header}" version_lines REGEX "version_(major|minor|patch) = [0-9]+")
foreach(part major minor patch)
    string(REGEX MATCH "version_${part} = ([0-9]+)" _ "${version_lines}")
    set(version_${part} "${CMAKE_MATCH_1}")
endforeach()
if(NOT "${version_major}.${version_minor}.${version_patch}" STREQUAL "${PROJECT_VERSION}")
    message(FATAL_ERROR "CMakeLists.txt says ${PROJECT_VERSION}, but version.hpp says "
                        "${version_major}.${version_minor}.${version_patch}")
endif()
