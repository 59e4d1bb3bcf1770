// expect: either_all_braces_have_numbers_or_none
// errors: 1
#include <coracle/io/text_format.hpp>

std::string text() {
#ifdef CORACLE_CONTROL
    return coracle::io::format("{0} {1:{0}}", 1, 2);
#else
    return coracle::io::format("{0} {1:{}}", 1, 2);
#endif
}
