// How a call gets a connection: the queue, name resolution, TCP, proxies, TLS.

#include "http/client/running_call.hpp"

#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/tls/stream.hpp>

namespace coracle::http::detail {
namespace {

/// The wait of a call for a connection to its origin.
class place_wait final : public coracle::detail::leaf<place_wait, void>, public connection_request {
public:
    static constexpr const char* name = "connection";
    place_wait(origin& o, const client_connection* avoided) noexcept
        : connection_request(o, avoided) {}

    bool start() noexcept { return is_served(); }
    void cancel() noexcept override {
        if (!is_waiting()) return;
        withdraw();
        mark_cancelled();
        owner().enqueue(*this);
    }
    std::expected<void, error> result() const noexcept { return {}; }

private:
    void served() noexcept override { owner().enqueue(*this); }
};

}  // namespace

/// A connection that is being opened, and counts as open already.
class opening {
public:
    explicit opening(origin& o) noexcept : origin_(&o) {}
    opening(const opening&) = delete;
    opening& operator=(const opening&) = delete;
    ~opening() {
        if (origin_ != nullptr) origin_->pool().not_opened(*origin_);
    }
    lease done(std::unique_ptr<net::byte_stream> stream, const tls::session_info* secured) {
        lease made = origin_->pool().opened(*origin_, std::move(stream), secured);
        origin_ = nullptr;
        return made;
    }

private:
    origin* origin_;
};

/// Returns true if the call was granted a place before it began. Leaves a place at another origin
/// than its current one to the next call.
bool running_call::was_granted() noexcept {
    if (call_.turn == nullptr) return false;
    if (call_.turn->is_served() && &call_.turn->at() == origin_) return true;
    std::exchange(call_.turn, nullptr)->leave();
    return false;
}

task<std::expected<lease, error>> running_call::get_connection() {
    if (now() >= attempt_deadline_)
        co_return std::unexpected(out_of_time(phase::connect, "connect_timeout"));
    if (needs_new_connection_) shard_->pool().close_idle(*origin_);
    for (;;) {
        lease granted;
        if (was_granted()) {
            granted = std::exchange(call_.turn, nullptr)->take();
            times_.queued = since_start();
        } else if (!shard_->pool().try_open(*origin_)) {
            // A second copy is worth a connection of its own, but no other call's place.
            const bool is_opening = connection_pool::is_opening(*origin_);
            if (is_second_ && !is_opening) granted = shard_->pool().take_place(*origin_);
            const client_connection* const other_than = is_opening ? avoided() : nullptr;
            if (!granted) {
                auto turn = co_await wait_for_place(granted, other_than);
                if (!turn) co_return std::unexpected(std::move(turn).error());
            }
        }
        if (!granted) break;
        auto fit = co_await is_fit(granted);
        if (!fit) co_return std::unexpected(std::move(fit).error());
        if (*fit) co_return std::move(granted);
        if (granted.replace()) break;
    }
    opening counted(*origin_);
    times_.queued = since_start();
    const time_point begun = now();
    if (!is_second_) {
        auto shared = co_await coalesce();
        if (!shared || *shared) co_return std::move(shared);
    }
    co_return co_await open_connection(counted, begun);
}

/// Returns true if a granted connection can carry this request.
task<std::expected<bool, error>> running_call::is_fit(lease& granted) {
    if (needs_new_connection_ && granted->may_be_stale()) co_return false;
    // The previous response may just have been read. After another turn of the loop the backend has
    // reported bytes or an end that followed it.
    auto turn = yield();
    auto turned = co_await as_result(turn);
    if (!turned) {
        granted.end(fate::unused);
        co_return std::unexpected(std::move(turned).error());
    }
    // Bytes received without a request would be taken for the response to this one.
    co_return granted->fit();
}

task<std::expected<void, error>> running_call::wait_for_place(lease& granted,
                                                              const client_connection* avoided) {
    place_wait turn(*origin_, avoided);
    if (!shard_->pool().wait(turn)) {
        error e(errc::limit_exceeded, "request");
        co_return std::unexpected(fail(e.on("pool_options::waiting"), phase::connect));
    }
    limit_.begin(*context_, duration::zero(), attempt_deadline_);
    auto served = co_await as_result(turn);
    limit_.end();
    if (!served) {
        if (limit_.passed())
            co_return std::unexpected(out_of_time(phase::connect, "connect_timeout"));
        co_return std::unexpected(std::move(served).error());
    }
    granted = turn.take();
    times_.queued = since_start();
    co_return std::expected<void, error>();
}

operation<std::unique_ptr<net::byte_stream>> running_call::reach_origin(connect::timings& parts) {
    connect::options how = origin_->get_transport().connecting();
    how.record(&parts);
    if (options_->resolve_timeout > duration::zero())
        how.resolve_timeout(options_->resolve_timeout);
    if (origin_->proxy() != nullptr) how.proxy(origin_->proxy());
    if (origin_->forwards()) return connect::to_proxy(shard_->names(), how);
    return connect::to(shard_->names(), origin_->host(), origin_->port(), how);
}

task<std::expected<std::unique_ptr<net::byte_stream>, error>> running_call::connect_to_peer(
    const tls::session_info** secured) {
    tls::client_context* security = nullptr;
    if (origin_->secure()) {
        // First, so that no connection is opened which TLS could not use.
        auto context = origin_->get_transport().tls();
        if (!context) co_return std::unexpected(fail(std::move(context).error(), phase::tls));
        security = *context;
    }
    connect::timings parts;
    const duration before = since_start();
    auto connecting = reach_origin(parts);
    auto stream = co_await as_result(connecting);
    if (parts.resolve > duration::zero()) times_.resolved = before + parts.resolve;
    if (parts.connect > duration::zero()) times_.connected = before + parts.connect;
    if (parts.proxy > duration::zero()) times_.tunnelled = before + parts.proxy;
    reached_ = parts.reached;
    if (!stream) co_return std::unexpected(fail(std::move(stream).error(), phase::connect));
    if (security == nullptr) co_return *std::move(stream);
    reached_ = phase::tls;
    handshake_turns& turns = origin_->handshakes();
    turns.connected(std::max(parts.connect, parts.proxy) - parts.resolve);
    semaphore_permit turn = turns.try_hold();
    if (!turn && turns.worth_waiting()) {
        auto granted = co_await turns.wait();
        if (!granted) co_return std::unexpected(fail(std::move(granted).error(), phase::tls));
        turn = *std::move(granted);
    }
    const time_point begun = now();
    auto handshake = tls::connect(*security, *std::move(stream), origin_->host(),
                                  origin_->get_transport().protocols());
    auto secure = co_await as_result(handshake);
    if (!secure) {
        error e = std::move(secure).error();
        if (e == std::errc::timed_out) e = error(std::errc::timed_out, "tls_timeout");
        co_return std::unexpected(fail(std::move(e), phase::tls));
    }
    turns.ended(now() - begun);
    if (origin_->get_transport().knows_http_2() && (*secure)->protocol() != "h2") {
        error e(std::errc::protocol_not_supported, "ALPN", phase::tls);
        co_return std::unexpected(fail(e.on("the server does not speak HTTP/2"), phase::tls));
    }
    times_.secured = since_start();
    *secured = secure->get();
    co_return *std::move(secure);
}

/// `begun`: from then on its time counts.
task<std::expected<lease, error>> running_call::open_connection(opening& counted,
                                                                time_point begun) {
    const tls::session_info* secured = nullptr;
    time_point due = attempt_deadline_;
    if (options_->connect_timeout > duration::zero()) {
        due = std::min(due, coracle::detail::later(begun, options_->connect_timeout));
    }
    reached_ = phase::resolve;
    // Uses a context of its own, because addresses are tried in parallel.
    auto connecting = with_deadline(due, connect_to_peer(&secured));
    auto got = co_await as_result(connecting);
    if (got && *got) co_return counted.done(**std::move(got), secured);
    if (now() >= due) co_return std::unexpected(out_of_time(reached_, "connect_timeout"));
    co_return std::unexpected(got ? std::move(*got).error() : std::move(got).error());
}

}  // namespace coracle::http::detail
