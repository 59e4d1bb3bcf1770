#include "http/message/retry_after.hpp"
#include "runtime/backoff.hpp"

#include <coracle/connect/proxy.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/tls/error.hpp>
#include <coracle/websocket/fault.hpp>
#include <coracle/websocket/reconnecting.hpp>

#include <algorithm>

namespace coracle::websocket {
namespace {

bool is_passing(http::status s) noexcept {
    switch (s) {
        case http::status::request_timeout:
        case http::status::too_early:
        case http::status::too_many_requests: return true;
        case http::status::not_implemented:
        case http::status::http_version_not_supported: return false;
        default: return static_cast<unsigned>(s) >= 500;
    }
}

bool is_passing(tls::errc e) noexcept {
    switch (e) {
        case tls::errc::bad_record:
        case tls::errc::truncated:
        // The clock of a machine that has just begun may be wrong.
        case tls::errc::certificate_not_yet_valid: return true;
        default: return false;
    }
}

/// Returns true for what is wrong with the path of a file, such as that of a certificate.
bool is_of_path(const error& e) noexcept {
    using enum std::errc;
    for (const std::errc one : {no_such_file_or_directory, permission_denied, not_a_directory,
                                is_a_directory, filename_too_long, too_many_symbolic_link_levels}) {
        if (e == one) return true;
    }
    return false;
}

/// Returns false for failures that another attempt will not mend.
bool is_passing(const error& e) noexcept {
    if (const refusal* const r = refusal_in(e)) return is_passing(r->status);
    if (e.code().category() == tls::category()) {
        return is_passing(static_cast<tls::errc>(e.code().value()));
    }
    const bool of_file = e.phase() == phase::tls && is_of_path(e);
    const bool of_proxy = e == make_error_code(connect::proxy_errc::credentials_wanted) ||
                          e == make_error_code(connect::proxy_errc::credentials_refused);
    return !of_file && !of_proxy && e != make_error_code(fault::bad_handshake) &&
           e != std::errc::invalid_argument && e != std::errc::protocol_not_supported;
}

}  // namespace

reconnecting::reconnecting(http::client& client, std::string url, reconnect_options o,
                           const websocket::options& each)
    : client_(&client), url_(std::move(url)), options_(o), each_(each) {}

operation<std::optional<message>> reconnecting::receive() {
    return receive_next();
}

operation<void> reconnecting::send(message_type type, std::string bytes) {
    return send_or_queue(type, std::move(bytes));
}

operation<void> reconnecting::close(close_code c) {
    return close_for_good(c);
}

duration reconnecting::next_delay() noexcept {
    delay_ = coracle::detail::next_delay(delay_, options_.first_delay, options_.longest_delay);
    const duration asked = std::exchange(retry_after_, duration::zero());
    return std::max(coracle::detail::shortened_by_chance(delay_),
                    std::min(asked, options_.longest_retry_after));
}

task<std::expected<std::optional<message>, error>> reconnecting::receive_next() {
    for (;;) {
        if (closed_.is_set()) co_return std::optional<message>();
        if (!ready_) {
            auto connected = co_await reconnect();
            if (!connected) co_return std::unexpected(std::move(connected).error());
            continue;
        }
        auto receiving = ws_->receive();
        auto came = co_await as_result(receiving);
        if (came && *came) co_return *std::move(came);
        if (!came && came.error() == std::errc::operation_canceled) {
            co_return std::unexpected(std::move(came).error());
        }
        ready_ = false;
        // A server that accepts connections and closes them at once must not be called without a
        // pause (RFC 6455 section 7.2.3).
        if (loop::current()->now() - since_ > delay_) delay_ = {};
    }
}

task<std::expected<void, error>> reconnecting::reconnect() {
    // Goes on where a cancelled call has left off.
    if (greeted_ && ws_->is_open()) {
        auto sent = co_await send_queued();
        if (sent || sent.error() == std::errc::operation_canceled) co_return sent;
    }
    if (std::exchange(greeted_, false)) put_off(next_delay());
    while (!closed_.is_set()) {
        if (next_attempt_ > loop::current()->now()) {
            auto waiting = with_deadline(next_attempt_, closed_.wait());
            auto closed = co_await as_result(waiting);
            if (closed) break;
            if (closed.error() != std::errc::timed_out) co_return closed;
        }
        auto made = co_await attempt();
        if (made || closed_.is_set()) break;
        if (made.error() == std::errc::operation_canceled) {
            // A caller who is cancelled all the time calls the server no more often than others.
            put_off(coracle::detail::shortened_by_chance(std::max(delay_, options_.first_delay)));
            co_return made;
        }
        put_off(next_delay());
        const bool goes_on = goes_on_after(made.error());
        if (++attempts_failed_ == options_.attempts || !goes_on) {
            attempts_failed_ = 0;
            co_return made;
        }
    }
    attempts_failed_ = 0;
    co_return std::expected<void, error>();
}

/// Sets the time of the next attempt, which holds for later calls too.
void reconnecting::put_off(duration d) noexcept {
    next_attempt_ = coracle::detail::later(loop::current()->now(), d);
}

bool reconnecting::goes_on_after(const error& failure) {
    return failed_ ? failed_(failure) : served_ || is_passing(failure);
}

task<std::expected<void, error>> reconnecting::attempt() {
    greeted_ = false;
    ws_.reset();
    std::expected<void, error> made;
    auto first = when_any(dial(&made), closed_.wait());
    auto ended = co_await as_result(first);
    if (!ended) co_return std::unexpected(std::move(ended).error());
    if (closed_.is_set()) co_return std::expected<void, error>();
    if (!made) co_return made;
    if (connected_) {
        auto told = co_await as_result(connected_(*ws_));
        if (!told) co_return std::unexpected(std::move(told).error());
    }
    greeted_ = served_ = true;
    since_ = loop::current()->now();
    co_return co_await send_queued();
}

task<> reconnecting::dial(std::expected<void, error>* outcome) {
    auto dialing = connect(*client_, url_);
    dialing.options(each_);
    if (connecting_) connecting_(dialing);
    auto made = co_await as_result(std::move(dialing));
    if (!made) {
        if (const refusal* const r = refusal_in(made.error())) {
            retry_after_ =
                http::parse_retry_after(r->fields.get("Retry-After"), loop::current()->unix_time())
                    .value_or(std::chrono::seconds(0));
        }
        *outcome = std::unexpected(std::move(made).error());
    } else if (!closed_.is_set()) {
        ws_.emplace(*std::move(made));
        ++made_;
    }
}

task<std::expected<void, error>> reconnecting::send_queued() {
    while (!queue_.empty()) {
        // Other tasks may queue and drop messages meanwhile.
        queued_message next = std::move(queue_.front());
        queue_.pop_front();
        auto sending = ws_->send(next.type, next.bytes);
        auto sent = co_await as_result(sending);
        if (sent) continue;
        const bool goes_on = sending.has_begun() && sent.error() == std::errc::operation_canceled;
        if (!goes_on) queue_.push_front(std::move(next));
        co_return std::unexpected(std::move(sent).error());
    }
    ready_ = true;
    co_return std::expected<void, error>();
}

task<std::expected<void, error>> reconnecting::send_or_queue(message_type type, std::string bytes) {
    if (closed_.is_set()) {
        co_return std::unexpected(error(std::errc::broken_pipe, "websocket send", phase::send));
    }
    if (ready_ && ws_->is_open()) {
        auto sending = ws_->send(type, bytes);
        auto sent = co_await as_result(sending);
        const bool is_over = sent || sent.error() == std::errc::operation_canceled;
        // Nobody would send it later.
        if (is_over || closed_.is_set()) co_return sent;
    }
    if (queue_.size() >= options_.queued) {
        if (options_.policy == queue_policy::refuse) {
            error full(errc::limit_exceeded, "websocket send", phase::send);
            co_return std::unexpected(std::move(full.on("reconnect_options::queued")));
        }
        ++dropped_;
        if (options_.policy == queue_policy::drop_newest || queue_.empty()) {
            co_return std::expected<void, error>();
        }
        queue_.pop_front();
    }
    queue_.push_back({type, std::move(bytes)});
    co_return std::expected<void, error>();
}

task<std::expected<void, error>> reconnecting::close_for_good(close_code c) {
    closed_.set();
    if (!ws_) co_return std::expected<void, error>();
    co_return co_await as_result(ws_->close(c));
}

}  // namespace coracle::websocket
