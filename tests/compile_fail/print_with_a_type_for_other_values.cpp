// expect: this_type_of_format_does_not_suit_the_value
// errors: 1
#include <coracle/io/text_format.hpp>

std::string text() {
#ifdef CORACLE_CONTROL
    return coracle::io::format("{:x} {:s}", 1, "a");
#else
    return coracle::io::format("{:x} {:s}", 1.5, "a");
#endif
}
