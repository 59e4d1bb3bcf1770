// expect: has one call operator whose parameters have plain types \(no auto, no overloads\)
// errors: 1
#include <coracle/http/extract.hpp>
#include <coracle/http/router.hpp>

void add(coracle::http::router& r) {
#ifdef CORACLE_CONTROL
    r.get("/", [](const auto& req) { return req.path(); });
#else
    r.get("/", [](auto id, auto name) { return *id + *name; });
#endif
}
