// expect: this_is_no_format_or_has_the_wrong_order
// errors: 1
#include <coracle/io/text_format.hpp>

std::string text() {
#ifdef CORACLE_CONTROL
    return coracle::io::format("{:+#06x}", 1);
#else
    return coracle::io::format("{:06#x}", 1);
#endif
}
