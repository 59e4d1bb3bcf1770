#include "http/masking.hpp"

#include "base/ascii.hpp"

#include <coracle/base/url.hpp>
#include <coracle/http/field_id.hpp>

#include <algorithm>

namespace coracle::http::detail {
namespace {

constexpr std::string_view mask = "***";

std::string_view from_part_on(std::string_view text, std::string_view part) noexcept {
    const auto same = [](char a, char b) { return coracle::detail::lower(a) == b; };
    return {std::ranges::search(text, part, same).begin(), text.end()};
}

bool contains_without_case(std::string_view text, std::string_view part) noexcept {
    return !from_part_on(text, part).empty();
}

/// Returns true for "api_key" and "authToken", not for "keyword" and "author".
bool has_word_ending_in(std::string_view text, std::string_view part) noexcept {
    for (;;) {
        text = from_part_on(text, part);
        if (text.empty()) return false;
        text.remove_prefix(part.size());
        if (text.empty() || text.front() < 'a' || text.front() > 'z') return true;
    }
}

bool holds_secret(std::string_view pair) noexcept {
    const std::size_t equals = pair.find('=');
    return equals != pair.npos && names_a_secret(pair.substr(0, equals));
}

std::string masked_query(std::string_view query) {
    std::string all;
    while (!query.empty()) {
        const std::string_view pair = coracle::detail::take_item(query, '&');
        if (!all.empty()) all += '&';
        if (holds_secret(pair)) {
            all.append(pair.substr(0, pair.find('='))).append("=").append(mask);
        } else {
            all += pair;
        }
    }
    return all;
}

std::string_view query_of(std::string_view url) noexcept {
    const std::size_t mark = url.find('?');
    if (mark == url.npos) return {};
    return url.substr(mark + 1, url.find('#', mark) - mark - 1);
}

/// Returns true for "http://host/", not for "/go?to=http://host/".
bool is_absolute(std::string_view url) noexcept {
    const std::size_t scheme = std::min(url.find_first_of(":/?#"), url.size());
    return url.substr(scheme).starts_with("://");
}

bool hides_something(std::string_view url) noexcept {
    if (is_absolute(url) && url.find('@') != url.npos) return true;
    std::string_view query = query_of(url);
    while (!query.empty()) {
        if (holds_secret(coracle::detail::take_item(query, '&'))) return true;
    }
    return false;
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
         {"token", "secret", "passw", "signature", "session", "authoriz"}) {
        if (contains_without_case(name, part)) return true;
    }
    return has_word_ending_in(name, "key") || has_word_ending_in(name, "auth");
}

std::string masked_url(std::string_view text) {
    std::string all(text);
    if (is_absolute(text)) {
        const auto where = url::parse(text);
        if (!where) return std::string(mask);
        all = where->redacted();
    }
    const std::string_view query = query_of(all);
    if (query.empty()) return all;
    const auto at = static_cast<std::size_t>(query.data() - all.data());
    all.replace(at, query.size(), masked_query(query));
    return all;
}

std::string_view masked_url(std::string_view text, std::string& room) {
    if (!hides_something(text)) return text;
    return room = masked_url(text);
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
