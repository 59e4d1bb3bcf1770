#include "http/server/h1_connection.hpp"

#include "http/exchange/failure.hpp"
#include "http/server/h2_connection.hpp"

#include <coracle/runtime/sleep.hpp>

#include <algorithm>

namespace coracle::http::detail {

using counters = server_counters;

/// A task of an HTTP/1 connection, which has one at a time.
class h1_connection::connection_task : public coracle::detail::spawned {
protected:
    explicit connection_task(h1_connection& c) noexcept : connection_(&c) {}
    void start(task<> work, const char* name) {
        connection_->task_ = this;
        loop& owner = connection_->shard_->owner();
        const auto first = child::begin(std::move(work), owner, nullptr, name);
        own_context().attach_isolated(connection_->shard_->context());
        first.resume();
    }

    h1_connection* connection_;

private:
    virtual void end(std::exception_ptr thrown, bool in_order) noexcept = 0;
    void over() noexcept override {
        const bool in_order = !was_stopped();
        const std::exception_ptr thrown = exception();
        destroy();
        connection_->task_ = nullptr;
        end(thrown, in_order);
    }
};

/// For all that has to wait.
class h1_connection::exchange_task final : public connection_task {
public:
    static void begin(h1_connection& c, step next) {
        auto e = std::make_unique<exchange_task>(c);
        task<> work = c.serve_waiting(next);
        e.release()->start(std::move(work), "connection");
    }
    explicit exchange_task(h1_connection& c) noexcept : connection_task(c) {}

private:
    void end(std::exception_ptr thrown, bool in_order) noexcept override {
        connection_->exchange_task_over(thrown, in_order);
    }
};

/// Runs the function that takes over the connection of an exchange.
class h1_connection::upgraded_task final : public connection_task {
public:
    upgraded_task(h1_connection& c, gauge_entry request, gauge_entry active) noexcept
        : connection_task(c), request_(std::move(request)), active_(std::move(active)),
          switched_(c.shard_->counters(), gauge_of(c.exchange_->res.header("Upgrade"))),
          upgraded_{*c.stream_, std::move(c.into), &c.shard_->drain_of_upgraded()} {}

    static void begin(std::unique_ptr<upgraded_task> t) {
        h1_connection& c = *t->connection_;
        task<> work = (*c.exchange_->res.upgrade())(t->upgraded_);
        t.release()->start(std::move(work), "upgraded");
    }

private:
    void end(std::exception_ptr thrown, bool in_order) noexcept override {
        connection_->upgraded_task_over(thrown, in_order);
    }

