#include "http/router/router_state.hpp"

#include <coracle/base/error.hpp>
#include <coracle/http/router.hpp>

#include <map>

namespace coracle::http {
namespace {

using change = detail::router_state::change;

std::string checked_prefix(std::string_view prefix) {
    if (prefix.empty() || prefix == "/") return {};
    if (prefix.ends_with('/')) detail::refuse_pattern(prefix, "a prefix ends with a slash");
    const detail::pattern p = detail::parse_pattern(prefix);
    if (p.pieces.back().what == detail::pattern_piece::kind::rest) {
        detail::refuse_pattern(prefix, "a prefix takes all that is left");
    }
    return std::string(prefix);
}

/// Moves the routes of one router into another, below a prefix.
class mounting {
public:
    mounting(detail::router_state& to, detail::router_state& from, std::string_view prefix)
        : to_(to), from_(from), prefix_(checked_prefix(prefix)) {}

    void run() {
        if (from_.table().hosts() != nullptr) {
            detail::refuse_pattern(prefix_, "a router with hosts of its own cannot be mounted");
        }
        for (const auto& r : from_.table().list()) move_route(r);
        for (const auto& n : from_.table().names().entries()) {
            // The route may have been replaced, and lost its name.
            const auto moved = moved_.find(n.route.get());
            if (moved != moved_.end()) to_.table().name(n.name, moved->second);
        }
        move_scopes();
        // From now on naming a route of the mounted router fails, because it has none. Handlers
        // made of it stay valid.
        if (!from_.state().is_served()) from_.table() = detail::route_table();
    }

private:
    void move_route(const detail::route_table::listed_route& r) {
        const std::string& text = r.record->pattern.text;
        const handlers h{from_.state().wrapped(r.record->target), options_of(*r.record)};
        const bool is_root = text == "/" && !prefix_.empty();
        moved_[r.record.get()] = add(r, is_root ? prefix_ : prefix_ + text, h);
        if (is_root) add(r, prefix_ + text, h);
    }

    /// Lets OPTIONS pass through the middleware of a group, which may respond to a preflight.
    handler options_of(const detail::route_record& r) {
        if (r.options || from_.state().middleware_count() == 0) {
            return from_.state().wrapped(r.options);
        }
        return from_.state().wrapped([](request&) { return response(status::no_content); });
    }

    struct handlers {
        handler target;
        handler options;
    };
    detail::record_ref add(const detail::route_table::listed_route& r, const std::string& text,
                           const handlers& h) {
        const auto record = to_.state().make_record(text, h.target, r.record->wanted);
        record->options = h.options;
        to_.table().add(r.methods, record);
        return record;
    }

    void move_scopes() {
        const auto& scopes = from_.table().scopes();
        // Maps the scope numbers of the mounted router to those of this one.
        std::vector<std::size_t> numbers;
        for (std::size_t i = 0; i != scopes.size(); ++i) {
            detail::route_scope s = scopes[i];
            if (i == 0 && from_.state().middleware_count() != 0) {
                s.unknown_options = [](request& req) {
                    return detail::error_response(req, status::not_found);
                };
            }
            s.parent = i == 0 ? 0 : numbers[s.parent];
            s.prefix = prefix_ + s.prefix;
            if (!s.says_something() || s.prefix.empty()) {
                numbers.push_back(s.parent);
                if (s.says_something()) take_over(s);
                continue;
            }
            s.not_found = from_.state().wrapped(s.not_found);
            s.method_not_allowed = from_.state().wrapped(s.method_not_allowed);
            s.fallback = from_.state().wrapped(s.fallback);
            s.preflight = from_.state().wrapped(s.preflight);
            s.unknown_options = from_.state().wrapped(s.unknown_options);
            numbers.push_back(to_.table().add_scope(std::move(s)));
        }
    }

    /// Takes over a scope. Without a prefix both scopes are everywhere, and this router's own
    /// handlers have priority.
    void take_over(const detail::route_scope& s) {
        detail::route_scope& own = to_.table().own_scope();
        if (!own.not_found) own.not_found = from_.state().wrapped(s.not_found);
        if (!own.method_not_allowed) {
            own.method_not_allowed = from_.state().wrapped(s.method_not_allowed);
        }
        if (!own.fallback) own.fallback = from_.state().wrapped(s.fallback);
        if (!own.preflight) own.preflight = from_.state().wrapped(s.preflight);
        for (const auto& p : s.pages) {
            if (to_.table().page_for(p.code, {}) == nullptr) to_.table().add_page(p.code, p.make);
        }
    }

    change to_;
    change from_;
    std::string prefix_;
    std::map<const detail::route_record*, detail::record_ref> moved_;
};

}  // namespace

void router::mount(std::string_view prefix, router&& other) {
    batch all(*this);
    mounting(*state_, *other.state_, prefix).run();
    all.commit();
    other = router();
}

}  // namespace coracle::http
