#include "http/router/route_set.hpp"

#include "base/ascii.hpp"
#include "http/message/token.hpp"

#include <algorithm>

namespace coracle::http::detail {

void route_set::add(std::string_view method, record_ref record) {
    entries.push_back({std::string(method), parse_method(method), std::move(record)});
    changed();
}

void route_set::remove(std::string_view method) {
    std::erase_if(entries, [method](const entry& e) { return e.method == method; });
    changed();
}

const route_set::entry* route_set::find_entry(std::string_view method) const noexcept {
    for (const entry& e : entries) {
        if (e.method == method) return &e;
    }
    return nullptr;
}

const route_record* route_set::find_other(std::string_view text) const noexcept {
    for (const entry& e : entries) {
        if (e.id == method::other && !e.method.empty() && e.method == text) return e.record.get();
    }
    return by_method[static_cast<std::size_t>(method::other)];
}

void route_set::changed() {
    const auto place = [this](http::method m) -> const route_record*& {
        return by_method[static_cast<std::size_t>(m)];
    };
    const entry* const any = find_entry({});
    std::fill_n(by_method, known_methods, any == nullptr ? nullptr : any->record.get());
    allow.clear();
    const auto allows = [this](std::string_view name) {
        if (!allow.empty()) allow += ", ";
        allow += name;
    };
    for (const entry& e : entries) {
        if (e.id != http::method::other) place(e.id) = e.record.get();
        if (!e.method.empty()) allows(e.method);
    }
    const bool has_get = find_entry("GET") != nullptr;
    if (has_get && find_entry("HEAD") == nullptr) {
        place(http::method::head) = place(http::method::get);
        allows("HEAD");
    }
    if (find_entry("OPTIONS") == nullptr) allows("OPTIONS");
}

std::vector<std::string> parse_methods(std::string_view list, std::string_view pattern) {
    if (list.empty() || list == "*") return std::vector<std::string>(1);
    std::vector<std::string> methods;
    for (bool more = true; more;) {
        const std::size_t comma = list.find(',');
        more = comma != std::string_view::npos;
        const std::string_view name = trim_ows(list.substr(0, comma));
        if (more) list.remove_prefix(comma + 1);
        if (!is_token(name)) refuse_pattern(pattern, "its list of methods is malformed");
        if (name == "*") refuse_pattern(pattern, "* stands for all methods, and alone");
        const std::string upper = coracle::detail::upper(name);
        if (upper != name && parse_method(upper) != method::other) {
            refuse_pattern(pattern, "methods have a case: " + upper + ", not " + std::string(name));
        }
        if (name == "CONNECT") {
            // RFC 9112 section 3.2.3: its target is a host and a port.
            refuse_pattern(pattern, "a CONNECT request has no path that it could match");
        }
        if (std::find(methods.begin(), methods.end(), name) != methods.end()) {
            refuse_pattern(pattern, "it names " + std::string(name) + " twice");
        }
        methods.emplace_back(name);
    }
    return methods;
}

}  // namespace coracle::http::detail
