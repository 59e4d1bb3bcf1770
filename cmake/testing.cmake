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

set(test_environment
    "CORACLE_TEST_BIN_DIR=${PROJECT_BINARY_DIR}/bin"
    "CORACLE_TEST_SOURCE_DIR=${PROJECT_SOURCE_DIR}")

# Code that several test programs share.
file(GLOB_RECURSE support_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/support/*.cpp")

# Defines the two directories for those sources that name them: the others are the same in every clone,
# so that ccache finds them again.
function(coracle_define_test_directories)
    foreach(source IN LISTS ARGN)
        file(STRINGS "${source}" names REGEX "CORACLE_TEST_(BIN|SOURCE)_DIR" LIMIT_COUNT 1)
        if(names)
            set_source_files_properties("${source}" PROPERTIES COMPILE_DEFINITIONS
                "CORACLE_TEST_BIN_DIR=\"${PROJECT_BINARY_DIR}/bin\";CORACLE_TEST_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\"")
        endif()
    endforeach()
endfunction()
coracle_define_test_directories(${support_sources})

# What touches the system runs once for each backend that this machine has; a program without a choice
# of its own takes CORACLE_BACKEND.
include(backends_to_test)

# A loop that is blocked in a system call fails a test; under a sanitizer it may just be slow.
set(stall_properties
    ENVIRONMENT_MODIFICATION "CORACLE_STALL_LIMIT=set:${CORACLE_TEST_STALL_LIMIT}"
    FAIL_REGULAR_EXPRESSION "is.blocked.in.system.call")

# coracle_run_gtests(target kind filter [backend]): the tests of a program that `filter` names. One
# process for each, or, where there is no time for as many, CORACLE_TEST_SHARDS processes for all.
# Backend "none" is none: a test that makes a real loop fails.
function(coracle_run_gtests target kind filter)
    set(prefix "${kind}.")
    set(list ${target}_tests)
    # One variable at most: a list would not survive gtest_discover_tests.
    set(environment "")
    if(ARGN)
        set(list ${target}_${ARGN}_tests)
        set(environment "CORACLE_BACKEND=${ARGN}")
    endif()
    if(ARGN AND NOT ARGN STREQUAL "none")
        string(APPEND prefix "${ARGN}.")
    elseif(ARGN)
        string(APPEND prefix "simulated.")
    endif()
    if(NOT CORACLE_TEST_SHARDS)
        gtest_discover_tests(${target}
            DISCOVERY_MODE PRE_TEST
            DISCOVERY_TIMEOUT 60
            TEST_FILTER "${filter}"
            TEST_PREFIX "${prefix}"
            TEST_LIST ${list}
            PROPERTIES TIMEOUT 120 LABELS ${kind} ENVIRONMENT "${environment}" ${stall_properties})
        return()
    endif()
    foreach(shard RANGE 1 ${CORACLE_TEST_SHARDS})
        math(EXPR index "${shard} - 1")
        set(test "${prefix}shard_${shard}_of_${CORACLE_TEST_SHARDS}")
        add_test(NAME "${test}" COMMAND ${target} --gtest_brief=1 "--gtest_filter=${filter}")
        set_tests_properties("${test}" PROPERTIES
            TIMEOUT 600 LABELS ${kind} ENVIRONMENT
            "${environment};GTEST_TOTAL_SHARDS=${CORACLE_TEST_SHARDS};GTEST_SHARD_INDEX=${index}")
        if(NOT CORACLE_SANITIZE)
            set_tests_properties("${test}" PROPERTIES ${stall_properties})
        endif()
    endforeach()
endfunction()

# Leaves those of the sources in which there is a second thread, and what they call: ThreadSanitizer sees
# nothing in others.
function(coracle_keep_sources_with_threads list)
    set(kept "")
    foreach(source IN LISTS ${list})
        file(STRINGS "${source}" threads LIMIT_COUNT 1 REGEX
             "failing_calls|std::j?thread|offload|background|launch\\(|blocking_|[^_a-z]post\\(|loops = |local_server|scripted_peer|own_thread|thread_pool|\\.wait\\(\\)")
        if(threads)
            list(APPEND kept "${source}")
        endif()
    endforeach()
    set(${list} "${kept}" PARENT_SCOPE)
endfunction()

foreach(kind unit wire integration hostile conformance)
    set(folder "${PROJECT_SOURCE_DIR}/tests/${kind}")
    file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS "${folder}/*_test.cpp")
    if(NOT TARGET coracle_redis)
        list(FILTER test_sources EXCLUDE REGEX "/redis/")
    endif()
    if(NOT nghttp2_FOUND)
        list(FILTER test_sources EXCLUDE REGEX "_nghttp2_test")
    endif()
    if(CORACLE_SANITIZE STREQUAL "thread")
        coracle_keep_sources_with_threads(test_sources)
    endif()
    if(test_sources)
        set(target coracle_${kind}_tests)
        add_executable(${target} ${test_sources} ${support_sources})
        coracle_set_warnings(${target})
        coracle_link_plainly(${target})
        target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src"
                                                     "${PROJECT_SOURCE_DIR}/tests")
        if(kind STREQUAL "unit")
            # The parts of the program that have tests of their own.
            file(GLOB tool_parts CONFIGURE_DEPENDS
                 "${PROJECT_SOURCE_DIR}/tools/coracle/bench/figures/*.cpp")
            foreach(part bench/lane bench/worker bench/target bench/response_reader explanation)
                list(APPEND tool_parts "${PROJECT_SOURCE_DIR}/tools/coracle/${part}.cpp")
            endforeach()
            # clang-tidy takes them as they are compiled here, and has no precompiled headers.
            set_source_files_properties(${tool_parts} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
            target_sources(${target} PRIVATE ${tool_parts})
            target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/tools/coracle")
        endif()
        coracle_define_test_directories(${test_sources})
        target_link_libraries(${target} PRIVATE coracle::coracle GTest::gmock)
        coracle_forgive_array_bounds(${target})
        if(TARGET coracle_redis)
            target_link_libraries(${target} PRIVATE coracle::redis)
        endif()
        if(nlohmann_json_FOUND)
            target_link_libraries(${target} PRIVATE nlohmann_json::nlohmann_json)
        endif()
        if(kind STREQUAL "wire")
            target_link_libraries(${target} PRIVATE ${nghttp2_LIBRARIES})
        endif()
        # The tests' own code is what takes the compiler longest, and nothing measures it.
        if((CORACLE_SANITIZE AND CMAKE_CXX_COMPILER_ID MATCHES "Clang") OR
           (CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CORACLE_SANITIZE))
            target_compile_options(${target} PRIVATE -O0)
        endif()
        # Saves 3 s of CPU for each source of a test, twice that under the sanitizers.
        target_precompile_headers(${target} PRIVATE <gtest/gtest.h> <coracle/http/server.hpp>
                                                    <coracle/runtime/with_timeout.hpp>
                                                    <coracle/runtime/when_all.hpp>)
        if(kind MATCHES "integration|hostile")
            # Some go through the backends by themselves.
            set(by_themselves "*each_backend/*:backend_choice.*:failing_calls.*")
            coracle_run_gtests(${target} ${kind} "${by_themselves}")
            set(for_each_backend "-${by_themselves}")
            coracle_suites_without_a_backend(simulated ${test_sources})
            if(simulated)
                coracle_run_gtests(${target} ${kind} "${simulated}-${by_themselves}" none)
                string(APPEND for_each_backend ":${simulated}")
            endif()
        elseif(kind STREQUAL "unit")
            coracle_suites_that_touch_a_backend(for_each_backend ${test_sources})
            coracle_run_gtests(${target} ${kind} "-${for_each_backend}")
        else()
            coracle_run_gtests(${target} ${kind} "*")
        endif()
        if(kind MATCHES "unit|integration|hostile")
            foreach(backend IN LISTS coracle_test_backends)
                coracle_run_gtests(${target} ${kind} "${for_each_backend}" ${backend})
            endforeach()
        endif()
    endif()

    # Tests that are driven from outside: tests/<kind>/<name>_test.py.
    file(GLOB_RECURSE script_tests CONFIGURE_DEPENDS "${folder}/*_test.py")
    set(backends ${coracle_test_backends})
    if(NOT kind STREQUAL "hostile")
        # The loop of poll is that of epoll but for one call, which the tests in C++ go through.
        list(REMOVE_ITEM backends poll)
    endif()
    foreach(script IN LISTS script_tests)
        cmake_path(GET script STEM name)
        # One that says so in its first lines runs nothing of ours.
        file(STRINGS "${script}" none_of_ours REGEX "^# backends: none" LIMIT_COUNT 1)
        if(none_of_ours)
            add_test(NAME "${kind}.${name}" COMMAND Python3::Interpreter "${script}")
            set_tests_properties("${kind}.${name}" PROPERTIES
                TIMEOUT 300 LABELS ${kind} SKIP_RETURN_CODE 77 ENVIRONMENT "${test_environment}")
            continue()
        endif()
        foreach(backend IN LISTS backends)
            set(test "${kind}.${backend}.${name}")
            add_test(NAME "${test}" COMMAND Python3::Interpreter "${script}")
            set_tests_properties("${test}" PROPERTIES
                TIMEOUT 300 LABELS ${kind} SKIP_RETURN_CODE 77
                ENVIRONMENT "${test_environment};CORACLE_BACKEND=${backend}")
        endforeach()
    endforeach()
endforeach()

# What tests/soak drives; scripts/check_long.sh runs that.
add_executable(soak_relay "${PROJECT_SOURCE_DIR}/tests/soak/relay.cpp")
coracle_set_warnings(soak_relay)
coracle_link_plainly(soak_relay)
target_link_libraries(soak_relay PRIVATE coracle::coracle)

# The server of tests/conformance and tests/integration/peers that speaks HTTP/2.
add_executable(h2_target "${PROJECT_SOURCE_DIR}/tests/conformance/h2_target.cpp")
coracle_set_warnings(h2_target)
coracle_link_plainly(h2_target)
target_link_libraries(h2_target PRIVATE coracle::coracle)
# The benchmarks load it too.
add_dependencies(coracle_programs h2_target)

# What our parser finds in a mail, for comparing it with others.
add_executable(mail_structure "${PROJECT_SOURCE_DIR}/tests/conformance/mail_structure.cpp")
coracle_set_warnings(mail_structure)
coracle_link_plainly(mail_structure)
target_link_libraries(mail_structure PRIVATE coracle::coracle)

# The client that WebSocket servers of others are set on.
add_executable(websocket_client "${PROJECT_SOURCE_DIR}/tests/conformance/websocket_client.cpp")
coracle_set_warnings(websocket_client)
coracle_link_plainly(websocket_client)
target_link_libraries(websocket_client PRIVATE coracle::coracle)

# What scripts/check_cost.py counts, beside hello and parallel_get.
add_executable(cost_routing "${PROJECT_SOURCE_DIR}/tests/cost/routing.cpp")
coracle_set_warnings(cost_routing)
coracle_link_plainly(cost_routing)
target_include_directories(cost_routing PRIVATE "${PROJECT_SOURCE_DIR}/src"
                                                "${PROJECT_SOURCE_DIR}/bench")
target_link_libraries(cost_routing PRIVATE coracle::coracle)

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
    add_test(NAME lint.words COMMAND Python3::Interpreter "${scripts}/check_words.py")
    add_test(NAME lint.umbrellas COMMAND Python3::Interpreter "${scripts}/check_umbrellas.py")
    add_test(NAME lint.limits COMMAND Python3::Interpreter "${scripts}/check_limits.py")
    add_test(NAME lint.docs COMMAND Python3::Interpreter "${scripts}/check_docs.py"
                                    --compiler "${CMAKE_CXX_COMPILER}")
    add_test(NAME lint.listed COMMAND Python3::Interpreter "${scripts}/check_listed.py"
                                      "${PROJECT_BINARY_DIR}")
    add_test(NAME lint.checks_find_faults
             COMMAND Python3::Interpreter "${scripts}/test_checks.py")
    set_tests_properties(lint.layers lint.sources_of_time lint.headers lint.docs lint.awaits lint.limits
                         lint.listed lint.operations lint.umbrellas lint.words lint.checks_find_faults
                         PROPERTIES TIMEOUT 900 LABELS lint)

    if(CORACLE_INSTALL)
        add_test(NAME install.consumers
                 COMMAND "${PROJECT_SOURCE_DIR}/tests/install/run.sh" "${PROJECT_BINARY_DIR}"
                         "${CMAKE_CXX_COMPILER}")
        set_tests_properties(install.consumers PROPERTIES TIMEOUT 900 LABELS install)
        # What a sanitizer needs is not said by coracle.pc.
        if(NOT CORACLE_SANITIZE)
            add_test(NAME install.levels
                     COMMAND "${PROJECT_SOURCE_DIR}/tests/install/levels.sh" "${PROJECT_BINARY_DIR}"
                             "${CMAKE_CXX_COMPILER}")
            set_tests_properties(install.levels PROPERTIES TIMEOUT 900 LABELS install)
            # Clang calls in tail position at -O0 too; what it makes of our headers is its own.
            find_program(coracle_other_compiler NAMES clang++-19 clang++)
            if(coracle_other_compiler)
                add_test(NAME install.levels_of_clang
                         COMMAND "${PROJECT_SOURCE_DIR}/tests/install/levels.sh"
                                 "${PROJECT_BINARY_DIR}" "${coracle_other_compiler}")
                set_tests_properties(install.levels_of_clang PROPERTIES TIMEOUT 900 LABELS install)
            endif()
        endif()
    endif()
endif()
