#include "websocket/handshake.hpp"

#include "http/forwarded/own_origin.hpp"
#include "http/message/token.hpp"

#include <coracle/mime/base64.hpp>
#include <coracle/tls/hash.hpp>

#include <algorithm>
#include <cstring>

namespace coracle::websocket::detail {
namespace {

/// RFC 6455 section 1.3.
constexpr std::string_view guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
constexpr std::size_t key_size = 16;

}  // namespace

std::string accept_of(std::string_view key) {
    std::string text(key);
    text += guid;
    return mime::base64_encode(tls::digest(tls::hash::sha1, text));
}

bool is_key(std::string_view text) {
    const auto bytes = mime::base64_decode(text);
    return bytes && bytes->size() == key_size;
}

std::string make_key(std::uint64_t first, std::uint64_t second) {
    char bytes[key_size];
    std::memcpy(bytes, &first, sizeof first);
    std::memcpy(bytes + sizeof first, &second, sizeof second);
    return mime::base64_encode({bytes, key_size});
}

std::string joined(const http::fields& all, std::string_view name) {
    std::string list;
    for (const http::field& f : all) {
        if (!http::equal_ignoring_case(f.name, name)) continue;
        if (!list.empty()) list += ", ";
        list += f.value;
    }
    return list;
}

bool is_allowed(const http::request& req, const origins& allowed) {
    const std::string_view origin = req.header("Origin");
    if (allowed.is_any() || origin.empty()) return true;
    const auto is_listed = [origin](const std::string& one) {
        return http::equal_ignoring_case(one, origin);
    };
    if (std::ranges::any_of(allowed.listed(), is_listed)) return true;
    return http::detail::is_own_origin(origin, req);
}

std::string choose_subprotocol(std::string_view offered, const std::vector<std::string>& ours) {
    for (const std::string& one : ours) {
        std::string_view rest = offered;
        while (!rest.empty()) {
            const std::size_t comma = std::min(rest.find(','), rest.size());
            if (http::trim_ows(rest.substr(0, comma)) == one) return one;
            rest.remove_prefix(std::min(comma + 1, rest.size()));
        }
    }
    return {};
}

}  // namespace coracle::websocket::detail
