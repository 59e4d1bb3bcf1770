#include "http/message/encode_beyond_ascii.hpp"
#include "http/message/token.hpp"
#include "http/middleware/filter.hpp"
#include "http/middleware/path_pattern.hpp"

#include <coracle/http/forwarded.hpp>
#include <coracle/http/middleware/redirects.hpp>

#include <algorithm>
#include <cstring>

namespace coracle::http {
namespace {

using detail::path_pattern;

[[noreturn]] void refuse(std::string_view what) {
    error e(std::errc::invalid_argument, "redirect_options");
    throw_exception(std::move(e.on(what)));
}

/// Returns true if a path may stand in Location: two slashes, or what browsers take for them, would
/// lead to another host.
bool is_of_this_host(std::string_view path) noexcept {
    return path.starts_with('/') && (path.size() < 2 || (path[1] != '/' && path[1] != '\\'));
}

bool is_redirect(status code) noexcept {
    return code == status::moved_permanently || code == status::found ||
           code == status::see_other || code == status::temporary_redirect ||
           code == status::permanent_redirect;
}

/// Replaces the path by which a router chooses the route; what a router found before is forgotten.
void replace_path(request& req, std::string_view path) {
    char* const copy = static_cast<char*>(req.memory().allocate(path.size(), 1));
    std::memcpy(copy, path.data(), path.size());
    request::parts p;
    p.method = req.method();
    p.version = req.version();
    p.method_text = req.method_text();
    p.target = req.target();
    p.path = std::string_view(copy, path.size());
    p.query = req.query_text();
    p.host = req.host();
    p.peer = &req.peer();
    p.connection = req.has_connection() ? &req.connection() : nullptr;
    p.exchange = req.exchange();
    const auto* const style = req.error_style();
    req.assign(p);
    req.set_error_style(style);
}

std::vector<path_pattern> patterns_of(const std::vector<path_rule>& rules) {
    std::vector<path_pattern> all;
    all.reserve(rules.size());
    for (const path_rule& r : rules) all.emplace_back(r.from, r.to);
    return all;
}

}  // namespace

class redirects::rules {
public:
    explicit rules(redirect_options o) : options_(std::move(o)), all_(patterns_of(options_.rules)) {
        if (!is_redirect(options_.status)) refuse("status");
        if (!is_field_value(options_.host) || options_.host.find('/') != std::string::npos) {
            refuse("host");
        }
    }

    bool admit(request& req, response& out) const {
        if (!is_of_this_host(req.path())) return true;
        std::string to = location(req);
        if (to.empty()) return true;
        add_query(to, detail::encode_beyond_ascii(req.query_text()));
        out = redirect(to, options_.status);
        return false;
    }
    void finish(const request&, response&) const noexcept {}

private:
    /// Adds the query of the request to a location, before its fragment.
    static void add_query(std::string& to, std::string_view query) {
        if (query.empty()) return;
        const std::size_t end = std::min(to.find('#'), to.size());
        const bool has_query = to.find('?') < end;
        to.insert(end, (has_query ? "&" : "?") + std::string(query));
    }

    /// Empty where the request stays where it is.
    std::string location(const request& req) const {
        std::string path;
        for (const path_pattern& p : all_) {
            auto to = p.apply(req.path(), true);
            if (!to) continue;
            if (p.is_absolute()) return *to;
            path = *std::move(to);
            break;
        }
        const bool has_rule = !path.empty();
        if (!has_rule) path = detail::encode_canonical(req.path(), percent_set::path);
        const bool has_slash = !has_rule && adapt_slash(path);
        // A segment that is empty may have moved to the front.
        if (!is_of_this_host(path)) return {};
        const std::string_view host = client_host(req);
        const bool moves = !options_.host.empty() && !equal_ignoring_case(host, options_.host);
        if (moves) return std::string(client_scheme(req)) + "://" + options_.host + path;
        return has_rule || has_slash ? path : std::string();
    }

    /// Returns true if the path had the wrong end.
    bool adapt_slash(std::string& path) const {
        if (path.size() < 2) return false;
        const bool has = path.ends_with('/');
        if (options_.slash == trailing_slash::remove && has) {
            while (path.size() > 1 && path.ends_with('/')) path.pop_back();
            return true;
        }
        const bool is_file = path.find('.', path.rfind('/')) != path.npos;
        if (options_.slash == trailing_slash::add && !has && !is_file) {
            path += '/';
            return true;
        }
        return false;
    }

    redirect_options options_;
    std::vector<path_pattern> all_;
};

redirects::redirects(redirect_options options)
    : rules_(std::make_shared<const rules>(std::move(options))) {}

handler redirects::operator()(handler inner) const {
    return detail::filtered(rules_, std::move(inner));
}

class rewrite::rules {
public:
    explicit rules(const std::vector<path_rule>& list) : all_(patterns_of(list)) {
        for (std::size_t i = 0; i != all_.size(); ++i) {
            const bool is_path =
                !all_[i].is_absolute() && list[i].to.find('?') == std::string::npos;
            if (!is_path) refuse(list[i].to);
        }
    }

    bool admit(request& req, response&) const {
        for (const path_pattern& p : all_) {
            const auto to = p.apply(req.path(), false);
            if (!to) continue;
            replace_path(req, *to);
            break;
        }
        return true;
    }
    void finish(const request&, response&) const noexcept {}

private:
    std::vector<path_pattern> all_;
};

rewrite::rewrite(std::string_view from, std::string_view to)
    : rewrite(std::vector<path_rule>(1, {std::string(from), std::string(to)})) {}

rewrite::rewrite(std::vector<path_rule> list) : rules_(std::make_shared<const rules>(list)) {}

handler rewrite::operator()(handler inner) const {
    return detail::filtered(rules_, std::move(inner));
}

}  // namespace coracle::http
