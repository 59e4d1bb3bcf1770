#include <coracle/http/response.hpp>

namespace coracle::http {
namespace {

class upgrade_extension final : public detail::response_extension {
public:
    explicit upgrade_extension(response::upgrade_function run) : run_(std::move(run)) {}
    response::upgrade_function* upgrade() noexcept override { return &run_; }

private:
    response::upgrade_function run_;
};

}  // namespace

void response::set_upgrade(upgrade_function run) {
    extension_ = std::make_unique<upgrade_extension>(std::move(run));
}

response stream(body::stream_function write, std::string_view type) {
    static constexpr std::string_view bytes = "application/octet-stream";
    response r;
    const bool any = type == bytes;
    r.set_body(body::stream(std::move(write)), any ? bytes : std::string_view());
    // The text may be gone before the response is sent, and may be of a request.
    if (!any && !type.empty()) r.set("Content-Type", type);
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

response html(std::string_view text) {
    return html(std::string(text));
}

response html(const char* text) {
    return html(std::string(text));
}

response html(std::string text) {
    response r;
    r.set_body(body(std::move(text)), "text/html; charset=utf-8");
    return r;
}

}  // namespace coracle::http
