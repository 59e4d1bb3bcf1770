// expect: a_brace_has_no_partner_or_should_be_doubled
// errors: 1
#include <coracle/io/text_format.hpp>

std::string text() {
#ifdef CORACLE_CONTROL
    return coracle::io::format("{:>5}}}", 1);
#else
    return coracle::io::format("{:>5}}", 1);
#endif
}
