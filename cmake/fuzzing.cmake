# fuzz/fuzz_<name>.cpp is bin/fuzz_<name>: with libFuzzer where that was asked for, elsewhere a program
# that replays fuzz/corpus/fuzz_<name>/, so that what was found once is tried by every compiler.

if(NOT CORACLE_BUILD_FUZZ)
    return()
endif()
file(GLOB fuzz_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/fuzz/fuzz_*.cpp")
# All of them.
add_custom_target(fuzzers)
if(CORACLE_FUZZER)
    target_compile_options(coracle PRIVATE -fsanitize=fuzzer-no-link)
endif()
foreach(source IN LISTS fuzz_sources)
    cmake_path(GET source STEM target)
    add_executable(${target} ${source})
    add_dependencies(fuzzers ${target})
    coracle_set_warnings(${target})
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src"
                                                 "${PROJECT_SOURCE_DIR}/fuzz")
    target_link_libraries(${target} PRIVATE coracle::coracle)
    if(CORACLE_FUZZER)
        target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
        target_link_options(${target} PRIVATE -fsanitize=fuzzer)
        set(only_replay -runs=0)
    else()
        target_sources(${target} PRIVATE "${PROJECT_SOURCE_DIR}/fuzz/replay_main.cpp")
        set(only_replay)
    endif()
    if(CORACLE_BUILD_TESTS)
        add_test(NAME "replay.${target}"
                 COMMAND ${target} ${only_replay} "${PROJECT_SOURCE_DIR}/fuzz/corpus/${target}")
        set_tests_properties("replay.${target}" PROPERTIES TIMEOUT 120 LABELS fuzz)
    endif()
endforeach()
