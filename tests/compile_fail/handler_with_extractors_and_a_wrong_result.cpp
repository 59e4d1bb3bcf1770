// expect: an HTTP handler returns an http::response, something that one can be made of
// errors: 1
#include <coracle/http/extract.hpp>
#include <coracle/http/router.hpp>

using namespace coracle;

struct unknown {};

void add(http::router& r) {
#ifdef CORACLE_CONTROL
    r.get("/", [](http::query<"q">) -> task<http::status> { co_return http::status::ok; });
#else
    r.get("/", [](http::query<"q">) -> task<unknown> { co_return unknown(); });
#endif
}
