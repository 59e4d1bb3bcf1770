// expect: a_width_or_precision_is_an_integer
// errors: 1
#include <coracle/io/text_format.hpp>

std::string text() {
#ifdef CORACLE_CONTROL
    return coracle::io::format("{:{}}", 1, 5);
#else
    return coracle::io::format("{:{}}", 1, true);
#endif
}
