#include "http/proxy/passed_upgrade.hpp"

#include "http/exchange/upgrade_offer.hpp"
#include "http/message/token.hpp"
#include "http/proxy/join_streams.hpp"

#include <coracle/http/response_info.hpp>
#include <coracle/mime/base64.hpp>
#include <coracle/runtime/loop.hpp>
#include <coracle/tls/hash.hpp>

#include <cstring>

namespace coracle::http::detail {
namespace {

constexpr std::string_view key_field = "Sec-WebSocket-Key";
constexpr std::string_view accept_field = "Sec-WebSocket-Accept";

/// RFC 6455 sections 4.1 and 4.2.2.
std::string make_key(loop& l) {
    const std::uint64_t random[] = {l.random(), l.random()};
    char bytes[sizeof random];
    std::memcpy(bytes, random, sizeof bytes);
    return mime::base64_encode({bytes, sizeof bytes});
}

std::string acceptance_of(std::string_view key) {
    constexpr std::string_view guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    const std::string text = std::string(key).append(guid);
    return mime::base64_encode(tls::digest(tls::hash::sha1, text));
}

bool is_over_h2(const response& r) noexcept {
    return r.info() != nullptr && r.info()->version == version::http_2;
}

}  // namespace

passed_upgrade::passed_upgrade(request& req, bool allowed) {
    // A server may ignore Upgrade, and there is no other way to pass the body on too.
    if (!req.body().ended()) return;
    const std::string_view listed = req.header("Upgrade");
    const std::string_view first = trim_ows(listed.substr(0, listed.find(',')));
    // The settings of h2c are for the next hop alone (RFC 7540 section 3.2.1).
    if (equal_ignoring_case(first, "h2c")) return;
    if (!allowed || first.empty() || !offers_upgrade(req, first)) return;
    protocol_ = first;
    if (!equal_ignoring_case(first, "websocket")) return;
    key_ = req.header(key_field);
    if (key_.empty()) made_key_ = make_key(*loop::current());
}

void passed_upgrade::prepare(fields& out) const {
    if (!made_key_.empty()) out.set(key_field, made_key_);
}

bool passed_upgrade::has_switched(const response& r) const noexcept {
    if (protocol_.empty()) return false;
    return is_over_h2(r) ? r.ok() : r.status() == status::switching_protocols;
}

response passed_upgrade::pass_back(response r, fields kept, duration idle) const {
    auto theirs = r.detach();
    if (!theirs) return {status::bad_gateway, "502 Bad Gateway\n"};
    if (!made_key_.empty()) {
        if (!is_over_h2(r) && kept.get(accept_field) != acceptance_of(made_key_)) {
            theirs->stream->close(true);
            return {status::bad_gateway, "502 Bad Gateway\n"};
        }
        kept.remove(accept_field);
    } else if (!key_.empty() && is_over_h2(r)) {
        kept.set(accept_field, acceptance_of(key_));
    }
    auto join = [theirs = *std::move(theirs), idle](upgraded_connection& ours) mutable -> task<> {
        return join_streams(ours.stream, std::move(ours.received), std::move(theirs), idle);
    };
    response switched = upgrade(protocol_, std::move(join));
    for (const field& f : kept) switched.fields().add(f);
    return switched;
}

}  // namespace coracle::http::detail
