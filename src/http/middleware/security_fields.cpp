#include "http/message/token.hpp"
#include "http/middleware/filter.hpp"

#include <coracle/http/middleware/security_fields.hpp>

#include <string_view>
#include <vector>

namespace coracle::http {

class security_fields::rules {
public:
    explicit rules(security_field_options o) {
        add("X-Content-Type-Options", std::move(o.content_type_options));
        add("X-Frame-Options", std::move(o.frame_options));
        add("Referrer-Policy", std::move(o.referrer_policy));
        add("Content-Security-Policy", std::move(o.content_security_policy));
        add("Cross-Origin-Opener-Policy", std::move(o.opener_policy));
        add("Permissions-Policy", std::move(o.permissions_policy));
    }

    bool admit(request&, response&) const noexcept { return true; }
    void finish(const request&, response& out) const {
        // They would replace those of the page that the client has (RFC 9111 section 4.3.4).
        if (out.status() == status::not_modified) return;
        for (const auto& [name, value] : all_) {
            if (!out.fields().contains(name)) out.fields().add(name, value);
        }
    }

private:
    void add(std::string_view name, std::string value) {
        if (!is_field_value(value)) {
            error e(std::errc::invalid_argument, "security_field_options");
            throw_exception(std::move(e.on(name)));
        }
        if (!value.empty()) all_.emplace_back(name, std::move(value));
    }

    std::vector<std::pair<std::string_view, std::string>> all_;
};

security_fields::security_fields(security_field_options options)
    : rules_(std::make_shared<const rules>(std::move(options))) {}

handler security_fields::operator()(handler inner) const {
    return detail::filtered(rules_, std::move(inner));
}

}  // namespace coracle::http
