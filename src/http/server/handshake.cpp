#include "http/server/handshake.hpp"

#include "net/proxy_protocol.hpp"

namespace coracle::http::detail {
namespace {

/// The response to plain HTTP on an https port.
constexpr std::string_view response_to_plain_http =
    "HTTP/1.1 400 Bad Request\r\n"
    "Content-Type: text/plain; charset=utf-8\r\n"
    "Content-Length: 46\r\n"
    "Connection: close\r\n"
    "\r\n"
    "This port speaks HTTPS: use https:// instead.\n";

}  // namespace

task<std::expected<accepted_connection, error>> handshake::run() {
    if (by_proxy_) {
        const bool good = co_await read_proxy_header();
        if (!good) co_return std::unexpected(std::move(failure_));
    }
    if (context_ != nullptr) {
        const bool good = co_await shake_hands();
        if (!good) co_return std::unexpected(std::move(failure_));
    } else {
        client_.stream = std::move(socket_);
        client_.received = std::move(received_);
    }
    co_return std::move(client_);
}

task<bool> handshake::receive_more() {
    net::receive more =
        received_ ? socket_->receive_into(std::move(received_)) : socket_->receive();
    auto came = co_await as_result(more);
    if (!came) {
        failure_ = std::move(came).error().in(phase::tls);
        co_return false;
    }
    received_ = std::move(*came);
    co_return true;
}

task<bool> handshake::read_proxy_header() {
    net::proxy_header header;
    for (;;) {
        const bool good = co_await receive_more();
        if (!good) {
            failure_.in(phase::proxy);
            co_return false;
        }
        const auto parsed = net::parse_proxy_header(received_.view(), header);
        if (parsed.status == net::proxy_status::need_more) continue;
        if (parsed.status == net::proxy_status::error) {
            failure_ = error(errc::protocol_error, "PROXY header", phase::proxy);
            failure_.on(socket_->peer().to_string() + ": " +
                        std::string(net::describe(parsed.error)));
            co_return false;
        }
        received_.consume(parsed.consumed);
        if (received_.empty()) received_.release();
        if (!header.is_local) client_.source = header.source;
        co_return true;
    }
}

/// A handshake begins with a byte that no method begins with (RFC 8446 section 5.1).
bool handshake::speaks_plain_http() const noexcept {
    const char first = *received_.data();
    return first >= 'A' && first <= 'Z';
}

task<bool> handshake::shake_hands() {
    if (received_.empty()) {
        const bool good = co_await receive_more();
        if (!good) co_return false;
    }
    if (speaks_plain_http()) {
        failure_ = error(tls::make_error_code(tls::errc::http_request), "handshake", phase::tls);
        failure_.on(socket_->peer().to_string());
        net::send sending = socket_->send(response_to_plain_http);
        static_cast<void>(co_await as_result(sending));
        co_return false;
    }
    auto accepted =
        co_await as_result(tls::accept(*context_, std::move(socket_), std::move(received_)));
    if (!accepted) {
        failure_ = std::move(accepted).error();
        co_return false;
    }
    client_.secured = accepted->get();
    client_.stream = std::move(*accepted);
    co_return true;
}

}  // namespace coracle::http::detail
