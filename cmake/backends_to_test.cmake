# coracle_test_backends: the backends that this machine has.
# coracle_suites_that_touch_a_backend(result sources...): a GoogleTest filter of the suites in those
# of the sources that run a real loop; the others need not be run once for each backend.
# coracle_suites_without_a_backend(result sources...): a filter of the suites in those of the sources
# that run simulated loops only.

if(NOT DEFINED CORACLE_HAS_IO_URING)
    set(probe "${PROJECT_BINARY_DIR}/has_io_uring.c")
    file(WRITE "${probe}" "#include <liburing.h>
int main(void) {
    struct io_uring ring;
    return io_uring_queue_init(8, &ring, 0) == 0 ? 0 : 1;
}
")
    find_program(probe_compiler NAMES cc gcc clang clang-19 NO_CACHE)
    execute_process(COMMAND "${probe_compiler}" "${probe}" -o "${probe}.out" ${liburing_LDFLAGS}
                    RESULT_VARIABLE probe_failed OUTPUT_QUIET ERROR_QUIET)
    if(NOT probe_failed)
        execute_process(COMMAND "${probe}.out" RESULT_VARIABLE probe_failed OUTPUT_QUIET ERROR_QUIET)
    endif()
    if(probe_failed)
        message(STATUS "io_uring does not work here: its backend is not tested")
        set(CORACLE_HAS_IO_URING OFF CACHE BOOL "Whether io_uring works on this machine")
    else()
        set(CORACLE_HAS_IO_URING ON CACHE BOOL "Whether io_uring works on this machine")
    endif()
endif()

set(coracle_test_backends epoll poll)
if(CORACLE_HAS_IO_URING)
    list(PREPEND coracle_test_backends uring)
endif()

# The words of a source that runs a real loop, or may.
set(coracle_words_of_real_loops
    "block_on\\(|runtime_options|make_backend|support/(connected|mx_world|served)\\.hpp")

# Sets `result` to the filter of all suites in the sources.
function(coracle_suites_of result)
    set(suites "")
    foreach(source IN LISTS ARGN)
        file(STRINGS "${source}" tests REGEX "^TEST(_F|_P)?\\(")
        list(TRANSFORM tests REPLACE "^TEST[_FP]*\\(([A-Za-z0-9_]+).*" "\\1.*")
        list(APPEND suites ${tests})
    endforeach()
    list(REMOVE_DUPLICATES suites)
    list(JOIN suites ":" filter)
    set(${result} "${filter}" PARENT_SCOPE)
endfunction()

function(coracle_suites_that_touch_a_backend result)
    set(kept "")
    foreach(source IN LISTS ARGN)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
        file(STRINGS "${source}" touches REGEX "${coracle_words_of_real_loops}" LIMIT_COUNT 1)
        if(touches)
            list(APPEND kept "${source}")
        endif()
    endforeach()
    coracle_suites_of(filter ${kept})
    set(${result} "${filter}" PARENT_SCOPE)
endfunction()

function(coracle_suites_without_a_backend result)
    set(kept "")
    foreach(source IN LISTS ARGN)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
        file(STRINGS "${source}" simulates REGEX "simulat" LIMIT_COUNT 1)
        file(STRINGS "${source}" touches LIMIT_COUNT 1 REGEX
             "${coracle_words_of_real_loops}|on_each_backend|local_server|scripted_peer|http_peer|redis_server|runtime/(runtime|background)\\.hpp")
        if(simulates AND NOT touches)
            list(APPEND kept "${source}")
        endif()
    endforeach()
    coracle_suites_of(filter ${kept})
    set(${result} "${filter}" PARENT_SCOPE)
endfunction()
