// expect: a type that is printed has a to_text
#include <coracle/io/text_format.hpp>

std::string text() {
#ifdef CORACLE_CONTROL
    return coracle::io::format("{}", static_cast<const void*>(nullptr));
#else
    return coracle::io::format("{}", static_cast<const int*>(nullptr));
#endif
}
