// expect: validate takes the value by const reference, and http::faults&
#include <coracle/http/nlohmann.hpp>
#include <coracle/http/router.hpp>

struct order {
    int count = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(order, count)

#ifdef CORACLE_CONTROL
using value = const order&;
#else
using value = order&;
#endif

static void validate(value o, coracle::http::faults& found) {
    found.require(o.count != 0, "count", "must not be 0");
}

void add(coracle::http::router& routes) {
    routes.post("/", [](coracle::http::json<order>) { return "taken"; });
}
