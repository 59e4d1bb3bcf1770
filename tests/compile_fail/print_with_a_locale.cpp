// expect: a_locale_is_for_numbers_and_bool
// errors: 1
#include <coracle/io/text_format.hpp>

std::string text() {
#ifdef CORACLE_CONTROL
    return coracle::io::format("{:Ld}", 1);
#else
    return coracle::io::format("{:L}", "a");
#endif
}
