# coracle::redis, in include/coracle/redis and src/redis: a library of its own, so that the other needs no
# hiredis. It is there where hiredis is.

if(NOT CORACLE_REDIS)
    return()
endif()
pkg_check_modules(hiredis QUIET hiredis>=0.14)
if(NOT hiredis_FOUND)
    if(CORACLE_REDIS STREQUAL "AUTO")
        message(STATUS "hiredis not found: the component redis is left out")
        return()
    endif()
    message(FATAL_ERROR "CORACLE_REDIS is ${CORACLE_REDIS}, and hiredis is not here (Debian: libhiredis-dev)")
endif()

# Headers are included as <hiredis/read.h>; Debian's hiredis.pc names the folder hiredis/ itself.
set(hiredis_above "")
foreach(folder IN LISTS hiredis_INCLUDE_DIRS)
    cmake_path(GET folder PARENT_PATH above)
    list(APPEND hiredis_above "${folder}" "${above}")
endforeach()
find_path(CORACLE_HIREDIS_INCLUDE hiredis/read.h HINTS ${hiredis_above} REQUIRED)
mark_as_advanced(CORACLE_HIREDIS_INCLUDE)

file(GLOB_RECURSE coracle_redis_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/redis/*.cpp")
file(GLOB_RECURSE coracle_redis_headers CONFIGURE_DEPENDS
     "${PROJECT_SOURCE_DIR}/include/coracle/redis/*.hpp")
add_library(coracle_redis ${coracle_redis_sources})
add_library(coracle::redis ALIAS coracle_redis)
target_sources(coracle_redis PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include"
                                    FILES ${coracle_redis_headers})
target_include_directories(coracle_redis PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_include_directories(coracle_redis SYSTEM PRIVATE "${CORACLE_HIREDIS_INCLUDE}")
target_link_libraries(coracle_redis PUBLIC coracle PRIVATE ${hiredis_LIBRARIES})
target_link_directories(coracle_redis PRIVATE ${hiredis_LIBRARY_DIRS})
set_target_properties(coracle_redis PROPERTIES
    OUTPUT_NAME coracle-redis
    EXPORT_NAME redis
    # Also where the project around this one hides what it does not mark.
    CXX_VISIBILITY_PRESET default
    VISIBILITY_INLINES_HIDDEN OFF
    VERSION ${PROJECT_VERSION}
    SOVERSION ${coracle_abi}
    POSITION_INDEPENDENT_CODE ON)
target_compile_options(coracle_redis PRIVATE $<$<CONFIG:RelWithDebInfo,Release>:-O2>)
coracle_set_warnings(coracle_redis)
if(BUILD_SHARED_LIBS AND NOT CORACLE_SANITIZE)
    # What it calls of the library has to be exported there.
    target_link_options(coracle_redis PRIVATE -Wl,--no-undefined)
endif()
