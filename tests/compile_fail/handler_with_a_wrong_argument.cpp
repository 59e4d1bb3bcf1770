// expect: an HTTP handler is called with one http::request&
#include <coracle/http/router.hpp>

void add(coracle::http::router& r) {
#ifdef CORACLE_CONTROL
    r.get("/", [](coracle::http::request&) { return "hello"; });
#else
    r.get("/", [](int) { return "hello"; });
#endif
}
