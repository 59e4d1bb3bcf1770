#pragma once

#include <coracle/runtime/event.hpp>
#include <coracle/websocket/connect.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::websocket {

/// The policy for messages that are sent while there is no connection, at the bound.
enum class queue_policy : std::uint8_t {
    drop_oldest,
    drop_newest,
    refuse,  ///< `send` fails with `errc::limit_exceeded`
};

struct reconnect_options {
    /// Wait before the second attempt; each further one is twice as long, and each is shortened by
    /// up to a half, by chance. A connection that lasts longer than the last wait begins anew.
    /// None is below half a millisecond. Default 100 ms.
    duration first_delay = std::chrono::milliseconds(100);
    /// Default 30 s.
    duration longest_delay = std::chrono::seconds(30);
    /// The wait after a refusal with Retry-After is as long as that says, or this. Default 5 min.
    duration longest_retry_after = std::chrono::minutes(5);
    /// Attempts in a row that may fail; 0: unlimited. Default 0.
    unsigned attempts = 0;
    /// Messages that are kept while there is no connection. Default 256.
    std::size_t queued = 256;
    /// Default: the oldest message is dropped.
    queue_policy policy = queue_policy::drop_oldest;
};

/// A client's connection that is made anew when it is lost. Belongs to one loop. A task has to
/// receive: that is when it connects, and notices the loss. Messages are delivered at most once:
/// those on their way when a connection is lost are lost with it.
///
/// Until a first connection has been made, a failure that another attempt will not mend ends
/// `receive` at once: a URL that is malformed or has another scheme, a status below 500 (but for
/// 408, 425 and 429), 501 or 505, a response that is no handshake, TLS that is not agreed upon, a
/// certificate that is not accepted, on either side (but one that is not valid yet: a clock may be
/// wrong), or whose file cannot be read, a proxy that wants other credentials. After that it goes
/// on whatever fails, as the server may be mended.
///
///     websocket::reconnecting feed(client, "wss://example.com/feed");
///     feed.on_connect(subscribe);
///     while (auto message = co_await feed.receive()) use(*message);
class reconnecting {
public:
    /// The client must outlive it.
    reconnecting(http::client& client, std::string url, reconnect_options o = {},
                 const websocket::options& each = {});
    reconnecting(const reconnecting&) = delete;
    reconnecting& operator=(const reconnecting&) = delete;

    /// Calls `f(connecting&)` before each attempt: to set fields, offer subprotocols or give a
    /// token that is still valid.
    void on_connecting(unique_function<void(connecting&)> f) { connecting_ = std::move(f); }
    /// Calls `f(const error&)` with the failure of each attempt, to log it and to decide: `receive`
    /// fails with it unless `f` returns true, in place of the rule above.
    void on_failure(unique_function<bool(const error&)> f) { failed_ = std::move(f); }
    /// Awaits `f(connection&)`, a task, on each new connection before what is queued is sent: to
    /// subscribe again, say. A connection on which it fails counts as one that was not made.
    void on_connect(unique_function<task<>(connection&)> f) { connected_ = std::move(f); }

    /// Completes with the next message of any connection, or with nothing after `close`. Fails as
    /// `connect` when `reconnect_options::attempts` have failed in a row, or one has failed after
    /// which it does not go on; the next call goes on where that has left off. Cancelling it loses
    /// nothing that has come, but a connection that is being made, `on_connect` included: the next
    /// call makes another. The wait before an attempt goes on over calls that are cancelled.
    operation<std::optional<message>> receive();
    /// Completes when the message is in the output of the connection, or queued where there is
    /// none. Fails with `errc::limit_exceeded` as `queue_policy` says, and with
    /// `std::errc::broken_pipe` after `close`.
    operation<void> send(message_type type, std::string bytes);
    operation<void> send(std::string text) { return send(message_type::text, std::move(text)); }
    /// Closes the connection, if there is one, and connects no more: an attempt that is under way,
    /// or the wait before it, ends now.
    operation<void> close(close_code c = close_code::normal);

    bool is_connected() const noexcept { return ws_.has_value() && ws_->is_open(); }
    /// Handshakes that have succeeded so far, those included on which `on_connect` failed.
    std::uint64_t connections() const noexcept { return made_; }
    /// Messages that were dropped at `reconnect_options::queued`.
    std::uint64_t dropped() const noexcept { return dropped_; }

private:
    struct queued_message {
        message_type type;
        std::string bytes;
    };
    task<std::expected<std::optional<message>, error>> receive_next();
    task<std::expected<void, error>> reconnect();
    task<std::expected<void, error>> attempt();
    task<> dial(std::expected<void, error>* outcome);
    bool goes_on_after(const error& failure);
    task<std::expected<void, error>> send_queued();
    task<std::expected<void, error>> send_or_queue(message_type type, std::string bytes);
    task<std::expected<void, error>> close_for_good(close_code c);
    duration next_delay() noexcept;
    void put_off(duration d) noexcept;

    http::client* client_;
    std::string url_;
    reconnect_options options_;
    websocket::options each_;
    unique_function<void(connecting&)> connecting_;
    unique_function<bool(const error&)> failed_;
    unique_function<task<>(connection&)> connected_;
    std::optional<connection> ws_;
    std::deque<queued_message> queue_;
    duration delay_{};        ///< the last one, before a random part is taken off
    duration retry_after_{};  ///< of the last refusal
    time_point next_attempt_ = time_point::min();
    unsigned attempts_failed_ = 0;  ///< in a row
    time_point since_{};            ///< the connection is there
    std::uint64_t made_ = 0;
    std::uint64_t dropped_ = 0;
    bool greeted_ = false;  ///< `on_connect` has been called
    bool served_ = false;   ///< it has been, without a failure, for a connection before, too
    bool ready_ = false;    ///< and what was queued is sent
    event closed_;
};

}  // namespace coracle::websocket
