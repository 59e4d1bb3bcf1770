// expect: there_are_more_arguments_than_braces
// errors: 1
#include <coracle/io/text_format.hpp>

std::string text() {
#ifdef CORACLE_CONTROL
    return coracle::io::format("{1} {0}", 1, 2);
#else
    return coracle::io::format("{1} {1}", 1, 2);
#endif
}
