// expect: a_point_in_braces_wants_a_precision
// errors: 1
#include <coracle/io/text_format.hpp>

std::string text() {
#ifdef CORACLE_CONTROL
    return coracle::io::format("{:.0f}", 1.0);
#else
    return coracle::io::format("{:.f}", 1.0);
#endif
}
