# What can be chosen, and the settings that hold for the whole build.

option(BUILD_SHARED_LIBS "Build the library as a shared object" OFF)
option(CORACLE_STATIC_TOO "Beside the shared library, make and install a static one of the same objects" OFF)
option(CORACLE_WERROR "Treat warnings as errors" ${PROJECT_IS_TOP_LEVEL})
option(CORACLE_INSTALL "Generate the install rules" ${PROJECT_IS_TOP_LEVEL})
set(CORACLE_REDIS AUTO CACHE STRING
    "The component coracle::redis: ON, OFF, or AUTO for where hiredis is found")
set_property(CACHE CORACLE_REDIS PROPERTY STRINGS AUTO ON OFF)
option(CORACLE_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(CORACLE_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(CORACLE_BUILD_TOOLS "Build the command-line program" ${PROJECT_IS_TOP_LEVEL})
option(CORACLE_BUILD_BENCH "Build the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(CORACLE_BUILD_FUZZ "Build the fuzz targets as programs that replay their corpus"
       ${PROJECT_IS_TOP_LEVEL})
option(CORACLE_FUZZER "Build the fuzz targets with libFuzzer (needs clang)" OFF)
option(CORACLE_LTO "Link what is measured and installed across files (g++); the installed library holds ordinary objects" OFF)
# Linking each of the others anew would take minutes.
set(CORACLE_LTO_PROGRAMS coracle hello https coro_twin coracle_echo coracle_udp_echo parallel_get
    parallel_get_callback client_calls download downloads coracle_websocket redis_websocket mail_load
    CACHE STRING "The programs that CORACLE_LTO is about: what is measured, and what is installed")
set(CORACLE_TEST_STALL_LIMIT 500 CACHE STRING
    "A test fails when a loop is blocked in one system call for so many milliseconds")
option(CORACLE_PRECOMPILE "Precompile the headers that most files of the library include" OFF)
set(CORACLE_TEST_SHARDS 0 CACHE STRING
    "Processes that the tests of a program are spread over; 0 gives each test its own")
set(CORACLE_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize= (address,undefined or thread)")

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
# Sources have names of their own in unnamed namespaces; a project around this one may join its own.
set(CMAKE_UNITY_BUILD OFF)

if(PROJECT_IS_TOP_LEVEL)
    if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
        set(CMAKE_BUILD_TYPE RelWithDebInfo)
    endif()
    set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
    set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
    set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
    set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
    # An installed program finds an installed shared library beside it, wherever the tree is put.
    if(NOT DEFINED CMAKE_INSTALL_RPATH)
        if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_BINDIR}")
            set(CMAKE_INSTALL_RPATH "${CMAKE_INSTALL_FULL_LIBDIR}")
        else()
            cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR
                       BASE_DIRECTORY "${CMAKE_INSTALL_FULL_BINDIR}" OUTPUT_VARIABLE from_programs)
            set(CMAKE_INSTALL_RPATH "$ORIGIN/${from_programs}")
        endif()
    endif()

    include(compiler_cache)
endif()

if(CORACLE_SANITIZE)
    add_compile_options(-fsanitize=${CORACLE_SANITIZE} -fno-sanitize-recover=all
                        -fno-omit-frame-pointer)
    if(CORACLE_SANITIZE MATCHES "undefined")
        # It opens a pipe to look at memory, and so reports faults where descriptors have run out,
        # which is what some tests are about.
        add_compile_options(-fno-sanitize=vptr)
        add_link_options(-fno-sanitize=vptr)
    endif()
    add_link_options(-fsanitize=${CORACLE_SANITIZE} -fno-sanitize-recover=all)
endif()

# g++ links across files whenever it finds objects that allow it, unless it is told not to: 20 s for
# hello in place of 0.3.
function(coracle_link_plainly target)
    if(CORACLE_LTO)
        target_link_options(${target} PRIVATE -fno-lto)
    endif()
endfunction()
