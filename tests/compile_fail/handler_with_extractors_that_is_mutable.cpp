// expect: must be callable when const: it serves several requests at a time
// errors: 1
#include <coracle/http/extract.hpp>
#include <coracle/http/router.hpp>

using namespace coracle;

void add(http::router& r) {
#ifdef CORACLE_CONTROL
    r.get("/", [n = 0](http::query<"q", int> q) { return std::to_string(n + q); });
#else
    r.get("/", [n = 0](http::query<"q", int> q) mutable { return std::to_string(n += q); });
#endif
}
