# coracle_set_warnings(target): what our own code must compile without, under g++ 12 and clang 19.

function(coracle_set_warnings target)
    target_compile_options(${target} PRIVATE
        -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
        # GCC bug 105329: std::string's operator+ warns about itself.
        target_compile_options(${target} PRIVATE -Wno-restrict)
        if(CORACLE_PRECOMPILE)
            # It no longer knows then that the header is the system's.
            target_compile_options(${target} PRIVATE -Wno-stringop-overflow -Wno-array-bounds)
        endif()
    endif()
    if(CORACLE_WERROR)
        target_compile_options(${target} PRIVATE -Werror)
    endif()
endfunction()

# g++ 12 takes `std::string(n, c) + "x"`, and the maps of nlohmann-json, for writes out of bounds.
function(coracle_forgive_array_bounds target)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
        target_compile_options(${target} PRIVATE -Wno-array-bounds)
    endif()
endfunction()
