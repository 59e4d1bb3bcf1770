// expect: a middleware takes an http::handler and gives one, or is a
#include <coracle/http/router.hpp>

using namespace coracle;

void add(http::router& r) {
#ifdef CORACLE_CONTROL
    r.use([](http::request& req, const http::handler& next) -> task<http::response> {
        return next(req);
    });
    r.use([](http::handler inner) { return inner; });
#else
    r.use([](http::request& req) -> task<http::response> { co_return req.path(); });
#endif
}
