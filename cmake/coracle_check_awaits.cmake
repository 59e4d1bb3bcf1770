# coracle_check_awaits(TARGET): checks the sources of a target of yours, whenever it is built, for a co_await
# beside &&, || or ?: in one statement. g++ 12 makes wrong code of it: a task that never resumes, or a use
# after free. Needs Python 3.

function(coracle_check_awaits target)
    if(NOT TARGET "${target}")
        message(FATAL_ERROR "coracle_check_awaits: there is no target ${target}")
    endif()
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
    # Beside this file where it is installed.
    set(script "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/check_awaits.py")
    if(NOT EXISTS "${script}")
        set(script "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../scripts/check_awaits.py")
    endif()
    # Evaluated when all sources of the target are known.
    set(sources "$<TARGET_PROPERTY:${target},SOURCES>;$<TARGET_PROPERTY:${target},HEADER_SET>")
    set(sources "$<FILTER:${sources},INCLUDE,[.](c|cc|cpp|cxx|h|hh|hpp|hxx|ipp)$>")
    get_target_property(folder "${target}" SOURCE_DIR)
    add_custom_target("${target}_check_awaits"
        COMMAND Python3::Interpreter "${script}" --quiet "${sources}"
        WORKING_DIRECTORY "${folder}" COMMAND_EXPAND_LISTS VERBATIM
        COMMENT "Checking the awaits of ${target}")
    add_dependencies("${target}" "${target}_check_awaits")
endfunction()
