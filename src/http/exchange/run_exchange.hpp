#pragma once

#include "http/exchange/response_channel.hpp"
#include "http/message/date.hpp"

#include <cstdint>
#include <optional>

namespace coracle::http::detail {

/// Returns true if the exchange may have to wait for the user's code.
bool may_wait(const exchange& e) noexcept;

/// Waits for the handler, if it is a coroutine, and sends the response. Returns false if nothing
/// can follow on the channel.
task<bool> run_exchange(exchange& e, response_channel& to);

/// Returns the Date of a response of another server that is passed on (RFC 9110 section 6.6.1): its
/// age and lifetime count from there. Empty for all others, which get ours.
inline std::string_view received_date(response& r) noexcept {
    response_extension* const received = r.extension();
    if (received == nullptr || received->info() == nullptr) return {};
    const std::string_view date = r.fields().get(field_id::date);
    return date.size() == http_date_size ? date : std::string_view();
}

/// Returns true if the response has a body on the wire (RFC 9110 sections 6.4.1 and 15.3.6).
inline bool may_have_body(const exchange& e) noexcept {
    if (e.req.method() == method::head) return false;
    const status code = e.res.status();
    if (code == status::ok) [[likely]]
        return true;
    return code != status::no_content && code != status::reset_content &&
           code != status::not_modified && static_cast<int>(code) >= 200;
}

/// Returns true if it may state its length (RFC 9110 section 8.6): not a 1xx or 204; a 304 only
/// with that of the 200.
constexpr bool may_have_length(status code) noexcept {
    return code != status::no_content && code != status::not_modified &&
           static_cast<int>(code) >= 200;
}

/// The announced length of a response in memory: one to HEAD from another server has no body, and
/// is passed on with the length that it came with (RFC 9110 section 8.6).
inline std::optional<std::uint64_t> announced_length(exchange& e) noexcept {
    const std::size_t size = e.res.body().bytes().size();
    response_extension* const rest = e.res.extension();
    if (size != 0 || rest == nullptr || e.req.method() != method::head) return size;
    const auto* const told = rest->head_length();
    return told == nullptr ? size : *told;
}

/// Returns true if the status may end an exchange: 200 to 999, not an interim one.
constexpr bool is_final(status code) noexcept {
    return static_cast<unsigned>(code) - 200U < 800U;
}

}  // namespace coracle::http::detail
