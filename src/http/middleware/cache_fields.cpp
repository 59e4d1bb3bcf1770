#include "base/ascii.hpp"
#include "http/coding/compressible.hpp"
#include "http/message/token.hpp"
#include "http/middleware/filter.hpp"

#include <coracle/http/middleware/cache_fields.hpp>

#include <optional>
#include <string_view>

namespace coracle::http {
namespace {

void check(std::string_view value) {
    if (is_field_value(value)) return;
    error e(std::errc::invalid_argument, "cache_field_options");
    throw_exception(std::move(e.on(value)));
}

bool is_kept(const request& req, const response& r) noexcept {
    const bool reads = req.method() == method::get || req.method() == method::head;
    return reads && (r.ok() || r.status() == status::not_modified);
}

void add_vary(std::string_view names, response& r) {
    while (!names.empty()) {
        const std::string_view name = trim_ows(coracle::detail::take_item(names));
        const auto& all = r.fields();
        if (name.empty() || all.has_token(field_id::vary, name)) continue;
        if (!all.has_token(field_id::vary, "*")) r.fields().add("Vary", name);
    }
}

}  // namespace

class cache_fields::settings {
public:
    explicit settings(cache_field_options o) : options_(std::move(o)) {
        check(options_.otherwise);
        check(options_.uncached);
        for (const cache_field_rule& rule : options_.rules) {
            check(rule.cache_control);
            check(rule.vary);
        }
    }

    bool admit(request&, response&) const noexcept { return true; }
    void finish(const request& req, response& out) const {
        std::optional<const cache_field_rule*> found = nullptr;
        if (is_kept(req, out)) found = rule_for(req, out);
        // Caches keep the fields of the 200 where a 304 has none of these.
        if (!found) return;
        const cache_field_rule* const rule = *found;
        if (rule != nullptr) add_vary(rule->vary, out);
        if (out.fields().contains(field_id::cache_control)) return;
        const std::string& value = rule != nullptr     ? rule->cache_control
                                   : is_kept(req, out) ? options_.otherwise
                                                       : options_.uncached;
        if (!value.empty()) out.set("Cache-Control", value);
    }

private:
    /// The rule for a response, or null; nothing where it depends on the type of a content that a
    /// 304 leaves away.
    std::optional<const cache_field_rule*> rule_for(const request& req, const response& r) const {
        std::string_view type = r.fields().get(field_id::content_type);
        if (type.empty()) type = r.default_type();
        const bool has_no_type = type.empty() && r.status() == status::not_modified;
        for (const cache_field_rule& rule : options_.rules) {
            if (!req.path().starts_with(rule.path)) continue;
            if (has_no_type && !rule.type.empty()) return std::nullopt;
            if (rule.type.empty() || detail::matches_media_type(type, rule.type)) return &rule;
        }
        return nullptr;
    }

    cache_field_options options_;
};

cache_fields::cache_fields(cache_field_options options)
    : settings_(std::make_shared<const settings>(std::move(options))) {}

handler cache_fields::operator()(handler inner) const {
    return detail::filtered(settings_, std::move(inner));
}

}  // namespace coracle::http
