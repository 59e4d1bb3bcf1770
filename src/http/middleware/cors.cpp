#include "http/forwarded/origin.hpp"
#include "http/message/token.hpp"
#include "http/middleware/filter.hpp"

#include <coracle/http/middleware/cors.hpp>

#include <algorithm>
#include <string_view>

namespace coracle::http {
namespace {

[[noreturn]] void refuse(std::string_view what) {
    error e(std::errc::invalid_argument, "cors_options");
    throw_exception(std::move(e.on(what)));
}

std::string joined(const std::vector<std::string>& names) {
    std::string all;
    for (const std::string& n : names) {
        if (!is_token(n)) refuse(n);
        all.append(all.empty() ? "" : ", ").append(n);
    }
    return all;
}

/// An origin that may read responses.
struct permission {
    std::string text;       ///< the whole of it
    std::string_view head;  ///< "https://" of a wildcard
    std::string_view tail;  ///< ".example.com:8443" of a wildcard; empty: no wildcard

    bool covers(std::string_view origin) const noexcept {
        if (tail.empty()) return origin == text;
        // A name of at least one letter stands for the star.
        if (origin.size() <= head.size() + tail.size()) return false;
        if (!origin.starts_with(head) || !origin.ends_with(tail)) return false;
        origin.remove_prefix(head.size());
        origin.remove_suffix(tail.size());
        return origin.find_first_of("/:@?#") == std::string_view::npos;
    }
};

}  // namespace

class cors::rules {
public:
    explicit rules(cors_options o)
        : credentials_(o.credentials), methods_(joined(o.methods)), exposed_(joined(o.exposed)) {
        any_field_ = std::ranges::find(o.fields, "*") != o.fields.end();
        if (!any_field_) fields_ = joined(o.fields);
        methods_ = "GET, HEAD, POST" + (methods_.empty() ? "" : ", " + methods_);
        max_age_ = std::to_string(std::max<std::chrono::seconds::rep>(o.max_age.count(), 0));
        permissions_.reserve(o.origins.size());
        for (std::string& origin : o.origins) add(std::move(origin));
        // Any page could act with the rights of whoever visits it.
        if (any_origin_ && credentials_) refuse("credentials");
    }

    bool admit(request& req, response& out) const {
        if (req.method() != method::options) return true;
        if (!req.fields().contains("Access-Control-Request-Method")) return true;
        const std::string_view origin = req.header("Origin");
        if (origin.empty()) return true;
        if (!covers(origin)) {
            out = response(status::forbidden, "This origin may not read responses.\n");
        } else {
            out = response(status::no_content);
            permit(origin, out);
            out.set("Access-Control-Allow-Methods", methods_);
            const std::string_view asked = req.header("Access-Control-Request-Headers");
            const std::string_view granted = any_field_ ? asked : std::string_view(fields_);
            if (!granted.empty()) out.set("Access-Control-Allow-Headers", granted);
            out.set("Access-Control-Max-Age", max_age_);
        }
        out.fields().add("Vary",
                         "Origin, Access-Control-Request-Method, Access-Control-Request-Headers");
        return false;
    }

    void finish(const request& req, response& out) const {
        // This alone decides who may read, whatever an upstream says.
        out.fields().remove("Access-Control-Allow-Origin");
        out.fields().remove("Access-Control-Allow-Credentials");
        const std::string_view origin = req.header("Origin");
        // A cache gives what it got without Origin to every page too.
        if (any_origin_ || (!origin.empty() && covers(origin))) {
            permit(origin, out);
            if (!exposed_.empty()) out.set("Access-Control-Expose-Headers", exposed_);
        }
        // A cache must not give one origin what was made for another.
        if (!any_origin_) out.fields().add("Vary", "Origin");
    }

private:
    void add(std::string origin) {
        if (origin == "*") {
            any_origin_ = true;
            return;
        }
        std::string checked = origin;
        const std::size_t star = origin.find("://*.");
        if (star != origin.npos) checked.replace(star, 5, "://x.");
        if (!detail::is_origin(checked)) refuse(origin);
        permission& p = permissions_.emplace_back(permission{std::move(origin), {}, {}});
        if (star == p.text.npos) return;
        p.head = std::string_view(p.text).substr(0, star + 3);
        p.tail = std::string_view(p.text).substr(star + 4);
    }

    bool covers(std::string_view origin) const noexcept {
        return any_origin_ || std::ranges::any_of(permissions_, [origin](const permission& p) {
                   return p.covers(origin);
               });
    }

    void permit(std::string_view origin, response& out) const {
        out.set("Access-Control-Allow-Origin", any_origin_ ? "*" : origin);
        if (credentials_) out.set("Access-Control-Allow-Credentials", "true");
    }

    bool any_origin_ = false;
    bool any_field_ = false;
    bool credentials_;
    std::vector<permission> permissions_;  ///< reserved: they have views of themselves
    std::string methods_;
    std::string fields_;
    std::string exposed_;
    std::string max_age_;
};

cors::cors(cors_options options) : rules_(std::make_shared<const rules>(std::move(options))) {}

handler cors::operator()(handler inner) const {
    return detail::filtered(rules_, std::move(inner));
}

}  // namespace coracle::http
