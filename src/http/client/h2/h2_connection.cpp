#include "http/client/h2/h2_connection.hpp"

#include "http/client/h2/h2_exchange.hpp"
#include "http/client/pool.hpp"
#include "http/client/waiting_limit.hpp"
#include "runtime/service.hpp"

#include <coracle/runtime/sleep.hpp>

#include <algorithm>
#include <new>

namespace coracle::http::detail {
namespace {

/// The most bytes received, and sent, at once.
constexpr std::size_t received_at_once = 32 * 1024;
constexpr std::size_t sent_at_once = 64 * 1024;
/// A peer that reads nothing for this time is gone.
constexpr duration write_patience = std::chrono::seconds(60);
/// The longest wait for the last bytes of a server that has closed the connection.
constexpr duration farewell_patience = std::chrono::milliseconds(200);
/// The longest wait for sending a GOAWAY.
constexpr duration last_patience = std::chrono::seconds(1);

/// Payloads of our PINGs: one measures the round trip, the other checks that the server is there.
constexpr std::uint64_t measure = 1;
constexpr std::uint64_t still_there = 2;

std::uint64_t bytes_taken(const void* progress) noexcept {
    return static_cast<std::uint64_t>(*static_cast<const std::int64_t*>(progress));
}

h2_limits limits_of(const client_options& o, const client_h2_options& own) {
    h2_limits l = h2::within_protocol(own.limits);
    l.head = l.compressed_head = o.head_limit;
    // So many more frames a head beyond the usual size needs.
    const std::uint32_t usual = client_options().head_limit;
    l.continuations += (std::max(o.head_limit, usual) - usual) / h2::default_max_frame_size;
    l.fields = o.field_limit;
    l.interim_responses = o.interim_limit;
    return l;
}

error error_of(h2::error_code code, std::string_view why) {
    error e(make_error_code(code), "HTTP/2");
    if (!why.empty()) e.on(why);
    return e;
}

}  // namespace

// ---- its two tasks

/// Counts a running task during the life of its coroutine frame.
class client_h2_connection::running {
public:
    running(client_h2_connection& c, coracle::detail::context*& place,
            coracle::detail::context& here) noexcept
        : connection_(c), place_(place) {
        place_ = &here;
    }
    running(const running&) = delete;
    running& operator=(const running&) = delete;
    ~running() {
        place_ = nullptr;
        connection_.task_ended();
    }

private:
    client_h2_connection& connection_;
    coracle::detail::context*& place_;
};

bool h2_writing_turn::start() noexcept {
    client_h2_connection& c = *connection_;
    if (c.last_words_ || c.ending_ || c.lost_ || c.session_.wants_to_write()) return true;
    c.waiting_ = this;
    return false;
}

void h2_writing_turn::cancel() noexcept {
    if (connection_->waiting_ != this) return;  // it is being resumed already
    connection_->waiting_ = nullptr;
    mark_cancelled();
    owner().enqueue(*this);
}

client_h2_connection::client_h2_connection(origin& home, std::unique_ptr<net::byte_stream> stream,
                                           const tls::session_info* secured)
    : client_connection(home, std::move(stream), secured), options_(&home.pool().options().h2),
      limits_(limits_of(home.get_transport().options(), *options_)),
      session_(h2::role::client, *this, limits_), owner_(&home.pool().owner()),
      resets_left_(options_->resets, options_->resets_per_second), received_at_(owner_->now()),
      watch_(*owner_, *this) {}

void client_h2_connection::start() noexcept {
    const auto reading = [this] { return read(); };
    const auto writing = [this] { return write(); };
    // Keeps the connection until both tasks have been started.
    tasks_ = 2;
    unsigned begun = 0;
    try {
        // Measures the round trip, by which windows grow.
        pinged_ = owner_->now();
        session_.ping(measure);
        coracle::detail::spawn_service(*owner_, reading, "HTTP/2 reader");
        ++begun;
        coracle::detail::spawn_service(*owner_, writing, "HTTP/2 writer");
        ++begun;
    } catch (const std::bad_alloc&) {
        tasks_ -= 2 - begun;
        lose_without_memory();
    }
}

h2::instant client_h2_connection::now() const noexcept {
    return std::chrono::duration_cast<h2::instant>(owner_->now().time_since_epoch());
}

task<> client_h2_connection::read() {
    running mark(*this, reader_, co_await coracle::detail::current_context());
    while (!ending_ && !lost_) {
        net::receive receiving = stream_->receive(received_at_once);
        auto got = co_await as_result(receiving);
        if (!got) {
            if (!ending_) lose(std::move(got).error());
            co_return;
        }
        // It may have come in the turn in which another task ended the connection.
        if (ending_ || lost_) co_return;
        take(*std::move(got));
    }
}

task<> client_h2_connection::write() {
    running mark(*this, writer_, co_await coracle::detail::current_context());
    try {
        auto writing = write_until_over();
        co_await std::move(writing);
    } catch (const std::bad_alloc&) {
        lose_without_memory();
    }
}

task<> client_h2_connection::write_until_over() {
    for (;;) {
        h2_writing_turn turn(*this);
        auto come = co_await as_result(turn);
        if (!come) co_return;
        if (session_.wants_to_write()) {
            auto written = co_await write_batch();
            if (!written) {
                // The server may have sent a reason before it closed: the other task reads it.
                auto waiting = sleep_for(farewell_patience);
                static_cast<void>(co_await as_result(waiting));
                lose(std::move(written).error());
                co_return;
            }
        }
        if (ending_ || lost_) co_return;
    }
}

task<std::expected<void, error>> client_h2_connection::write_batch() {
    views_.clear();
    slices_.clear();
    try {
        session_.gather(sent_at_once, views_);
        for (const std::string_view v : views_) slices_.emplace_back(v);
    } catch (const std::bad_alloc&) {
        session_.written();
        throw;
    }
    waiting_limit limit(*owner_);
    net::send sending = stream_->send(slices_);
    if (last_words_) {
        limit.begin(*writer_, last_patience, time_point::max());
    } else {
        limit.begin(*writer_, write_patience, time_point::max(),
                    {&bytes_taken, &sending.progress()});
    }
    auto sent = co_await as_result(sending);
    limit.end();
    session_.written();
    if (!sent && limit.passed()) {
        error late(std::errc::timed_out, "send", phase::send);
        co_return std::unexpected(std::move(late.on(stream_->subject())));
    }
    if (!sent) co_return std::unexpected(std::move(sent).error());
    co_return std::expected<void, error>();
}

void client_h2_connection::wake_writer() noexcept {
    if (waiting_ != nullptr && session_.wants_to_write()) {
        std::exchange(waiting_, nullptr)->come();
    }
}

void client_h2_connection::task_ended() noexcept {
    --tasks_;
    // Runs also when the loop stops the tasks.
    if (!ending_ && !lost_) lose(error(errc::shutting_down, "HTTP/2"));
    destroy_if_over();
}

// ---- what came

void client_h2_connection::take(buffer received) {
    received_at_ = owner_->now();
    waits_since_ = received_at_;
    waited_ = duration::zero();
    silent_ = false;
    receiving_ = true;
    try {
        in_hand_ = h2::shared_block(std::move(received));
        session_.receive(in_hand_.bytes().view(), now());
        if (session_.failure()) lose_to_failure();
        exceeded_.reset();  // a limit that cost no more than a stream
    } catch (const std::bad_alloc&) {
        lose_without_memory();
    }
    receiving_ = false;
    in_hand_ = {};
    if (ending_) return;
    wake_writer();
    if (!lost_) home().pool().places_changed(*this);
}

void client_h2_connection::head_received(h2::stream& s, const h2::head& message, bool end) {
    static_cast<client_h2_exchange&>(s).head_came(message, end);
}

void client_h2_connection::head_too_large(h2::stream& s, h2::head_fault limit) {
    static_cast<client_h2_exchange&>(s).head_too_large(limit);
}

void client_h2_connection::data_received(h2::stream& s, std::string_view piece) {
    static_cast<client_h2_exchange&>(s).data_came(piece);
}

void client_h2_connection::end_received(h2::stream& s, const h2::head* trailers) {
    static_cast<client_h2_exchange&>(s).end_came(trailers);
}

void client_h2_connection::sent(h2::stream& s) {
    static_cast<client_h2_exchange&>(s).content_sent();
}

void client_h2_connection::closed(h2::stream& s) {
    static_cast<client_h2_exchange&>(s).stream_closed();
    completed_one();
    offer_places();
}

void client_h2_connection::failed(h2::stream& s, h2::error_code code, bool by_peer) {
    const bool refused = by_peer && code == h2::error_code::refused_stream;
    std::string_view why = by_peer ? "the peer ended the stream" : "";
    if (code == h2::error_code::no_error) {
        // That is for complete responses (RFC 9113 section 8.1), and no error would be shown.
        code = h2::error_code::protocol_error;
        why = "the peer ended the stream with NO_ERROR, before its response was complete";
    }
    static_cast<client_h2_exchange&>(s).failed(error_of(code, why), refused);
    offer_places();
}

void client_h2_connection::settings_received(const h2::peer_settings& its) {
    knows_settings_ = true;
    home().takes_streams(its.max_concurrent_streams);
    offer_places();
}

/// Wakes the exchanges that have waited to begin.
void client_h2_connection::offer_places() noexcept {
    if (!std::exchange(place_is_wanted_, false)) return;
    for (auto* at = exchanges_.front(); at != nullptr; at = exchanges_.next(*at)) {
        place_is_wanted_ |= static_cast<client_h2_exchange&>(*at).offer_place();
    }
}

void client_h2_connection::goaway_received(std::uint32_t, h2::error_code code,
                                           std::string_view debug) {
    ++home().pool().counters().goaways;
    offer_places();
    if (code == h2::error_code::no_error) return;
    // The debug data is untrusted: takes a part of it, without control characters.
    constexpr std::size_t most = 100;
    std::string why = "the peer goes away";
    if (!debug.empty()) {
        why += ": ";
        for (const char c : debug.substr(0, most)) why += c >= ' ' && c <= '~' ? c : '?';
    }
    farewell_ = error_of(code, why);
}

void client_h2_connection::limit_reached(h2::limit_kind kind) {
    ++home().pool().counters().h2_limits[static_cast<std::size_t>(kind)];
    exceeded_ = kind;
}

void client_h2_connection::pong_received(std::uint64_t payload) {
    if (payload != measure) return;
    session_.set_round_trip(std::chrono::duration_cast<h2::instant>(owner_->now() - pinged_));
}

// ---- whether the server is still there

void h2_silence_watch::begin() noexcept {
    const duration after = connection_->options().ping_after;
    if (after <= duration::zero() || armed()) return;
    asked_ = false;
    arm_in(after);
}

void h2_silence_watch::expired() noexcept {
    client_h2_connection& c = *connection_;
    const client_h2_options& o = c.options();
    if (c.lost() || (c.exchanges() == 0 && !o.ping_idle)) return;
    if (asked_ && c.received_at() < asked_at_) {
        c.lose_silent();
        return;
    }
    asked_ = false;
    const time_point due = coracle::detail::later(c.received_at(), o.ping_after);
    const time_point now = c.stream().owner().now();
    if (now < due) {
        arm(due);
        return;
    }
    asked_ = true;
    asked_at_ = now;
    arm_in(o.ping_timeout);
    c.ping();
}

void client_h2_connection::ping() noexcept {
    try {
        session_.ping(still_there);
    } catch (const std::bad_alloc&) {
        lose_without_memory();
    }
    wake_writer();
}

void client_h2_connection::lose_silent() noexcept {
    ++home().pool().counters().silent;
    lose(error(std::errc::timed_out, "ping_timeout", phase::receive));
}

// ---- places

bool client_h2_connection::usable() const noexcept {
    const bool is_done = worn_ && exchanges_count_ == 0;
    return !lost_ && !ending_ && alive() && !silent_ && !is_done && session_.usable();
}

bool client_h2_connection::has_place(std::size_t most) const noexcept {
    const std::size_t peers =
        knows_settings_ ? session_.peer().max_concurrent_streams : home().usual_streams();
    return usable() && !worn_ && exchanges_count_ < std::min({most, most_, peers});
}

void client_h2_connection::refuses_more() noexcept {
    most_ = std::max<std::size_t>(1, exchanges_count_ - 1);
    completed_ = 0;
}

/// A refusal may have been of a moment: after some rounds without another there are twice as many.
void client_h2_connection::completed_one() noexcept {
    constexpr std::size_t rounds = 16;
    if (most_ >= unlimited / 2 || ++completed_ < rounds * most_) return;
    most_ *= 2;
    completed_ = 0;
}

void client_h2_connection::gave_up() noexcept {
    // Behind the end of its loop there is no clock, and no further call.
    if (alive() && !resets_left_.take(now())) worn_ = true;
}

client_exchange& client_h2_connection::begin_exchange() {
    auto* const e = new client_h2_exchange(*this, begun_ != 0);
    ++begun_;
    exchanges_.push_back(*e);
    if (exchanges_count_++ == 0) waits_since_ = owner_->now();
    watch_.begin();
    return *e;
}

duration client_h2_connection::silence() const noexcept {
    return waited_ + (owner_->now() - waits_since_);
}

void client_h2_connection::ended(client_h2_exchange& e, bool after_silence,
                                 bool reported) noexcept {
    static_cast<h2_exchange_link&>(e).unlink();
    if (!reported) lose_without_memory();
    // Behind the end of its loop there is no clock.
    if (--exchanges_count_ == 0 && alive()) waited_ = silence();
    if (e.sending()) leaving_.push_back(e);
    // Before others are told to begin on it.
    if (after_silence) silent_ = true;
    offer_places();
    wake_writer();
    home().pool().place_freed(*this);
}

bool client_h2_connection::begin_waiting(time_point until) noexcept {
    if (!usable()) return false;
    if (!receiving_ && !session_.wants_to_write()) session_.trim();
    arm(until);
    return true;
}

// ---- its end

void client_h2_connection::lose_to_failure() {
    write_last_words();
    std::string why = "the server broke the protocol";
    if (exceeded_) why = std::string("the server went beyond h2_limits::") + to_string(*exceeded_);
    lose(error_of(*session_.failure(), why));
}

void client_h2_connection::lose_without_memory() noexcept {
    lose(error(std::errc::not_enough_memory, "HTTP/2"));
}

/// Ends the connection with an error, which all exchanges get.
void client_h2_connection::lose(error e) noexcept {
    if (lost_) return;
    watch_.end();
    lost_ = farewell_ ? *farewell_ : std::move(e);
    if (!ending_) {
        for (auto* at = exchanges_.front(); at != nullptr; at = exchanges_.next(*at)) {
            static_cast<client_h2_exchange&>(*at).failed(*lost_, false);
        }
    }
    stop_tasks();
    if (!ending_ && alive()) home().pool().lost(*this);
}

/// Cancels the tasks, except a writer that sends the last frames.
void client_h2_connection::stop_tasks() noexcept {
    if (reader_ != nullptr) reader_->cancel();
    if (writer_ != nullptr && !last_words_) writer_->cancel();
}

void client_h2_connection::end(bool reset) noexcept {
    ending_ = true;
    resets_ = reset;
    disarm();
    watch_.end();
    // The object lives until its tasks have ended, so it is taken off all lists of the pool.
    static_cast<pool_link&>(*this).unlink();
    static_cast<idle_link&>(*this).unlink();
    static_cast<h2_place_link&>(*this).unlink();
    if (!reset && !lost_ && alive() && !session_.failure()) {
        // A GOAWAY should precede the end of a connection (RFC 9113 section 6.8).
        try {
            session_.fail(h2::error_code::no_error, {});
            write_last_words();
        } catch (const std::bad_alloc&) {
            resets_ = true;
        }
    }
    stop_tasks();
    destroy_if_over();
}

/// Sends a GOAWAY, if the writer is free.
void client_h2_connection::write_last_words() noexcept {
    if (waiting_ == nullptr) return;
    last_words_ = true;
    std::exchange(waiting_, nullptr)->come();
}

void client_h2_connection::destroy_if_over() noexcept {
    if (!ending_ || tasks_ != 0 || receiving_) return;
    // Exchanges cancelled during a write wait for its end.
    session_.written();
    while (h2_exchange_link* const left = leaving_.front()) {
        delete static_cast<client_h2_exchange*>(left);
    }
    if (alive()) stream_->close(resets_);
    delete this;
}

void client_h2_connection::abandon() noexcept {
    watch_.end();
    if (!lost_) lost_ = error(errc::shutting_down, "HTTP/2");
    stream_->close(true);
    stream_.reset();
}

}  // namespace coracle::http::detail
