// expect: would outlive the text of the JSON
#include <coracle/http/nlohmann.hpp>
#include <coracle/http/router.hpp>

#include <string>
#include <string_view>

#ifdef CORACLE_CONTROL
using name = std::string;
#else
using name = std::string_view;
#endif

void add(coracle::http::router& routes) {
    routes.post("/", [](coracle::http::json<name> given) { return std::string(*given); });
}
