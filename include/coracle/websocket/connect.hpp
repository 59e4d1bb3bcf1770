#pragma once

#include <coracle/base/unique_function.hpp>
#include <coracle/http/client.hpp>
#include <coracle/websocket/connection.hpp>
#include <coracle/websocket/options.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::websocket {

namespace detail {
struct handshake_request;
struct handshake_deleter {
    void operator()(handshake_request* r) const noexcept;
};
}  // namespace detail

/// The response by which a server has refused a handshake.
struct refusal {
    http::status status = http::status::ok;
    http::fields fields;
    std::string body;  ///< the first 4 KiB, as far as they came within a second
};

/// A connection that a client is to make: awaited, it is made, and gives the `connection`. Lazy and
/// move-only; once. What `connect` gives.
class [[nodiscard]] connecting {
public:
    using result_type = std::expected<connection, error>;

    connecting(connecting&&) noexcept;
    connecting& operator=(connecting&&) = delete;
    ~connecting();

    /// Sets a field of the request; those of the handshake itself stay as they are.
    connecting& header(std::string_view name, std::string_view value) &;
    connecting&& header(std::string_view name, std::string_view value) && {
        return std::move(header(name, value));
    }
    /// Offers a subprotocol, besides those that were offered: the preferred one first.
    connecting& subprotocol(std::string_view name) &;
    connecting&& subprotocol(std::string_view name) && { return std::move(subprotocol(name)); }
    /// Authentication for this request (RFC 6750, RFC 7617).
    connecting& bearer(secret token) &;
    connecting&& bearer(secret token) && { return std::move(bearer(std::move(token))); }
    connecting& basic(std::string user, secret password) &;
    connecting&& basic(std::string user, secret password) && {
        return std::move(basic(std::move(user), std::move(password)));
    }
    /// For the handshake, in place of `client_options::total_timeout`.
    connecting& timeout(duration limit) &;
    connecting&& timeout(duration limit) && { return std::move(timeout(limit)); }
    /// Offers compression.
    connecting& compression(compression_mode mode) &;
    connecting&& compression(compression_mode mode) && { return std::move(compression(mode)); }
    /// Limits, timeouts and compression, in place of the usual ones.
    connecting& options(const websocket::options& all) &;
    connecting&& options(const websocket::options& all) && { return std::move(options(all)); }

    /// Calls `f(response)` with the response that has accepted the handshake, before the first
    /// message is received: for its fields, and `info()`. It must not read a body.
    connecting& on_accepted(unique_function<void(const http::response&)> f) &;
    connecting&& on_accepted(unique_function<void(const http::response&)> f) && {
        return std::move(on_accepted(std::move(f)));
    }

    // As an operation.
    void give_errors() noexcept { gives_errors_ = true; }
    bool await_ready() { return begin().await_ready(); }
    template <coracle::detail::task_promise P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) noexcept {
        return running_->await_suspend(h);
    }
    connection await_resume() { return running_->await_resume(); }
    result_type outcome() { return running_->outcome(); }

private:
    friend connecting connect(http::client& client, std::string_view url);
    connecting(http::client& client, std::string_view url);
    operation<connection>& begin();

    std::unique_ptr<detail::handshake_request, detail::handshake_deleter> request_;
    std::optional<operation<connection>> running_;
    bool gives_errors_ = false;
};

/// Connects to "ws://..." or "wss://..." (RFC 6455), with the proxies, certificates, cookies,
/// credentials and timeouts of the client; the connection belongs to the loop that awaits it. When
/// the loop ends, so does the connection. Where the client speaks HTTP/2 with the server, and the
/// server offers extended CONNECT (RFC 8441), it is a stream of that connection, which other calls
/// and other WebSockets share; otherwise a connection of HTTP/1.1 of its own.
///
///     auto ws = co_await websocket::connect(client, "wss://example.com/chat").subprotocol("chat");
///
/// Fails as a call of the client; with `fault::refused`, which names the status, when the server
/// responds with another status than 101, or 2xx over HTTP/2 (`refusal_in`), and with
/// `fault::bad_handshake` when its response is not one to this handshake. Cancelling it closes what
/// was opened.
connecting connect(http::client& client, std::string_view url);

/// Returns the response that an error of `connect` with `fault::refused` is about, as long as that
/// error; null for other errors.
const refusal* refusal_in(const error& e) noexcept;

}  // namespace coracle::websocket
