#include "websocket/topic_pattern.hpp"

#include <coracle/websocket/topics.hpp>

#include <algorithm>

namespace coracle::websocket {

namespace detail {

std::string_view take_token(std::string_view& rest) noexcept {
    const std::size_t at = std::min(rest.find('.'), rest.size());
    const std::string_view token = rest.substr(0, at);
    rest.remove_prefix(std::min(at + 1, rest.size()));
    return token;
}

bool is_pattern(std::string_view text) noexcept {
    if (text.empty() || text.back() == '.') return false;
    while (!text.empty()) {
        const std::string_view token = take_token(text);
        if (token.empty() || (token == ">" && !text.empty())) return false;
        if (token.size() > 1 && is_wild(token)) return false;
    }
    return true;
}

}  // namespace detail

bool topic_matches(std::string_view pattern, std::string_view topic) noexcept {
    while (!pattern.empty() && !topic.empty()) {
        const std::string_view wanted = detail::take_token(pattern);
        if (wanted == ">") return true;
        const std::string_view token = detail::take_token(topic);
        if (wanted != "*" && wanted != token) return false;
    }
    return pattern.empty() && topic.empty();
}

}  // namespace coracle::websocket
