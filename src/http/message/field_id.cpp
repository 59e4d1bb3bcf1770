#include "base/ascii.hpp"
#include "http/message/fold.hpp"

#include <coracle/http/field_id.hpp>

#include <array>

namespace coracle::http {

namespace {

// In the order of field_id.
constexpr std::array<std::string_view, field_id_count> names{
    "",
    "Host",
    "Content-Length",
    "Transfer-Encoding",
    "Connection",
    "Accept",
    "Accept-Encoding",
    "Accept-Language",
    "Accept-Ranges",
    "Access-Control-Allow-Credentials",
    "Access-Control-Allow-Headers",
    "Access-Control-Allow-Methods",
    "Access-Control-Allow-Origin",
    "Access-Control-Expose-Headers",
    "Access-Control-Max-Age",
    "Access-Control-Request-Headers",
    "Access-Control-Request-Method",
    "Age",
    "Allow",
    "Alt-Svc",
    "Authorization",
    "Cache-Control",
    "Content-Disposition",
    "Content-Encoding",
    "Content-Language",
    "Content-Location",
    "Content-Range",
    "Content-Security-Policy",
    "Content-Type",
    "Cookie",
    "Date",
    "ETag",
    "Expect",
    "Expires",
    "Forwarded",
    "From",
    "HTTP2-Settings",
    "If-Match",
    "If-Modified-Since",
    "If-None-Match",
    "If-Range",
    "If-Unmodified-Since",
    "Keep-Alive",
    "Last-Modified",
    "Link",
    "Location",
    "Max-Forwards",
    "Origin",
    "Proxy-Authenticate",
    "Proxy-Authorization",
    "Proxy-Connection",
    "Range",
    "Referer",
    "Retry-After",
    "Sec-WebSocket-Accept",
    "Sec-WebSocket-Extensions",
    "Sec-WebSocket-Key",
    "Sec-WebSocket-Protocol",
    "Sec-WebSocket-Version",
    "Server",
    "Set-Cookie",
    "Strict-Transport-Security",
    "TE",
    "Trailer",
    "Upgrade",
    "User-Agent",
    "Vary",
    "Via",
    "WWW-Authenticate",
    "X-Content-Type-Options",
    "X-Forwarded-For",
    "X-Forwarded-Proto",
};

constexpr std::size_t longest = 32;

// A perfect hash over the length and three bytes; the multiplier was found by trial, and make_slots
// does not compile when two names share a slot.
constexpr std::size_t slot_of(std::string_view name) {
    const auto byte = [&](std::size_t i) {
        return static_cast<std::uint32_t>(static_cast<unsigned char>(name[i]));
    };
    const std::size_t size = name.size();
    const std::uint32_t letters =
        byte(0) | byte(size - 1) << 8 | byte(size * 3 / 4) << 16 | 0x202020U;
    const std::uint32_t key = letters | static_cast<std::uint32_t>(size) << 24;
    return static_cast<std::uint32_t>(key * 0x4eb5a847U) >> 24;
}

consteval std::array<std::uint8_t, 256> make_slots() {
    std::array<std::uint8_t, 256> result{};
    for (std::size_t id = 1; id < names.size(); ++id) {
        auto& slot = result[slot_of(names[id])];
        if (slot != 0 || names[id].size() > longest || names[id].size() < 2) {
            throw "two names share a slot, or a name is too long or too short";
        }
        slot = static_cast<std::uint8_t>(id);
    }
    return result;
}

struct lowered {
    std::array<char, longest> text{};
    std::size_t size = 0;
};

consteval std::array<lowered, field_id_count> make_lowered() {
    std::array<lowered, field_id_count> result{};
    for (std::size_t id = 1; id < names.size(); ++id) {
        result[id].size = names[id].size();
        for (std::size_t i = 0; i < names[id].size(); ++i) {
            result[id].text[i] = coracle::detail::lower(names[id][i]);
        }
    }
    return result;
}

constexpr std::array<std::uint8_t, 256> slots = make_slots();
constexpr std::array<lowered, field_id_count> lowered_names = make_lowered();

}  // namespace

field_id find_field_id(std::string_view name) noexcept {
    const std::size_t size = name.size();
    if (size < 2 || size > longest) {
        return field_id::other;
    }
    const std::uint8_t id = slots[slot_of(name)];
    const lowered& known = lowered_names[id];
    if (known.size != size) {
        return field_id::other;
    }
    const bool found = same_folded(name.data(), known.text.data(), size);
    return found ? static_cast<field_id>(id) : field_id::other;
}

std::string_view to_string(field_id id) noexcept {
    return names[static_cast<std::size_t>(id)];
}

}  // namespace coracle::http
