// expect: a type that is printed has a to_text
#include <coracle/io/text_format.hpp>

struct point {
    int x;
};
#ifdef CORACLE_CONTROL
std::string to_text(const point& p) {
    return std::to_string(p.x);
}
#endif

std::string text_of(const point& p) {
    return coracle::io::format("{}", p);
}
