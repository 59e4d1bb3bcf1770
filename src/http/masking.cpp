#include "http/masking.hpp"

#include "base/ascii.hpp"

#include <coracle/base/url.hpp>
#include <coracle/http/field_id.hpp>

#include <algorithm>

namespace coracle::http::detail {
namespace {

constexpr std::string_view mask = "***";

bool contains_without_case(std::string_view text, std::string_view part) noexcept {
    const auto same = [](char a, char b) { return coracle::detail::lower(a) == b; };
    return std::ranges::search(text, part, same).begin() != text.end();
}

std::string masked_query(std::string_view query) {
    std::string all;
    while (!query.empty()) {
        const std::string_view pair = coracle::detail::take_item(query, '&');
        const std::string_view name = pair.substr(0, pair.find('='));
        if (!all.empty()) all += '&';
        if (name.size() != pair.size() && names_a_secret(name)) {
            all.append(name).append("=").append(mask);
        } else {
            all += pair;
        }
    }
    return all;
}

}  // namespace

bool names_a_secret(std::string_view name) noexcept {
    switch (find_field_id(name)) {
        case field_id::authorization:
        case field_id::proxy_authorization:
        case field_id::cookie:
        case field_id::set_cookie: return true;
        default: break;
    }
    for (const std::string_view part :
         {"token", "key", "secret", "passw", "signature", "session", "auth"}) {
        if (contains_without_case(name, part)) return true;
    }
    return false;
}

std::string masked_url(std::string_view text) {
    std::string all(text);
    if (text.find("://") != std::string_view::npos) {
        const auto where = url::parse(text);
        if (!where) return std::string(mask);
        all = where->redacted();
    }
    const std::size_t query = all.find('?');
    if (query == std::string::npos) return all;
    const std::size_t end = std::min(all.find('#', query), all.size());
    const std::string_view pairs = std::string_view(all).substr(query + 1, end - query - 1);
    return all.substr(0, query + 1) + masked_query(pairs) + all.substr(end);
}

std::string masked_field(std::string_view name, std::string_view value) {
    switch (find_field_id(name)) {
        case field_id::location:
        case field_id::referer: return masked_url(value);
        default: break;
    }
    // Challenges are none.
    const bool is_secret = names_a_secret(name) && !contains_without_case(name, "authenticate");
    return std::string(is_secret ? mask : value);
}

std::string masked_field(const field& f) {
    return f.never_indexed ? std::string(mask) : masked_field(f.name, f.value);
}

}  // namespace coracle::http::detail
