# One GoogleTest program for each folder of tests, and the checks that ctest runs as well.

if(NOT CORACLE_BUILD_TESTS)
    return()
endif()
enable_testing()
find_package(GTest CONFIG QUIET)
find_package(Python3 COMPONENTS Interpreter QUIET)
if(NOT TARGET GTest::gmock OR NOT Python3_FOUND)
    # A build without them is good for `make run`; a test run without them must not look green.
    message(STATUS "GoogleTest or Python 3 not found: no tests (`make setup` installs them)")
    add_test(NAME tests_were_not_built COMMAND "${CMAKE_COMMAND}" -E false)
    return()
endif()
include(GoogleTest)

set(test_definitions
    CORACLE_TEST_BIN_DIR="${PROJECT_BINARY_DIR}/bin"
    CORACLE_TEST_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
set(test_environment
    "CORACLE_TEST_BIN_DIR=${PROJECT_BINARY_DIR}/bin"
    "CORACLE_TEST_SOURCE_DIR=${PROJECT_SOURCE_DIR}")

# Code that several test programs share.
file(GLOB_RECURSE support_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/support/*.cpp")

# What touches the system runs once for each backend that this machine has; a program without a choice
# of its own takes CORACLE_BACKEND.
include(backends_to_test)

# coracle_run_gtests(target kind filter [backend]): the tests of a program that `filter` names. One
# process for each, or, where a process takes long to begin, CORACLE_TEST_SHARDS processes for all.
function(coracle_run_gtests target kind filter)
    set(prefix "${kind}.")
    set(list ${target}_tests)
    # One variable at most: a list would not survive gtest_discover_tests.
    set(environment "")
    if(ARGN)
        string(APPEND prefix "${ARGN}.")
        set(list ${target}_${ARGN}_tests)
        set(environment "CORACLE_BACKEND=${ARGN}")
    endif()
    if(NOT CORACLE_TEST_SHARDS)
        gtest_discover_tests(${target}
            DISCOVERY_MODE PRE_TEST
            DISCOVERY_TIMEOUT 60
            TEST_FILTER "${filter}"
            TEST_PREFIX "${prefix}"
            TEST_LIST ${list}
            PROPERTIES TIMEOUT 120 LABELS ${kind} ENVIRONMENT "${environment}"
                       ENVIRONMENT_MODIFICATION "CORACLE_STALL_LIMIT=set:${CORACLE_TEST_STALL_LIMIT}"
                       FAIL_REGULAR_EXPRESSION "is.blocked.in.system.call")
        return()
    endif()
    foreach(shard RANGE 1 ${CORACLE_TEST_SHARDS})
        math(EXPR index "${shard} - 1")
        set(test "${prefix}shard_${shard}_of_${CORACLE_TEST_SHARDS}")
        add_test(NAME "${test}" COMMAND ${target} --gtest_brief=1 "--gtest_filter=${filter}")
        set_tests_properties("${test}" PROPERTIES
            TIMEOUT 600 LABELS ${kind} ENVIRONMENT
            "${environment};GTEST_TOTAL_SHARDS=${CORACLE_TEST_SHARDS};GTEST_SHARD_INDEX=${index}")
    endforeach()
endfunction()

foreach(kind unit wire integration hostile conformance)
    set(folder "${PROJECT_SOURCE_DIR}/tests/${kind}")
    file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS "${folder}/*_test.cpp")
    if(test_sources)
        set(target coracle_${kind}_tests)
        add_executable(${target} ${test_sources} ${support_sources})
        coracle_set_warnings(${target})
        coracle_link_plainly(${target})
        target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src"
                                                     "${PROJECT_SOURCE_DIR}/tests")
        target_compile_definitions(${target} PRIVATE ${test_definitions})
        target_link_libraries(${target} PRIVATE coracle::coracle GTest::gmock)
        coracle_forgive_array_bounds(${target})
        if(nlohmann_json_FOUND)
            target_link_libraries(${target} PRIVATE nlohmann_json::nlohmann_json)
        endif()
        # The tests' own code is what takes the compiler longest, and nothing measures it. (Without
        # -O1, g++ leaves the awaits of a loop on the stack.)
        if(CORACLE_SANITIZE AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
            target_compile_options(${target} PRIVATE -O0)
        elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CORACLE_SANITIZE)
            target_compile_options(${target} PRIVATE -O1 -foptimize-sibling-calls)
        endif()
        # Saves 3 s of CPU for each source of a test, twice that under the sanitizers.
        target_precompile_headers(${target} PRIVATE <gtest/gtest.h> <coracle/http/server.hpp>
                                                    <coracle/runtime/with_timeout.hpp>
                                                    <coracle/runtime/when_all.hpp>)
        if(kind MATCHES "integration|hostile")
            # Some go through the backends by themselves.
            set(by_themselves "*each_backend/*:backend_choice.*:failing_calls.*")
            if(kind STREQUAL "integration")
                coracle_run_gtests(${target} ${kind} "${by_themselves}")
            endif()
            set(for_each_backend "-${by_themselves}")
        else()
            coracle_run_gtests(${target} ${kind} "*")
        endif()
        if(kind STREQUAL "unit")
            coracle_suites_that_touch_a_backend(for_each_backend ${test_sources})
        endif()
        if(kind MATCHES "unit|integration|hostile")
            foreach(backend IN LISTS coracle_test_backends)
                coracle_run_gtests(${target} ${kind} "${for_each_backend}" ${backend})
            endforeach()
        endif()
    endif()

    # Tests that are driven from outside: tests/<kind>/<name>_test.py.
    file(GLOB_RECURSE script_tests CONFIGURE_DEPENDS "${folder}/*_test.py")
    foreach(script IN LISTS script_tests)
        cmake_path(GET script STEM name)
        foreach(backend IN LISTS coracle_test_backends)
            set(test "${kind}.${backend}.${name}")
            add_test(NAME "${test}" COMMAND Python3::Interpreter "${script}")
            set_tests_properties("${test}" PROPERTIES
                TIMEOUT 300 LABELS ${kind} SKIP_RETURN_CODE 77
                ENVIRONMENT "${test_environment};CORACLE_BACKEND=${backend}")
        endforeach()
    endforeach()
endforeach()

# tests/compile_fail: code that the compiler must refuse, with the words that it must say.
file(GLOB compile_fail_cases CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/compile_fail/*.cpp")
foreach(case IN LISTS compile_fail_cases)
    cmake_path(GET case STEM name)
    add_test(NAME "compile_fail.${name}"
             COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/compile_fail/run_case.py"
                     "${case}" "${CMAKE_CXX_COMPILER}" -std=c++23
                     "-I${PROJECT_SOURCE_DIR}/include" "-I${PROJECT_SOURCE_DIR}/src")
    set_tests_properties("compile_fail.${name}" PROPERTIES
        TIMEOUT 120 LABELS compile_fail SKIP_RETURN_CODE 77)
endforeach()

# The checks that read the sources take no notice of how they were built: once is enough.
if(NOT CORACLE_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(scripts "${PROJECT_SOURCE_DIR}/scripts")
    add_test(NAME lint.layers COMMAND Python3::Interpreter "${scripts}/check_layers.py")
    add_test(NAME lint.sources_of_time
             COMMAND Python3::Interpreter "${scripts}/check_sources_of_time.py")
    # clang reads a header in a third of the time.
    find_program(CORACLE_HEADER_COMPILER NAMES clang++-19 "${CMAKE_CXX_COMPILER}")
    mark_as_advanced(CORACLE_HEADER_COMPILER)
    add_test(NAME lint.headers COMMAND Python3::Interpreter "${scripts}/check_headers.py"
                                       --compiler "${CORACLE_HEADER_COMPILER}")
    add_test(NAME lint.awaits COMMAND Python3::Interpreter "${scripts}/check_awaits.py")
    add_test(NAME lint.operations COMMAND Python3::Interpreter "${scripts}/check_operations.py")
    add_test(NAME lint.limits COMMAND Python3::Interpreter "${scripts}/check_limits.py")
    add_test(NAME lint.docs COMMAND Python3::Interpreter "${scripts}/check_docs.py"
                                    --compiler "${CMAKE_CXX_COMPILER}")
    add_test(NAME lint.checks_find_faults
             COMMAND Python3::Interpreter "${scripts}/test_checks.py")
    set_tests_properties(lint.layers lint.sources_of_time lint.headers lint.docs lint.awaits lint.limits
                         lint.operations lint.checks_find_faults PROPERTIES TIMEOUT 900 LABELS lint)

    if(CORACLE_INSTALL)
        add_test(NAME install.consumers
                 COMMAND "${PROJECT_SOURCE_DIR}/tests/install/run.sh" "${PROJECT_BINARY_DIR}"
                         "${CMAKE_CXX_COMPILER}")
        set_tests_properties(install.consumers PROPERTIES TIMEOUT 900 LABELS install)
    endif()
endif()
