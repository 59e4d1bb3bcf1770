# What BUILD_SHARED_LIBS changes: the library exports what its public headers declare, and nothing else; with
# CORACLE_STATIC_TOO there is an archive of the same objects, coracle::static.

if(NOT BUILD_SHARED_LIBS)
    return()
endif()

# Tests, benchmarks and fuzz targets call what is private: a build with them exports all.
if(NOT CORACLE_BUILD_TESTS AND NOT CORACLE_BUILD_BENCH AND NOT CORACLE_BUILD_FUZZ)
    # Each source begins with all public headers, seen with default visibility; what comes after them, from private
    # headers and sources, is hidden. So nothing needs a mark (CORACLE_EXPORT has the exceptions), and as a
    # precompiled header it costs no time.
    set_target_properties(coracle PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN OFF)
    set(exported "#pragma GCC visibility push(default)
#include <coracle/coracle.hpp>
#include <coracle/testing.hpp>
#pragma GCC visibility pop
")
    file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/exported.hpp" CONTENT "${exported}" @ONLY)
    if(CMAKE_DISABLE_PRECOMPILE_HEADERS)
        target_compile_options(coracle PRIVATE -include "${PROJECT_BINARY_DIR}/exported.hpp")
    else()
        target_precompile_headers(coracle PRIVATE "${PROJECT_BINARY_DIR}/exported.hpp")
    endif()
endif()

if(CORACLE_STATIC_TOO)
    add_library(coracle_static STATIC $<TARGET_OBJECTS:coracle>)
    add_library(coracle::static ALIAS coracle_static)
    set_target_properties(coracle_static PROPERTIES
        OUTPUT_NAME coracle EXPORT_NAME static LINKER_LANGUAGE CXX)
    target_compile_features(coracle_static PUBLIC cxx_std_23)
    target_compile_options(coracle_static
        INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-foptimize-sibling-calls>)
    target_include_directories(coracle_static INTERFACE
        "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
        "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
    target_link_libraries(coracle_static PUBLIC Threads::Threads)
    foreach(dependency IN LISTS coracle_dependencies)
        target_link_libraries(coracle_static PRIVATE ${${dependency}_LIBRARIES})
        target_link_directories(coracle_static PRIVATE ${${dependency}_LIBRARY_DIRS})
    endforeach()
endif()