    gauge_entry request_;
    gauge_entry active_;
    gauge_entry switched_;
    upgraded_connection upgraded_;
};

h1_connection::h1_connection(shard& owner, std::unique_ptr<net::byte_stream> stream,
                             const tls::session_info* secured)
    : response_channel(owner), deadline(owner.owner()), hangup_watch{&h1_connection::peer_gone},
      receive_operation(&h1_connection::received), connection_info(stream->peer(), secured),
      shard_(&owner), stream_(std::move(stream)), retires_(owner.end_of_life()) {
    owner.opened(*this);
}

h1_connection::~h1_connection() {
    if (exchange_ != nullptr) exchange_->drop_large_response();
    release(exchange_);
    static_cast<server_connection&>(*this).unlink();
    shard_->closed(is_counted_ && !handed_over_ ? &peer() : nullptr);
}

void h1_connection::end() noexcept {
    disarm();
    stream_->close(is_broken());
    delete this;
}

/// Requests under way end as usual, and the heads of their responses say that nothing follows. An
/// idle client may just be sending: a request that crosses the close would be lost. The rest of a
/// head that has begun has the same short time, since its client may never send it.
void h1_connection::drain() noexcept {
    const bool waits_for_head = phase_ == phase::idle || phase_ == phase::head;
    if (!waits_for_head || !reading_) return;
    const duration patience = shard_->options().timeouts.drain_idle;
    arm(std::min(due(), coracle::detail::later(shard_->owner().now(), patience)));
    if (patience <= duration::zero()) end_in_drain();
}

void h1_connection::end_in_drain() noexcept {
    // A head that has begun gets no 408: it was not its time that ran out.
    if (std::exchange(phase_, phase::idle) == phase::head) shard_->count(&counters::cut_by_drain);
    // It may have sent a request before it learns of the end.
    end_behind(ending::linger);
    timed_out_ = true;
    end_wait();
}

std::optional<time_point> h1_connection::idle_since() const noexcept {
    if (makes_room_) return std::nullopt;
    const server_timeouts& t = shard_->options().timeouts;
    if (phase_ == phase::idle && reading_) return due() - t.idle;
    if (phase_ == phase::linger && wait_ != nullptr) return due() - t.linger_silence;
    return std::nullopt;
}

void h1_connection::make_room() noexcept {
    makes_room_ = true;
    timed_out_ = phase_ == phase::linger;
    end_wait();
}

void h1_connection::cut() noexcept {
    if (phase_ != phase::idle && phase_ != phase::linger) shard_->count(&counters::cut_by_drain);
    end_behind(ending::reset);
    if (continuing_ != nullptr && writes()) write_.of->cancel();
    if (task_ != nullptr)
        task_->cancel();
    else
        end_wait();
}

void h1_connection::end_wait() noexcept {
    if (reading_)
        stream_->cancel(*this);
    else if (wait_ != nullptr)
        wait_->cancel();
}

/// A client that has closed and one that has only sent its end look the same. So the end alone
/// gives the handler a limit, and only a lost connection ends it at once. Returns false when it is
/// lost.
bool h1_connection::watch_client() noexcept {
    ignores_end = false;
    return stream_->watch_hangup(this) || half_close();
}

void h1_connection::stop_watching() noexcept {
    stream_->watch_hangup(nullptr);
    if (half_closed()) disarm();
    ignores_end = false;
}

/// Handles the end that the client has sent. Returns false if the connection is lost.
bool h1_connection::half_close() noexcept {
    ignores_end = true;
    if (!stream_->watch_hangup(this)) return false;
    if (phase_ == phase::handler && !writes()) arm_in(shard_->options().timeouts.half_closed);
    return true;
}

void h1_connection::peer_gone(hangup_watch& w) noexcept {
    auto& self = static_cast<h1_connection&>(w);
    if (self.half_closed() || !self.half_close()) self.give_up_client();
}

/// Restores the phase and its deadline after a wait for the client.
void h1_connection::back_to(phase before) noexcept {
    disarm();
    phase_ = before;
    if (half_closed() && before == phase::handler && !writes()) {
        arm_in(shard_->options().timeouts.half_closed);
    }
}

void h1_connection::expired() noexcept {
    switch (phase_) {
        case phase::idle:
            if (shard_->draining()) return end_in_drain();
            shard_->count(&counters::idle_timeouts);
            break;
        case phase::head:
            if (shard_->draining()) return end_in_drain();
            shard_->count(&counters::head_timeouts);
            break;
        case phase::handler:
            shard_->count(&counters::half_closed_timeouts);
            give_up_client();
            return;
        default: break;
    }
    timed_out_ = true;
    end_wait();
}

void h1_connection::write_is_late() noexcept {
    const server_timeouts& t = shard_->options().timeouts;
    if (!write_.pace.still_moves(shard_->owner().now(), *write_.progress)) {
        shard_->count(&counters::write_timeouts);
    } else if (write_.pace.is_too_slow(t)) {
        shard_->count(&counters::write_too_slow);
    } else {
        write_.arm_in(send_pace::between_looks(t));
        return;
    }
    end_behind(ending::reset);
    write_.of->cancel();
}

/// Flattened: the compiler finds each request worth it or not by the size of the whole library.
[[gnu::flatten]] void h1_connection::await_head() noexcept {
    bool has_begun = parser_.started();
    if (!into.empty()) {
        // The parser sees nothing of what may be the preface of HTTP/2.
        has_begun = has_begun || (requests_ == 0 && begins_http2());
        // A partial head is kept in a block of its size, not in one made for reading.
        const bool is_wide =
            into.capacity() >= buffer::default_capacity / 4 && into.size() * 4 < into.capacity();
        if (is_wide && partial_.try_obtain(into.size())) {
            partial_.append(into.view());
            into.release();
        } else {
            partial_ = std::move(into);
        }
    } else {
        into.release();
    }
    if (has_begun) {
        if (phase_ == phase::head) return;
        phase_ = phase::head;
        arm_for_head(shard_->options().timeouts.head);
        return;
    }
    // Empty lines before a request are not the beginning of one.
    phase_ = phase::idle;
    makes_room_ = false;
    arm_for_head(shard_->options().timeouts.idle);
}

void h1_connection::arm_for_head(duration usual) noexcept {
    arm_in(shard_->draining() ? std::min(usual, shard_->options().timeouts.drain_idle) : usual);
}

/// Returns false without memory.
bool h1_connection::take_input(buffer& received) noexcept {
    if (into.empty()) {
        into = std::move(received);
        return true;
    }
    const bool taken = into.try_append(received.view());
    received.release();
    return taken;
}

/// Starts to wait for bytes. Returns true if some are there already, or the end is.
bool h1_connection::read() noexcept {
    capacity = buffer::default_capacity;
    reading_ = true;
    if (!stream_->start(*this)) return false;
    loop& l = shard_->owner();
    if (!l.may_complete_inline()) {
        l.complete_behind(*this);
        return false;
    }
    reading_ = false;
    return true;
}

void h1_connection::received(io_operation& op) noexcept {
    auto& self = static_cast<h1_connection&>(static_cast<receive_operation&>(op));
    self.reading_ = false;
    self.shard_->owner().runs("connection");
    try {
        self.go_on_without_waiting(self.after_read());
    } catch (...) {
        self.exchange_task_over(std::current_exception(), true);
    }
}

h1_connection::step h1_connection::after_read() {
    if (into.empty()) {
        if (io_operation::result == -ENOMEM) {
            shard_->count(&counters::out_of_memory);
            end_behind(ending::reset);
        }
        return timed_out_ && phase_ == phase::head ? refuse_late() : step::close;
    }
    if (partial_) {
        partial_.append(into.view());
        into = std::move(partial_);
    }
    return process();
}

void h1_connection::start(buffer received, const net::address* client) noexcept {
    try {
        if (client != nullptr) {
            is_counted_ = false;
            shard_->let_speak_for(*this, *client);
            is_counted_ = by_gateway_ = true;
        }
        into = std::move(received);
        go_on_without_waiting(process());
    } catch (...) {
        exchange_task_over(std::current_exception(), true);
    }
}

void h1_connection::go_on(step next) noexcept {
    try {
        go_on_without_waiting(next);
    } catch (...) {
        exchange_task_over(std::current_exception(), true);
    }
}

void h1_connection::go_on_without_waiting(step next) {
    while (next == step::receive && flush_now()) {
        if (shard_->draining() && shard_->options().timeouts.drain_idle <= duration::zero()) {
            next = step::close;
            break;
        }
        await_head();
        if (!read()) return;
        next = after_read();
    }
    if (next == step::hand_over) {
        hand_over();
        return;
    }
    if (next == step::close && ending_ != ending::linger && flush_now()) {
        end();
        return;
    }
    exchange_task::begin(*this, next);
}

/// Goes on in HTTP/2, for a client that begins with its preface (RFC 9113 section 3.3), or whose
/// offer to upgrade is accepted.
void h1_connection::hand_over() {
    disarm();
    const auto offer = std::exchange(shard_->offer, std::nullopt);
    auto* const next = new h2_connection(*shard_, std::move(stream_));
    handed_over_ = true;
    shard_->counters().subtract(&counters::connections);
    if (shard_->draining()) shard_->counters().subtract(&counters::accepted_in_drain);
    next->start(std::move(into), by_gateway_ ? &peer() : nullptr, offer ? &*offer : nullptr);
    delete this;
}

/// Serves from the first wait to the point where only the next head is left to read, or the
/// connection to close.
task<> h1_connection::serve_waiting(step next) {
    do {
        if (next == step::exchange) {
            const bool goes_on = co_await finish_exchange();
            if (goes_on_upgraded()) co_return;
            next = goes_on ? process() : step::close;
        } else if (next == step::yield) {
            co_await as_result(yield());
            next = process();
        }
        bool flushed = flush_now();
        if (!flushed) flushed = co_await flush();
        if (!flushed) next = step::close;
    } while (next == step::exchange || next == step::yield);
    if (next == step::receive && keeps()) co_return;
    end_behind(ending::close);
    disarm();
    if (ending_ == ending::linger && !client_gone()) co_await linger();
}

void h1_connection::exchange_task_over(std::exception_ptr thrown, bool ended_in_order) noexcept {
    if (thrown != nullptr) note_failure(thrown);
    if (upgraded_ != nullptr && !is_broken()) {
        try {
            return upgraded_task::begin(std::move(upgraded_));
        } catch (...) {
            note_failure(std::current_exception());
        }
    }
    if (thrown != nullptr || !ended_in_order || !keeps())
        end();
    else
        go_on(step::receive);
}

void h1_connection::prepare_upgraded(gauge_entry request, gauge_entry active) {
    upgraded_ = std::make_unique<upgraded_task>(*this, std::move(request), std::move(active));
    exchange_->res.fields() = {};  // they were sent, and an upgraded connection may live for days
}

void h1_connection::upgraded_task_over(std::exception_ptr thrown, bool ended_in_order) noexcept {
    try {
        if (thrown != nullptr) exchange_->res = failed_response(exchange_->req, thrown);
        shard_->response_over(*exchange_, peer(), ended_in_order);
    } catch (...) {
        note_failure(std::current_exception());
    }
    release(std::exchange(exchange_, nullptr));
    go_on(step::close);
}

/// Notes that later bytes of this connection cannot be understood.
void h1_connection::note_failure(const std::exception_ptr& thrown) noexcept {
    end_behind(ending::reset);
    try {
        std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
        shard_->count(&counters::out_of_memory);
    } catch (...) {
        coracle::detail::log_unhandled(shard_->owner(), "connection", thrown);
    }
}

task<> h1_connection::linger() {
    // RFC 9112 section 9.6: closing at once could reset the response away before the peer reads it.
    const server_timeouts& t = shard_->options().timeouts;
    const time_point until = shard_->owner().now() + t.linger;
    stream_->shutdown_output();
    into.release();
    phase_ = phase::linger;
    timed_out_ = false;
    while (!timed_out_) {
        arm(std::min(until, shard_->owner().now() + t.linger_silence));
        net::receive bytes = stream_->receive();
        wait_ = &bytes;
        co_await coracle::detail::completion(bytes);
        wait_ = nullptr;
        const auto received = bytes.outcome();
        if (!received) break;
    }
    disarm();
}

}  // namespace coracle::http::detail
