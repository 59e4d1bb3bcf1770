// expect: a_precision_is_for_strings_and_floating_point
// errors: 1
#include <coracle/io/text_format.hpp>

std::string text() {
#ifdef CORACLE_CONTROL
    return coracle::io::format("{:.3}", 1.5);
#else
    return coracle::io::format("{:.3}", 1);
#endif
}
