// expect: a_number_in_braces_is_too_large
// errors: 1
#include <coracle/io/text_format.hpp>

std::string text() {
#ifdef CORACLE_CONTROL
    return coracle::io::format("{:2147483647}", 1);
#else
    return coracle::io::format("{:2147483648}", 1);
#endif
}
