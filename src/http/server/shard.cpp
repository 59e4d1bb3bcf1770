#include "http/server/shard.hpp"

#include "base/ascii.hpp"
#include "http/server/h1_connection.hpp"
#include "http/server/h2_connection.hpp"
#include "net/accept_errors.hpp"
#include "runtime/backoff.hpp"

#include <coracle/http/h1/head_writer.hpp>
#include <coracle/net/descriptor_limit.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

namespace coracle::http::detail {
namespace {

constexpr std::size_t output_capacity = 64 * 1024;
/// A new connection probably has a request on its way; without this time, each new one would close
/// the one before.
constexpr duration least_idle = std::chrono::milliseconds(10);

std::vector<net::network> parse_networks(std::string_view list) {
    std::vector<net::network> all;
    while (!list.empty()) {
        auto n = net::network::parse(coracle::detail::take_item(list));
        if (!n) throw_exception(std::move(n).error());
        all.push_back(*n);
    }
    return all;
}

/// Converts to milliseconds, at most what the kernel takes.
unsigned milliseconds_of(duration d) noexcept {
    const duration longest = std::chrono::hours(24 * 20);
    return static_cast<unsigned>(
        std::chrono::duration_cast<std::chrono::milliseconds>(std::min(d, longest)).count());
}

/// Handlers need descriptors too: each connection of a proxy has one to another server.
std::size_t most_connections(const server_options& o, loop& l, std::size_t shards) noexcept {
    if (o.limits.connections != 0) return o.limits.connections;
    // The simulated network has no such limit: it fails by itself.
    if (!l.backend().is_of_the_system()) return SIZE_MAX;
    const std::uint64_t all = net::descriptor_limit() / 4 * 3 / shards;
    return static_cast<std::size_t>(std::max<std::uint64_t>(all, 1));
}

}  // namespace

shard::shard(loop& owner, const handler& h, const server_options& o, client_table* clients)
    : exchange_host(owner, h, o), head_limits_{o.limits.h1.head, o.limits.h1.fields,
                                               o.limits.h1.request_line, o.limits.h1.field},
      proxies_(parse_networks(o.proxy_protocol_from)), clients_(clients),
      drain_time_(o.timeouts.drain) {}

socket_options shard::listening_options() const noexcept {
    socket_options o = options().sockets;
    if (o.unsent == 0) o.unsent = options().limits.unsent;
    if (o.user_timeout_ms == 0) o.user_timeout_ms = milliseconds_of(options().timeouts.write);
    return o;
}

void shard::open(const net::address& at, sharing with, bool secure) {
    socket_options o = listening_options();
    // Other processes may share the port only if the user allows it, not because our own loops
    // share it.
    o.claims_port = with == sharing::claims && !o.reuse_port;
    o.reuse_port = o.reuse_port || with != sharing::none;
    auto l = net::listener::open(owner(), at, o);
    if (!l) throw_exception(std::move(l).error());
    listeners_.push_back({std::move(*l), secure, false});
}

void shard::share(const net::listener& with, bool secure, bool kept) {
    auto l = net::listener::share(owner(), with);
    if (!l) throw_exception(std::move(l).error());
    listeners_.push_back({std::move(*l), secure, kept});
}

void shard::adopt(owned_fd fd, bool secure) {
    auto l = net::listener::adopt(owner(), std::move(fd), listening_options());
    if (!l) throw_exception(std::move(l).error());
    listeners_.push_back({std::move(*l), secure, true});
}

void shard::take_output(buffer& into) {
    if (output_)
        into = std::move(output_);
    else
        into = buffer(output_capacity);
}

void shard::give_back(buffer& output) noexcept {
    if (!output_ && output.capacity() == output_capacity) {
        output.clear();
        output_ = std::move(output);
    } else {
        output.release();
    }
}

void shard::render_start_of_head(std::int64_t now) noexcept {
    date_second_ = now;
    char date[http_date_size];
    format_http_date(date, now);
    std::memcpy(head_start_.text, head_start::ok.data(), head_start::ok.size());
    h1::write_date(head_start_.text + head_start::ok.size(), date);
}

/// Adds up to a tenth of the age at random, so that not all clients reconnect at once.
time_point shard::end_of_life() noexcept {
    const duration lifetime = options().timeouts.lifetime;
    const auto spread = static_cast<std::uint64_t>(lifetime.count() / 10) + 1;
    return owner().now() + lifetime +
           duration(static_cast<std::int64_t>(owner().random() % spread));
}

void shard::opened(server_connection& c) noexcept {
    connections_.push_back(c);
    ++open_;
    counters().add(&server_counters::connections);
    counters().add(&server_counters::open);
    if (pressure(open_) > 0) pressed_.set();
    if (draining_) {
        counters().add(&server_counters::accepted_in_drain);
        counters().add(&server_counters::draining);
    }
}

void shard::closed(const net::address* client) noexcept {
    if (clients_ != nullptr && client != nullptr) clients_->give_back(*client);
    counters().subtract(&server_counters::open);
    if (draining_) counters().subtract(&server_counters::draining);
    --open_;
    room_.set();
    if (open_ == 0) empty_.set();
}

/// Counts one more connection, or closes it.
bool shard::admit(const net::address& client) {
    if (clients_ == nullptr || clients_->take(client)) return true;
    count(&server_counters::client_limit);
    return false;
}

/// Closes idle connections, the longest idle first: one in 32, so that the search costs each new
/// connection little. Returns false if none is idle.
bool shard::make_room() noexcept {
    struct candidate {
        time_point since;
        server_connection* who;
        bool operator<(const candidate& other) const noexcept { return since < other.since; }
    };
    candidate oldest[32];
    const std::size_t most = std::clamp<std::size_t>(open_ / 32, 1, std::size(oldest));
    const time_point latest = owner().now() - least_idle;
    std::size_t found = 0;  // a heap with the youngest one on top
    for (server_connection* c = connections_.front(); c != nullptr; c = connections_.next(*c)) {
        const auto since = c->idle_since();
        if (!since || *since > latest || (found == most && !(*since < oldest[0].since))) continue;
        if (found == most) std::pop_heap(oldest, oldest + found--);
        oldest[found++] = {*since, c};
        std::push_heap(oldest, oldest + found);
    }
    for (std::size_t i = 0; i != found; ++i) oldest[i].who->make_room();
    counters().add(&server_counters::made_room, found);
    return found != 0;
}

/// Waits until a connection has ended, or may have become idle. Returns false when cancelled.
task<bool> shard::wait_for_room() {
    room_.reset();
    const auto until_one_ends = [this]() -> task<> { co_await room_.wait(); };
    const auto ended =
        co_await as_result(with_timeout(std::chrono::milliseconds(20), until_one_ends));
    co_return ended || !coracle::detail::is_cancellation(ended.error());
}

/// Waits until one more connection is allowed. Returns false when cancelled.
task<bool> shard::find_room() {
    bool is_paused = false;
    while (is_full()) {
        if (!make_room() && !std::exchange(is_paused, true)) {
            count(&server_counters::accept_paused);
        }
        const bool goes_on = co_await wait_for_room();
        if (!goes_on) co_return false;
    }
    co_return true;
}

void shard::note_accept_error(const error& e) noexcept {
    try {
        owner().log().write(log_layer::http, log_level::warning, e.message());
    } catch (const std::bad_alloc&) {
        owner().log().write(log_layer::http, log_level::warning, "accept: no memory");
    }
}

task<> shard::accept_from(task_group* handshakes, bound_listener* from) {
    constexpr duration least_pause = std::chrono::milliseconds(5);
    constexpr duration longest_pause = std::chrono::seconds(1);
    duration pause{};
    for (;;) {
        bool is_short = false;
        try {
            auto accepted = co_await as_result(from->listener.accept());
            if (accepted) {
                // Closes an idle connection only for a client that has connected already.
                if (is_full()) {
                    const bool goes_on = co_await find_room();
                    // A drain does not turn away those that have been accepted.
                    if (!goes_on && !draining_) co_return;
                }
                is_short = !take_in(std::move(*accepted), *handshakes, *from);
                if (!is_short) pause = {};
            } else {
                if (coracle::detail::is_cancellation(accepted.error())) co_return;
                count(&server_counters::accept_errors);
                if (net::detail::is_out_of_descriptors(accepted.error()) && make_room()) {
                    const bool goes_on = co_await wait_for_room();
                    if (!goes_on) co_return;
                    continue;
                }
                note_accept_error(accepted.error());
                is_short = net::detail::is_out_of_resources(accepted.error());
                // Closes the connection, so that its peer notices.
                if (is_short) from->listener.refuse_one();
            }
        } catch (const std::bad_alloc&) {
            count(&server_counters::out_of_memory);
            is_short = true;
        }
        if (!is_short) continue;
        // Pauses, so that the loop does not spin while the error persists.
        pause = coracle::detail::next_delay(pause, least_pause, longest_pause);
        co_await sleep_for(pause);
    }
}

/// Begins a connection, or the handshake before it. Returns false without memory.
bool shard::take_in(std::unique_ptr<net::socket> s, task_group& handshakes,
                    bound_listener& from) noexcept {
    const net::address peer = s->peer();
    bool is_counted = false;
    try {
        // Behind a proxy the client is not known yet.
        const bool by_proxy = net::is_in_any(proxies_, peer);
        if (!by_proxy && !admit(peer)) return true;
        is_counted = !by_proxy;
        if (!from.secure && !by_proxy) {
            is_counted = false;
            accepted_connection client;
            client.stream = std::move(s);
            begin(std::move(client), peer);
            return true;
        }
        handshakes.spawn(
            [this, secure = from.secure, by_proxy, s = std::move(s)]() mutable {
                return shake_hands(std::move(s), secure, by_proxy);
            },
            "handshake");
        return true;
    } catch (const std::bad_alloc&) {
        if (is_counted) forget_client(peer);
        count(&server_counters::out_of_memory);
        return false;
    }
}

void shard::forget_client(const net::address& client) noexcept {
    if (clients_ != nullptr) clients_->give_back(client);
}

void shard::let_speak_for(connection_info& connection, const net::address& client) {
    try {
        connection.speaks_for(client);
    } catch (...) {
        forget_client(client);
        throw;
    }
}

/// Handles the messages before the first request, and then begins the connection. Without memory
/// the connection is closed, and no other is affected.
task<> shard::shake_hands(std::unique_ptr<net::socket> s, bool secure, bool by_proxy) {
    struct place {
        explicit place(shard& owner) noexcept : of(&owner) {
            ++of->handshaking_;
            of->counters().add(&server_counters::handshaking);
        }
        place(const place&) = delete;
        place& operator=(const place&) = delete;
        ~place() {
            --of->handshaking_;
            of->counters().subtract(&server_counters::handshaking);
            of->shaken_.set();
            if (!of->is_full()) of->room_.set();
        }
        shard* of;
    };
    const place mine(*this);
    const net::address peer = s->peer();
    bool is_counted = !by_proxy;
    try {
        tls::server_context* const context = secure ? options().tls.get() : nullptr;
        const duration limit =
            secure ? context->options().handshake_timeout : options().timeouts.head;
        handshake g(std::move(s), context, by_proxy);
        const auto shake = [&g] { return g.run(); };
        auto client = co_await as_result(with_timeout(limit, shake));
        if (client && *client) {
            accepted_connection& there = **client;
            const net::address who = there.source ? *there.source : peer;
            // A proxy's own health checks count for the proxy itself.
            if (by_proxy && !admit(who)) co_return;
            is_counted = false;
            begin(std::move(there), who);
            co_return;
        }
        const error why = client ? client->error() : client.error();
        if (!draining_ || !coracle::detail::is_cancellation(why)) count_failure(why, secure);
    } catch (const std::bad_alloc&) {
        count(&server_counters::out_of_memory);
    }
    if (is_counted) forget_client(peer);
}

void shard::count_failure(const error& why, bool secure) noexcept {
    if (why == std::errc::not_enough_memory)
        count(&server_counters::out_of_memory);
    else if (why == std::errc::timed_out && secure)
        count(&server_counters::tls_timeouts);
    else
        count(!secure || why.phase() == phase::proxy ? &server_counters::proxy_failures
                                                     : &server_counters::tls_failures);
    const logger& log = owner().log();
    if (!log.enabled(log_layer::tls, log_level::debug)) return;
    try {
        log.write(log_layer::tls, log_level::debug, why.message());
    } catch (const std::bad_alloc&) {
        log.write(log_layer::tls, log_level::debug, "a handshake failed; no memory to say why");
    }
}

/// Returns true if ALPN chose HTTP/2, or the server serves HTTP/2 only. Without TLS, false is not
/// final: a client may still begin with the preface of HTTP/2.
bool shard::speaks_http2(const accepted_connection& client) const noexcept {
    if (options().versions == http_versions::http2) return true;
    return client.secured != nullptr && client.secured->protocol() == "h2";
}

/// `who`: the client, which has been counted; uncounted if this throws.
void shard::begin(accepted_connection client, const net::address& who) {
    if (client.secured != nullptr) {
        count(&server_counters::tls_handshakes);
        if (client.secured->resumed()) count(&server_counters::tls_resumptions);
    }
    const net::address* const source = client.source ? &*client.source : nullptr;
    try {
        if (speaks_http2(client)) {
            auto* const c = new h2_connection(*this, std::move(client.stream), client.secured);
            c->start(std::move(client.received), source);
        } else {
            auto* const c = new h1_connection(*this, std::move(client.stream), client.secured);
            c->start(std::move(client.received), source);
        }
    } catch (const std::bad_alloc&) {
        forget_client(who);
        throw;
    }
}

void shard::drain() noexcept {
    if (!std::exchange(draining_, true)) {
        const time_point now = owner().now();
        drain_until_ = coracle::detail::later(now, drain_time_);
        drain_began_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
        counters().add(&server_counters::draining, open_);
    }
    stop_.set();
    for (server_connection* c = connections_.front(); c != nullptr; c = connections_.next(*c)) {
        c->drain();
    }
    counters().add(&server_counters::told_of_drain, drain_of_upgraded().begin());
}

duration shard::drained_for() const noexcept {
    return duration(drain_took_.load(std::memory_order_relaxed));
}

void shard::stop(std::shared_ptr<shard> self) noexcept {
    if (stop_message_.under_way.exchange(true, std::memory_order_acquire)) return;
    stop_message_.self = std::move(self);
    if (!owner().post(stop_message_)) stop_message_.dropped();
}

void shard::cut_all() noexcept {
    for (server_connection* c = connections_.front(); c != nullptr; c = connections_.next(*c)) {
        c->cut();
    }
}

/// Waits for the last connection to end: for the time of the drain, then after cutting the rest.
task<> shard::end_connections() {
    // Cancelled, not stopped: nothing is waited for.
    const bool in_order = draining_;
    drain();
    empty_.reset();
    auto wait_until_empty = [this]() -> task<> { co_await empty_.wait(); };
    const time_point until = drain_until_;
    bool cut = !in_order;
    if (cut) cut_all();
    // Connections refer to this shard, so without memory to wait for them, tries again.
    while (open_ != 0) {
        bool is_starved = false;
        try {
            if (cut) {
                co_await as_result(shielded(std::chrono::seconds(10), wait_until_empty));
            } else {
                const auto emptied = co_await as_result(with_deadline(until, wait_until_empty));
                cut = !emptied;
                if (cut) cut_all();
            }
        } catch (const std::bad_alloc&) {
            is_starved = true;
        }
        if (is_starved) co_await as_result(yield());
    }
}

/// Connections that come once we have looked for the last time would be reset by the close. So the
/// system begins no more of them, those whose handshake is under way have a moment to end it, and
/// only then is it looked for the last time.
task<> shard::close_to_new() {
    bool is_ours = false;
    for (bound_listener& l : listeners_) {
        if (lives_on(l)) continue;
        l.listener.refuse_new();
        is_ours = true;
    }
    const duration pause = options().timeouts.last_accept;
    if (!is_ours || pause <= duration::zero()) co_return;
    co_await sleep_until(std::min(drain_until_, coracle::detail::later(owner().now(), pause)));
}

shard::waiting shard::take_in_one(task_group& handshakes, bound_listener& from) noexcept {
    try {
        auto s = from.listener.try_accept();
        if (!s) {
            count(&server_counters::accept_errors);
            if (net::detail::is_out_of_descriptors(s.error())) return waiting::without_room;
            note_accept_error(s.error());
            return waiting::none;
        }
        const bool taken = *s != nullptr && take_in(*std::move(s), handshakes, from);
        return taken ? waiting::taken_in : waiting::none;
    } catch (const std::bad_alloc&) {
        count(&server_counters::out_of_memory);
        return waiting::none;
    }
}

/// Accepts the connections that wait at our listeners, also at those that another process has now:
/// it may have failed, and this does it no harm.
task<> shard::take_in_waiting(task_group& handshakes) {
    constexpr unsigned in_one_turn = 64;
    unsigned taken = 0;
    for (bound_listener& l : listeners_) {
        if (l.kept) continue;
        for (;;) {
            const waiting next = take_in_one(handshakes, l);
            if (next == waiting::none) break;
            if (next == waiting::without_room) {
                // The drain ends connections, whose descriptors serve for these.
                if (owner().now() >= drain_until_) break;
                make_room();
                const bool goes_on = co_await wait_for_room();
                if (!goes_on) break;
            } else if (++taken % in_one_turn == 0) {
                co_await yield();
            }
        }
    }
}

/// Gives those whose handshake, or PROXY header, is under way as long as a head that has begun.
task<> shard::finish_handshakes() {
    const auto until_one_ends = [this]() -> task<> { co_await shaken_.wait(); };
    const time_point patience =
        coracle::detail::later(owner().now(), options().timeouts.drain_idle);
    const time_point until = std::min(drain_until_, patience);
    while (handshaking_ != 0) {
        shaken_.reset();
        const auto ended = co_await as_result(with_deadline(until, until_one_ends));
        if (!ended) co_return;
    }
}

task<> shard::accept_until_stopped(task_group& handshakes) {
    const auto accept_all = [this, &handshakes](task_group& acceptors) -> task<> {
        for (bound_listener& l : listeners_) {
            acceptors.spawn([this, &handshakes, &l] { return accept_from(&handshakes, &l); },
                            "accept");
        }
        acceptors.spawn([this] { return shorten_idle(); }, "idle connections");
        co_await stop_.wait();
        co_await close_to_new();
        acceptors.cancel();
    };
    co_await with_task_group(accept_all);
    co_await take_in_waiting(handshakes);
    for (bound_listener& l : listeners_) l.listener.close();
    co_await finish_handshakes();
    handshakes.cancel();
}

task<std::expected<void, error>> shard::run(std::size_t shards) {
    most_connections_ = most_connections(options(), owner(), shards);
    context_ = &co_await coracle::detail::current_context();
    // Allocates this task now: once there are connections, only it can end them.
    task<> end = end_connections();
    std::exception_ptr failure;
    const auto accept = [this](task_group& handshakes) { return accept_until_stopped(handshakes); };
    try {
        co_await as_result(with_task_group(accept));
    } catch (...) {
        failure = std::current_exception();
    }
    for (bound_listener& e : listeners_) e.listener.close();
    co_await std::move(end);
    const std::int64_t now = owner().now().time_since_epoch().count();
    drain_took_.store(now - drain_began_.load(std::memory_order_relaxed),
                      std::memory_order_relaxed);
    if (failure != nullptr) std::rethrow_exception(failure);
    co_return std::expected<void, error>();
}

}  // namespace coracle::http::detail
