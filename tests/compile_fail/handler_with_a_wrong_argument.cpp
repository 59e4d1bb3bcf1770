// expect: a parameter of an HTTP handler is an http::request&, or by value what http::from_request
// errors: 1
#include <coracle/http/extract.hpp>
#include <coracle/http/router.hpp>

void add(coracle::http::router& r) {
#ifdef CORACLE_CONTROL
    r.get("/", [](coracle::http::query<"n", int>) { return "hello"; });
#else
    r.get("/", [](int) { return "hello"; });
#endif
}
