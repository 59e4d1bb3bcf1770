// expect: an HTTP handler returns an http::response, something that one can be made of
// errors: 1
#include <coracle/http/router.hpp>

struct unknown {};

void add(coracle::http::router& r) {
#ifdef CORACLE_CONTROL
    r.get("/", [](coracle::http::request&) { return coracle::http::status::no_content; });
#else
    r.get("/", [](coracle::http::request&) { return unknown(); });
#endif
}
