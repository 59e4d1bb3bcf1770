#include "http/exchange/host.hpp"

#include "base/exception_text.hpp"
#include "base/unprintable.hpp"
#include "http/exchange/failure.hpp"

#include <coracle/http/coding.hpp>
#include <coracle/http/problem.hpp>

#include <exception>

namespace coracle::http::detail {
using counters = server_counters;

/// Makes the response for the current exception.
void exchange_host::take_failure(exchange& e) {
    e.res = last_failed_response(e.req, std::current_exception());
}

response exchange_host::refusal(status shown, std::string_view why) const {
    if (handler_.shows_problems()) return problem(shown, why);
    return response(shown, std::string(why) + '\n');
}

/// Makes the response to a request for which no memory is to be used.
bool exchange_host::refuses(exchange& e) {
    if (!memory_.is_short(owner_->now())) return false;
    count(&counters::memory_refused);
    e.res = response(status::service_unavailable);
    e.res.set("Retry-After", "1");
    return true;
}

void exchange_host::response_over(const exchange& e, const net::address& peer, bool is_whole) {
    if (is_whole) return responded(e, peer);
    if (e.begun && !options_->observers.empty()) write_record(e, peer, false);
}

void exchange_host::write_record(const exchange& e, const net::address& peer,
                                 bool is_whole) noexcept {
    const access_record record{peer,
                               e.req,
                               e.res.status(),
                               e.body_bytes,
                               owner_->now() - e.started,
                               owner_->unix_time(),
                               is_whole};
    for (const response_observer& o : options_->observers) {
        try {
            o.observe(o.self, record);
        } catch (...) {
            observer_failed(peer);
        }
    }
}

/// Logs it, and no more: the response is on its way, and the other observers are called.
void exchange_host::observer_failed(const net::address& peer) const noexcept {
    try {
        log(log_level::error, peer,
            "an observer of responses threw: " +
                coracle::detail::describe_exception(std::current_exception()));
    } catch (...) {  // NOLINT(bugprone-empty-catch): no memory to say it
    }
}

void exchange_host::count_refused_body(std::error_code why) noexcept {
    if (why == coding_error::too_large)
        count(&counters::decoded_too_large);
    else if (why == coding_error::ratio_exceeded)
        count(&counters::decoded_ratio);
    else if (why == coding_error::window_too_large)
        count(&counters::decoded_window);
    else if (why == coding_error::no_memory)
        count(&counters::decoders_refused);
    else if (why.category() == coding_category())
        count(&counters::undecodable);
}

void exchange_host::log(log_level level, const net::address& peer, std::string_view text) const {
    const logger& l = owner_->log();
    if (!l.enabled(log_layer::http, level)) return;
    // The text of an exception may contain bytes of the client, so it is escaped before it reaches
    // a sink.
    l.write(log_layer::http, level,
            peer.to_string() + ' ' + coracle::detail::escape_unprintable(text));
}

}  // namespace coracle::http::detail
