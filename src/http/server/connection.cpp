#include "http/server/connection.hpp"

#include "base/unprintable.hpp"
#include "http/server/canonical_path.hpp"
#include "http/server/failure.hpp"
#include "http/server/guarded_call.hpp"
#include "http/server/interim_writer.hpp"
#include "http/transport_security.hpp"

#include <coracle/runtime/sleep.hpp>

namespace coracle::http::detail {

using counters = server_counters;

namespace {

/// Whether code of the user is to be waited for.
bool may_wait(const exchange& e) noexcept {
    return e.pending || e.res.body().type() == body::kind::stream;
}

}  // namespace

/// The part of a connection's life in which something has to be waited for.
class connection::episode final : public coracle::detail::spawned {
public:
    static void begin(connection& c, step next) {
        auto e = std::make_unique<episode>(c);
        task<> work = c.serve_waiting(next);
        c.episode_ = e.get();
        loop& owner = c.shard_->owner();
        episode& started = *e.release();
        const auto first = started.child::begin(std::move(work), owner, nullptr, "connection");
        started.own_context().attach_isolated(c.shard_->context());
        first.resume();
    }
    explicit episode(connection& c) noexcept : connection_(&c) {}

private:
    void over() noexcept override {
        const bool in_order = !was_stopped();
        const std::exception_ptr thrown = exception();
        destroy();
        connection_->episode_over(thrown, in_order);
    }
    connection* connection_;
};

connection::connection(shard& owner, std::unique_ptr<net::byte_stream> stream,
                       const tls::stream* secured)
    : deadline(owner.owner()), hangup_watch{&connection::peer_gone},
      receive_operation(&connection::received), shard_(&owner), stream_(std::move(stream)),
      info_(stream_->peer(), secured) {
    const duration lifetime = owner.options().timeouts.lifetime;
    const auto spread = static_cast<std::uint64_t>(lifetime.count() / 10) + 1;
    retires_ = owner.owner().now() + lifetime +
               duration(static_cast<std::int64_t>(owner.owner().random() % spread));
    owner.opened(*this);
}

connection::~connection() {
    release(exchange_);
    static_cast<shard_link&>(*this).unlink();
    shard_->closed();
}

void connection::end() noexcept {
    disarm();
    stream_->close(reset_);
    delete this;
}

void connection::drain() noexcept {
    keep_alive_ = false;
    // It may have sent its next request before it has read the last answer.
    lingers_ = true;
    if (phase_ == phase::idle && reading_) end_wait();
}

void connection::cut() noexcept {
    if (phase_ != phase::idle && phase_ != phase::linger) shard_->count(&counters::cut_by_drain);
    reset_ = true;
    if (episode_ != nullptr)
        episode_->cancel();
    else
        end_wait();
}

void connection::end_wait() noexcept {
    if (reading_)
        stream_->cancel(*this);
    else if (wait_ != nullptr)
        wait_->cancel();
}

void connection::log(log_level level, std::string_view text) const {
    const logger& l = shard_->owner().log();
    if (!l.enabled(log_layer::http, level)) return;
    // What a handler throws may hold bytes of the client, and a sink need not be careful.
    l.write(log_layer::http, level,
            info_.peer().to_string() + ' ' + coracle::detail::escape_unprintable(text));
}

void connection::peer_gone(hangup_watch& w) noexcept {
    auto& self = static_cast<connection&>(w);
    self.client_gone_ = true;
    if (self.handler_context_ != nullptr) self.handler_context_->cancel();
}

void connection::expired() noexcept {
    switch (phase_) {
        case phase::write:
            if (progress_ != nullptr && still_writes()) {
                arm_in(shard_->options().timeouts.write / write_checks);
                return;
            }
            shard_->count(&counters::write_timeouts);
            reset_ = true;
            break;
        case phase::idle: shard_->count(&counters::idle_timeouts); break;
        case phase::head: shard_->count(&counters::head_timeouts); break;
        default: break;
    }
    timed_out_ = true;
    end_wait();
}

/// Looks several times in the time that a write may stand still, so that it is not cut much later.
bool connection::still_writes() noexcept {
    if (*progress_ != progress_seen_) {
        progress_seen_ = *progress_;
        stalls_ = 0;
        return true;
    }
    return ++stalls_ < write_checks;
}

void connection::await_head() noexcept {
    if (!into.empty()) {
        // A partial head is kept in a block of its size, not in one made for reading.
        if (into.capacity() >= buffer::default_capacity / 4 && into.size() * 4 < into.capacity()) {
            partial_ = buffer(into.size());
            partial_.append(into.view());
            into.release();
        } else {
            partial_ = std::move(into);
        }
    } else {
        into.release();
    }
    if (parser_.started()) {
        if (phase_ == phase::head) return;
        phase_ = phase::head;
        arm_in(shard_->options().timeouts.head);
        return;
    }
    // Empty lines before a request are not the beginning of one.
    phase_ = phase::idle;
    arm_in(shard_->options().timeouts.idle);
}

void connection::take_input(buffer& received) {
    if (into.empty()) {
        into = std::move(received);
    } else {
        into.append(received.view());
        received.release();
    }
}

/// Starts to wait for bytes; true when some are there, or the end is.
bool connection::read() noexcept {
    capacity = buffer::default_capacity;
    reading_ = true;
    if (!stream_->start(*this)) return false;
    loop& l = shard_->owner();
    if (!l.may_complete_inline()) {
        l.complete_later(*this);
        return false;
    }
    reading_ = false;
    return true;
}

void connection::received(io_operation& op) noexcept {
    auto& self = static_cast<connection&>(static_cast<receive_operation&>(op));
    self.reading_ = false;
    self.shard_->owner().runs("connection");
    try {
        self.go_on_without_waiting(self.after_read());
    } catch (...) {
        self.episode_over(std::current_exception(), true);
    }
}

connection::step connection::after_read() {
    if (into.empty()) {
        return timed_out_ && phase_ == phase::head ? refuse_late() : step::close;
    }
    if (partial_) {
        partial_.append(into.view());
        into = std::move(partial_);
    }
    return process();
}

void connection::start(buffer received, const net::address* client) noexcept {
    try {
        if (client != nullptr) info_.speaks_for(*client);
        into = std::move(received);
        go_on_without_waiting(process());
    } catch (...) {
        episode_over(std::current_exception(), true);
    }
}

void connection::go_on(step next) noexcept {
    try {
        go_on_without_waiting(next);
    } catch (...) {
        episode_over(std::current_exception(), true);
    }
}

void connection::go_on_without_waiting(step next) {
    while (next == step::receive && flush_now()) {
        if (shard_->draining() && !parser_.started()) {
            next = step::close;
            break;
        }
        await_head();
        if (!read()) return;
        next = after_read();
    }
    if (next == step::close && !lingers_ && flush_now()) {
        end();
        return;
    }
    episode::begin(*this, next);
}

/// From the first thing that has to be waited for to the point where there is nothing left to do
/// but to read the next head, or to close.
task<> connection::serve_waiting(step next) {
    do {
        if (next == step::exchange) {
            const bool goes_on = co_await finish_exchange();
            next = goes_on ? process() : step::close;
        } else if (next == step::yield) {
            co_await as_result(yield());
            next = process();
        }
        bool flushed = flush_now();
        if (!flushed) flushed = co_await flush();
        if (!flushed) next = step::close;
    } while (next == step::exchange || next == step::yield);
    if (next == step::receive) co_return;
    closes_ = true;
    disarm();
    if (lingers_ && !reset_ && !client_gone_) co_await linger();
}

void connection::episode_over(std::exception_ptr thrown, bool ended_in_order) noexcept {
    episode_ = nullptr;
    if (thrown != nullptr) {
        coracle::detail::log_unhandled(shard_->owner(), "connection", thrown);
    }
    if (thrown != nullptr || !ended_in_order || closes_)
        end();
    else
        go_on(step::receive);
}

connection::step connection::process() {
    std::uint32_t handled = 0;
    while (!into.empty()) {
        const auto parsed = parser_.parse(into.view(), shard_->head, shard_->head_limits());
        if (parsed.status == h1::parse_status::need_more) return step::receive;
        if (parsed.status == h1::parse_status::error) return refuse(parsed.error);
        const step next = begin_exchange(parsed.consumed);
        if (next != step::receive) return next;
        if (++handled == shard_->options().limits.pipelined && !into.empty()) {
            shard_->count(&counters::pipeline_yields);
            return step::yield;
        }
    }
    return step::receive;
}

connection::step connection::refuse(h1::parse_error why) {
    const status answer = h1::status_for(why);
    switch (answer) {
        case status::request_header_fields_too_large:
            shard_->count(&counters::head_too_large);
            break;
        case status::uri_too_long: shard_->count(&counters::target_too_long); break;
        default: shard_->count(&counters::malformed); break;
    }
    log(log_level::debug, h1::describe(why));
    return refuse_with(answer, h1::describe(why));
}

connection::step connection::refuse_late() {
    return refuse_with(status::request_timeout, "the head of the request took too long");
}

/// Answers where there is no request, and ends the connection.
connection::step connection::refuse_with(status answer, std::string_view why) {
    exchange* e = shard_->take_exchange();
    e->started = shard_->owner().now();
    request::parts nothing;
    nothing.peer = &info_.peer();
    e->req.assign(nothing);
    e->res = response(answer, std::string(why) + '\n');
    keep_alive_ = false;
    lingers_ = true;
    write_in_memory(*e);
    answered(*e);
    release(e);
    return step::close;
}

connection::step connection::begin_exchange(std::size_t head_size) {
    exchange* e = shard_->take_exchange();
    exchange_ = e;
    shard_->count(&counters::requests);
    ++requests_;
    phase_ = phase::idle;  // the next head has a time of its own
    if (!prepare(*e, head_size)) {
        exchange_ = nullptr;
        release(e);
        shard_->count(&counters::malformed);
        return refuse_with(status::bad_request, "the path is not a valid encoding");
    }
    const bool ready = call_handler(*e);
    if (!ready || !e->body.complete() || !fits(*e)) return step::exchange;
    write_in_memory(*e);
    answered(*e);
    exchange_ = nullptr;
    release(e);
    return may_continue() ? step::receive : step::close;
}

bool connection::prepare(exchange& e, std::size_t head_size) {
    h1::request_head& head = shard_->head;
    arena& memory = e.req.memory();
    const char* const from = into.data();
    const std::string_view copy = memory.copy({from, head_size});
    h1::rebase(head, from, head_size, copy.data());
    into.consume(head_size);

    e.started = shard_->owner().now();
    e.keep_alive = head.keep_alive;
    const auto path = canonical_path(head.path, memory);
    if (!path) return false;
    e.req.assign({.method = head.method,
                  .version = head.version,
                  .method_text = head.method_text,
                  .target = head.target,
                  .path = *path,
                  .query = head.query,
                  .host = head.host,
                  .peer = &info_.peer(),
                  .connection = &info_});
    e.req.fields().adopt(head.fields.data(), head.fields.size());
    if (head.framing != h1::body_framing::none) {
        e.body.begin(*this, head.framing, head.content_length, head.expect_continue);
        e.req.set_body(received_body(&e.body));
    }
    return true;
}

/// True when the answer is there, false when it has to be waited for.
bool connection::call_handler(exchange& e) {
    try {
        return shard_->target().call(e.req, e.res, e.pending);
    } catch (...) {
        take_failure(e, std::current_exception());
        return true;
    }
}

void connection::take_failure(exchange& e, std::exception_ptr thrown) {
    failure f = answer_to(std::move(thrown));
    if (!f.reason.empty()) {
        shard_->count(&counters::handler_errors);
        log(log_level::error, "a handler failed for " + std::string(e.req.method_text()) + ' ' +
                                  std::string(e.req.target()) + ": " + f.reason);
    }
    add_transport_security(e.req, f.answer);
    e.res = std::move(f.answer);
}

/// Whether another request may follow the one that was answered.
bool connection::may_continue() noexcept {
    return keep_alive_;
}

/// Once, however many waits the client has ended.
void connection::count_gone() noexcept {
    if (!std::exchange(gone_counted_, true)) shard_->count(&counters::clients_gone);
}

void connection::release(exchange* e) noexcept {
    if (e == nullptr) return;
    if (e->pending) e->pending.reset();
    e->res.clear();
    e->req.clear();
    e->body.end();
    e->body_bytes = 0;
    shard_->give_back(e);
}

task<bool> connection::finish_exchange() {
    exchange& e = *exchange_;
    shard_->counters().add(&counters::in_flight);
    bool ok = co_await call_and_answer(e);
    if (ok && !e.body.complete()) ok = co_await discard_body(e);
    shard_->counters().subtract(&counters::in_flight);
    release(std::exchange(exchange_, nullptr));
    co_return ok&& may_continue();
}

task<bool> connection::call_and_answer(exchange& e) {
    phase_ = phase::handler;
    disarm();
    timed_out_ = false;
    if (may_wait(e) && !output_.empty() && !flush_now()) {
        // The answers to earlier requests must not wait for this one.
        const bool flushed = co_await flush();
        if (!flushed) co_return false;
    }
    if (e.pending) {
        const interim_writer interim(*this, e.req);
        guarded_call<response> call(std::move(e.pending), handler_context_);
        // A client that has ended its side before the handler runs did so on purpose (HTTP/1.0, a
        // shell script), and is answered; one that does so later has gone away.
        stream_->watch_hangup(this);
        co_await call;
        stream_->watch_hangup(nullptr);
        // Behind a write that failed, of a 100 or another interim answer, nothing can be
        // understood.
        if (reset_ || call.was_stopped() || (client_gone_ && call.exception() != nullptr)) {
            if (client_gone_) count_gone();
            reset_ = true;
            co_return false;
        }
        if (auto thrown = call.exception()) {
            take_failure(e, std::move(thrown));
        } else {
            e.res = call.take();
        }
    }
    const bool ok = co_await write_answer(e);
    if (ok) answered(e);
    co_return ok;
}

task<bool> connection::discard_body(exchange& e) {
    if (keep_alive_ && !e.body.continue_is_due()) {
        const auto dropped = co_await drop_body(e);
        if (dropped) co_return true;
    }
    // RFC 9112 section 9.3: what is left of the body must not be taken for the next request.
    if (!e.body.complete()) shard_->count(&counters::bodies_not_discarded);
    lingers_ = true;
    co_return false;
}

/// Reads what is left of a body that nobody wants, within the bounds for that.
task<std::expected<void, error>> connection::drop_body(exchange& e) {
    const server_options& o = shard_->options();
    const std::uint64_t before = e.body.received();
    const time_point until = shard_->owner().now() + o.timeouts.linger;
    while (!e.body.complete()) {
        if (e.body.exceeds(o.limits.discard) || e.body.received() - before > o.limits.discard) {
            co_return std::unexpected(error(make_error_code(status::content_too_large), "body"));
        }
        e.body.set_patience(until - shard_->owner().now());
        auto piece = co_await e.body.read();
        if (!piece) co_return std::unexpected(std::move(piece).error());
        if (shard_->owner().now() >= until && !e.body.complete()) {
            co_return std::unexpected(error(std::errc::timed_out, "body"));
        }
    }
    co_return std::expected<void, error>();
}

task<std::expected<void, error>> connection::receive_more_body(request_body& body) {
    const bool flushed = co_await flush();
    if (!flushed) {
        co_return std::unexpected(error(std::errc::broken_pipe, "body", coracle::phase::send));
    }
    const phase before = phase_;
    const time_point since = shard_->owner().now();
    phase_ = phase::body;
    timed_out_ = false;
    // A full block means that much is coming: a larger one saves system calls.
    const bool bulk = body.received() > buffer::default_capacity;
    net::receive bytes = stream_->receive(bulk ? 64 * 1024 : buffer::default_capacity);
    wait_ = &bytes;
    arm_in(body.patience());
    auto received = co_await as_result(bytes);
    wait_ = nullptr;
    disarm();
    phase_ = before;
    body.waited(shard_->owner().now() - since);
    if (!received) co_return std::unexpected(body_failure(std::move(received).error()));
    take_input(*received);
    if (body.too_slow()) {
        shard_->count(&counters::body_too_slow);
        keep_alive_ = false;
        lingers_ = true;
        co_return std::unexpected(error(errc::too_slow, "body", coracle::phase::receive));
    }
    co_return std::expected<void, error>();
}

error connection::body_failure(error e) {
    keep_alive_ = false;
    if (!timed_out_) {
        // The client gave up in the midst of its body.
        client_gone_ = client_gone_ || !coracle::detail::is_cancellation(e);
        return e;
    }
    shard_->count(&counters::body_timeouts);
    lingers_ = true;
    return {std::errc::timed_out, "body", coracle::phase::receive};
}

task<> connection::linger() {
    // RFC 9112 section 9.6: closing at once could reset the answer away before the peer reads it.
    const time_point until = shard_->owner().now() + shard_->options().timeouts.linger;
    stream_->shutdown_output();
    into.release();
    phase_ = phase::linger;
    timed_out_ = false;
    arm(until);
    while (!timed_out_) {
        net::receive bytes = stream_->receive();
        wait_ = &bytes;
        auto received = co_await as_result(bytes);
        wait_ = nullptr;
        if (!received) break;
    }
    disarm();
}

}  // namespace coracle::http::detail
