#include "http/server/h2_stream.hpp"

#include "http/exchange/run_exchange.hpp"
#include "http/h1/target.hpp"
#include "http/h2/moved_text.hpp"
#include "http/server/canonical_path.hpp"
#include "http/server/h2_connection.hpp"
#include "http/server/served_scheme.hpp"

#include <cerrno>
#include <new>

namespace coracle::http::detail {

using counters = server_counters;

/// The task of an exchange that has to wait for something.
class h2_stream::runner final : public coracle::detail::spawned {
public:
    static void begin(h2_stream& s) {
        auto r = std::make_unique<runner>(s);
        task<> work = s.work();
        s.runner_ = r.get();
        s.home_->handler_begins();
        loop& owner = s.owner().owner();
        runner& started = *r.release();
        const auto first = started.child::begin(std::move(work), owner, nullptr, "exchange");
        started.own_context().attach_isolated(s.owner().context());
        first.resume();
    }
    explicit runner(h2_stream& s) noexcept : stream_(&s) {}

private:
    void over() noexcept override {
        const bool in_order = !was_stopped();
        const std::exception_ptr thrown = exception();
        destroy();
        stream_->task_over(thrown, in_order);
    }
    h2_stream* stream_;
};

h2_stream::body_limit::body_limit(h2_stream& s) : deadline(s.owner().owner()), stream_(&s) {}

h2_stream::h2_stream(h2_connection& home)
    : response_channel(home.owner()), deadline(home.owner().owner()), home_(&home),
      exchange_(home.owner().exchanges.take()) {
    exchange_->started = owner().owner().now();
    arm_in(timeouts().head);
}

h2_stream::~h2_stream() {
    disarm();
    home_->give_back_head(head_cost_);
    exchange_->drop_large_response();
    exchange_->clear();
    owner().exchanges.give_back(exchange_);
}

shard& h2_stream::owner() const noexcept {
    return home_->owner();
}

const net::address& h2_stream::client_address() const noexcept {
    return home_->info().peer();
}

void h2_stream::head_received(const h2::head& message, bool end) {
    head_there_ = true;
    disarm();
    if (!home_->hold_head(message.cost)) {
        home_->session().refuse(*this, h2::limit_kind::heads);
        return;
    }
    head_cost_ = message.cost;
    owner().count(&counters::requests);
    if (!prepare(message, end)) return;
    const bool ready = owner().call_handler(*exchange_);
    if (ready) check_response(*exchange_);
    if (ready && fits())
        respond_at_once();
    else
        runner::begin(*this);
}

void h2_stream::head_too_large() {
    head_there_ = true;
    disarm();
    owner().count(&counters::requests);
    request::parts nothing;
    nothing.peer = &client_address();
    nothing.version = version::http_2;
    exchange_->req.assign(nothing);
    respond_with(status::request_header_fields_too_large, "the head of the request is too large");
}

/// Prepares the request. Returns false when a response was sent already.
bool h2_stream::prepare(const h2::head& message, bool end) {
    exchange& e = *exchange_;
    arena& memory = e.req.memory();
    const h2::moved_text moved(message, memory);
    const std::string_view target = moved.at(message.path);
    const std::size_t mark = target.find('?');
    const auto path = canonical_path(target.substr(0, mark), memory);
    const bool has_query = mark != std::string_view::npos;
    asks_for_tunnel_ = !message.protocol.empty();
    e.req.assign({.method = asks_for_tunnel_ ? method::get : message.method,
                  .version = version::http_2,
                  .method_text = asks_for_tunnel_ ? "GET" : moved.at(message.method_text),
                  .target = target.empty() ? moved.at(message.authority) : target,
                  .path = path.value_or(std::string_view()),
                  .query = has_query ? target.substr(mark + 1) : std::string_view(),
                  .host = moved.at(message.authority),
                  .peer = &client_address(),
                  .connection = &home_->info(),
                  .exchange = this});
    bool has_host = false;
    for (const field& f : message.fields) {
        has_host = has_host || f.id == field_id::host;
        if (f.id == field_id::other && f.name == "priority") {
            home_->session().prioritize(*this, h2::parse_priority(f.value));
        }
    }
    // Handlers that read the Host field find it in every version of HTTP.
    const field host{to_string(field_id::host), e.req.host(), field_id::host};
    moved.give_lines(e.req.fields(), message.fields, has_host ? nullptr : &host);
    if (asks_for_tunnel_) note_offer(message.protocol, e.req.fields());
    if (!path && message.method == method::connect && !asks_for_tunnel_) {
        respond_with(status::not_implemented, "there are no tunnels here");
        return false;
    }
    if (!path) {
        owner().count(&counters::malformed);
        respond_with(status::bad_request, "the path is not a valid encoding");
        return false;
    }
    if (!e.req.host().empty() && !h1::is_host(e.req.host())) {
        owner().count(&counters::malformed);
        respond_with(status::bad_request, "the host of the target is no host");
        return false;
    }
    if (!message.scheme.empty() && !serves_scheme(message.scheme, true)) {
        owner().count(&counters::malformed);
        respond_with(status::misdirected_request, "the scheme of the target is not served here");
        return false;
    }
    ended_ = end;
    if (end || asks_for_tunnel_) return true;
    if (message.has_content_length) {
        announced_ = static_cast<std::int64_t>(message.content_length);
    }
    continue_due_ = e.req.fields().has_token(field_id::expect, "100-continue");
    e.req.set_body(received_body(this));
    return true;
}

/// Responds without calling a handler.
void h2_stream::respond_with(status shown, std::string_view why) {
    exchange_->res = owner().refusal(shown, why);
    respond_at_once();
}

task<> h2_stream::work() {
    const gauge_entry request(owner().counters(), &counters::in_flight);
    const bool ok = co_await run_exchange(*exchange_, *this);
    if (!ok) abandon();
}

void h2_stream::task_over(const std::exception_ptr& thrown, bool in_order) noexcept {
    runner_ = nullptr;
    home_->handler_ends();
    if (thrown != nullptr) {
        try {
            std::rethrow_exception(thrown);
        } catch (const std::bad_alloc&) {
            owner().count(&counters::out_of_memory);
        } catch (...) {
            coracle::detail::log_unhandled(owner().owner(), "exchange", thrown);
        }
    }
    if (thrown != nullptr || !in_order) abandon();
    // Unread content must still be given back to the connection's window.
    if (stream::over()) give_back(content_.clear());
    home_->schedule_flush();
}

/// Resets the stream, so that the client sees that the response is incomplete.
void h2_stream::abandon() noexcept {
    if (stream::over()) return;
    reset(client_gone() ? h2::error_code::cancel : h2::error_code::internal_error);
}

void h2_stream::reset(h2::error_code code) noexcept {
    try {
        home_->session().reset(*this, code);
    } catch (const std::bad_alloc&) {
        home_->fail_without_memory();
    }
    // Behind a complete response, the rest of the request alone is refused by it.
    over(code != h2::error_code::no_error);
    home_->schedule_flush();
}

void h2_stream::over(bool lost) noexcept {
    lost_ = lost_ || lost;
    disarm();
    const std::size_t unread = runner_ == nullptr ? content_.clear() : 0;
    give_back(unread);
    readable_.set();
    wake_writer();
    if (lost && tunnel_ != nullptr) tunnel_->lost(ECONNRESET);
}

void h2_stream::lose_client() noexcept {
    if (tunnel_ == nullptr)
        give_up_client();
    else
        client_gone_ = true;
}

void h2_stream::cut() noexcept {
    lost_ = true;
    disarm();
    if (tunnel_ != nullptr)
        tunnel_->lost(ECONNRESET);
    else
        stop();
    readable_.set();
    wake_writer();
}

void h2_stream::stop() noexcept {
    if (runner_ != nullptr) runner_->cancel();
}

void h2_stream::expired() noexcept {
    if (!head_there_) {
        // An incomplete head blocks the whole connection (RFC 9113 section 6.10).
        owner().count(&counters::head_timeouts);
        home_->head_is_late();
        return;
    }
    if (!writing_) {
        // Behind a response that is complete before its request.
        reset(h2::error_code::no_error);
        return;
    }
    const time_point now = owner().owner().now();
    const auto gone = static_cast<std::int64_t>(offered_ - unsent());
    // The client is not at fault for a stream that waits behind others.
    const bool client_gives_no_window = is_held() || home_->session().send_window() <= 0;
    if (!client_gives_no_window) send_pace_.excuse(now, gone);
    if (!send_pace_.still_moves(now, gone) && client_gives_no_window) {
        owner().count(&counters::write_timeouts);
    } else if (send_pace_.is_too_slow(timeouts())) {
        owner().count(&counters::write_too_slow);
    } else {
        arm_in(send_pace::between_looks(timeouts()));
        return;
    }
    reset(h2::error_code::cancel);
}

}  // namespace coracle::http::detail
