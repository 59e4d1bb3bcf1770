# The completion and the manual pages of the program, which it writes itself, from what it parses.

if(CMAKE_CROSSCOMPILING)
    return()
endif()
set(coracle_texts "${PROJECT_BINARY_DIR}/texts")
file(MAKE_DIRECTORY "${coracle_texts}/man")
add_custom_command(
    OUTPUT "${coracle_texts}/coracle" "${coracle_texts}/_coracle" "${coracle_texts}/coracle.fish"
    COMMAND coracle_tool completion bash > "${coracle_texts}/coracle"
    COMMAND coracle_tool completion zsh > "${coracle_texts}/_coracle"
    COMMAND coracle_tool completion fish > "${coracle_texts}/coracle.fish"
    COMMAND coracle_tool manual "${coracle_texts}/man"
    DEPENDS coracle_tool
    COMMENT "Writing completions and manual pages" VERBATIM)
add_custom_target(coracle_texts ALL DEPENDS "${coracle_texts}/coracle" "${coracle_texts}/_coracle"
                                            "${coracle_texts}/coracle.fish")
