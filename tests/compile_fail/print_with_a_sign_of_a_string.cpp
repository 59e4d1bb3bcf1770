// expect: sign_and_alternate_form_and_zeros_are_for_numbers
// errors: 1
#include <coracle/io/text_format.hpp>

std::string text() {
#ifdef CORACLE_CONTROL
    return coracle::io::format("{:+}", 1);
#else
    return coracle::io::format("{:+}", "a");
#endif
}
