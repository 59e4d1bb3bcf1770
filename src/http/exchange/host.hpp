#pragma once

#include "http/exchange/counters.hpp"
#include "http/exchange/exchange.hpp"
#include "http/exchange/memory_watch.hpp"
#include "http/message/token.hpp"

#include <coracle/http/drain_signal.hpp>
#include <coracle/http/handler.hpp>
#include <coracle/http/server.hpp>
#include <coracle/runtime/loop.hpp>

#include <string_view>
#include <system_error>

namespace coracle::http::detail {

/// The services of a server for the exchanges of one loop.
class exchange_host {
public:
    exchange_host(loop& owner, const handler& h, const server_options& o)
        : owner_(&owner), handler_(h), options_(&o),
          memory_(o, owner.backend().is_of_the_system()) {}
    exchange_host(const exchange_host&) = delete;
    exchange_host& operator=(const exchange_host&) = delete;

    loop& owner() const noexcept { return *owner_; }
    const server_options& options() const noexcept { return *options_; }
    loop_counters& counters() noexcept { return counters_; }
    const loop_counters& counters() const noexcept { return counters_; }
    void count(loop_counters::member which) noexcept { counters_.add(which); }
    /// Returns true while the server drains.
    bool draining() const noexcept { return draining_; }
    /// The drain signal for upgraded connections.
    drain_signal& drain_of_upgraded() noexcept { return drain_of_upgraded_; }

    /// Calls the handler. Returns true if there is a response, also for a failure; false if it must
    /// be awaited.
    bool call_handler(exchange& e) {
        try {
            if (memory_.needs_a_look(owner_->now()) && refuses(e)) [[unlikely]]
                return true;
            return handler_.call(e.req, e.res, e.pending);
        } catch (...) {
            take_failure(e);
            return true;
        }
    }

    /// Returns the response to a request that does not reach the handler: as its errors are.
    response refusal(status shown, std::string_view why) const;

    /// To be called when the response was sent: counts it and calls the observers.
    void responded(const exchange& e, const net::address& peer) {
        count(counter_of(e.res.status()));
        if (e.res.status() == status::content_too_large) count(&server_counters::body_too_large);
        if (!options_->observers.empty()) write_record(e, peer, true);
    }
    /// To be called when a response was sent, or not to its end: does as `responded` does, or calls
    /// the observers alone, where it had begun.
    void response_over(const exchange& e, const net::address& peer, bool is_whole);

    /// Counts a body that its reader refused for this reason.
    void count_refused_body(std::error_code why) noexcept;

    /// Writes a line about this peer to the log.
    void log(log_level level, const net::address& peer, std::string_view text) const;

protected:
    ~exchange_host() = default;
    memory_watch& memory() noexcept { return memory_; }
    bool draining_ = false;
    drain_signal drain_of_upgraded_;

private:
    static loop_counters::member counter_of(status code) noexcept {
        const int number = static_cast<int>(code);
        if (number < 300) return &server_counters::responses_2xx;
        if (number < 400) return &server_counters::responses_3xx;
        return number < 500 ? &server_counters::responses_4xx : &server_counters::responses_5xx;
    }
    static void take_failure(exchange& e);
    bool refuses(exchange& e);
    void write_record(const exchange& e, const net::address& peer, bool is_whole) noexcept;
    void observer_failed(const net::address& peer) const noexcept;

    loop* owner_;
    handler handler_;
    const server_options* options_;
    memory_watch memory_;
    loop_counters counters_;
};

/// Adds one to a gauge of `server_counters` while this lives; nothing where `which` is null.
class gauge_entry {
public:
    gauge_entry(loop_counters& c, loop_counters::member which) noexcept : of_(&c), which_(which) {
        if (which_ != nullptr) of_->add(which_);
    }
    gauge_entry(gauge_entry&& other) noexcept
        : of_(other.of_), which_(std::exchange(other.which_, nullptr)) {}
    gauge_entry& operator=(gauge_entry&&) = delete;
    ~gauge_entry() {
        if (which_ != nullptr) of_->subtract(which_);
    }

private:
    loop_counters* of_;
    loop_counters::member which_;
};

/// Returns the gauge of connections that have switched to this protocol; null where it has none.
inline loop_counters::member gauge_of(std::string_view protocol) noexcept {
    return equal_ignoring_case(protocol, "websocket") ? &server_counters::websockets : nullptr;
}

}  // namespace coracle::http::detail
