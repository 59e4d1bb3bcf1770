#include <coracle/http/response.hpp>

namespace coracle::http {

response stream(body::stream_function write, std::string_view type) {
    response r;
    r.set_body(body::stream(std::move(write)), type);
    return r;
}

response upgrade(std::string_view protocol, response::upgrade_function run) {
    response r(status::switching_protocols);
    r.set("Upgrade", protocol);
    r.set_upgrade(std::move(run));
    return r;
}

response redirect(std::string_view location, status code) {
    return response(code).set("Location", location);
}

response html(std::string text) {
    response r;
    r.set_body(body(std::move(text)), "text/html; charset=utf-8");
    return r;
}

}  // namespace coracle::http
