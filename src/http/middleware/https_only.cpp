#include "http/message/encode_beyond_ascii.hpp"
#include "http/transport_security.hpp"

#include <coracle/http/forwarded.hpp>
#include <coracle/http/https_only.hpp>

namespace coracle::http {
namespace {

using detail::transport_security;

task<response> add_field(task<response> pending, std::string_view value) {
    response r = co_await std::move(pending);
    r.set(transport_security::field_name, value);
    co_return r;
}

/// The host without its port: "[::1]:80" gives "[::1]".
std::string_view without_port(std::string_view host) noexcept {
    const std::size_t colon = host.rfind(':');
    const std::size_t bracket = host.rfind(']');
    const bool has_port =
        colon != std::string_view::npos && (bracket == std::string_view::npos || bracket < colon);
    return has_port ? host.substr(0, colon) : host;
}

class guard final : public handler::implementation {
public:
    guard(const https_only_options& o, std::string field, handler inner)
        : options_(o), field_(std::move(field)), inner_(std::move(inner)) {}

    bool call(request& req, response& out, task<response>& pending) const override {
        if (client_scheme(req) != "https") {
            const bool exempt = !options_.exempt.empty() && req.path().starts_with(options_.exempt);
            if (exempt) return inner_.call(req, out, pending);
            out = redirect(req);
            return true;
        }
        if (field_.empty()) return inner_.call(req, out, pending);
        req.set_data(transport_security{field_});
        const bool ready = inner_.call(req, out, pending);
        if (ready)
            out.set(transport_security::field_name, field_);
        else
            pending = add_field(std::move(pending), field_);
        return ready;
    }

private:
    response redirect(const request& req) const {
        const std::string_view host = without_port(client_host(req));
        if (host.empty()) return response(status::bad_request, "400 Bad Request: no host\n");
        std::string to = "https://" + std::string(host);
        if (options_.port != 443) to += ':' + std::to_string(options_.port);
        // An absolute target names a host of its own; "*" has no place there.
        to += req.path() == "*" ? "/" : origin_form(req.target());
        return response(status::permanent_redirect)
            .set("Location", detail::encode_beyond_ascii(to));
    }

    static std::string origin_form(std::string_view target) {
        if (target.starts_with('/')) return std::string(target);
        const std::size_t authority = target.find("://");
        if (authority == std::string_view::npos) return "/";
        const std::size_t behind = target.find_first_of("/?", authority + 3);
        if (behind == std::string_view::npos) return "/";
        // The path may be empty (RFC 9112 section 3.2.2); a slash in the query begins none.
        std::string form(target.substr(behind));
        return form.starts_with('?') ? '/' + form : form;
    }

    https_only_options options_;
    std::string field_;
    handler inner_;
};

}  // namespace

https_only::https_only(https_only_options o) : options_(std::move(o)) {
    if (options_.max_age.count() < 0) return;
    field_ = "max-age=" + std::to_string(options_.max_age.count());
    if (options_.subdomains) field_ += "; includeSubDomains";
    if (options_.preload) field_ += "; preload";
}

handler https_only::operator()(handler inner) const {
    return handler(std::make_shared<guard>(options_, field_, std::move(inner)));
}

}  // namespace coracle::http
