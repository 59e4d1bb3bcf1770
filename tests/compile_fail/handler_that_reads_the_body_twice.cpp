// expect: only one parameter of an HTTP handler may take the body of the request
// errors: 1
#include <coracle/http/extract.hpp>
#include <coracle/http/router.hpp>

using namespace coracle;

void add(http::router& r) {
#ifdef CORACLE_CONTROL
    r.get("/", [](http::form_field<"a"> a, http::form_field<"b">) { return *a; });
#else
    r.get("/", [](http::form_field<"a">, http::text_body text) { return *text; });
#endif
}
