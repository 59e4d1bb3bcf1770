// expect: of a type that http::from_text reads
// errors: 1
#include <coracle/http/extract.hpp>
#include <coracle/http/router.hpp>

struct unknown {};

void add(coracle::http::router& r) {
#ifdef CORACLE_CONTROL
    r.get("/", [](coracle::http::query<"n", long>) { return "hello"; });
#else
    r.get("/", [](coracle::http::query<"n", unknown>) { return "hello"; });
#endif
}
