// expect: must be callable when const: it serves several requests at a time
// errors: 1
#include <coracle/http/router.hpp>

#include <string>

void add(coracle::http::router& r) {
#ifdef CORACLE_CONTROL
    r.get("/", [n = 0](coracle::http::request&) { return std::to_string(n); });
#else
    r.get("/", [n = 0](coracle::http::request&) mutable { return std::to_string(++n); });
#endif
}
