// How a call comes by a connection: its turn, names, TCP, proxies, TLS.

#include "http/client/running_call.hpp"

#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/with_timeout.hpp>

namespace coracle::http::detail {
namespace {

/// The turn of a call at the connections to its origin.
class turn_wait final : public coracle::detail::leaf<turn_wait, void>, public connection_request {
public:
    static constexpr const char* name = "connection";
    explicit turn_wait(origin& o) noexcept : connection_request(o) {}

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

/// A connection that counts as open while it is being made.
class opening {
public:
    explicit opening(origin& o) noexcept : origin_(&o) {}
    opening(const opening&) = delete;
    opening& operator=(const opening&) = delete;
    ~opening() {
        if (origin_ != nullptr) origin_->pool().not_opened(*origin_);
    }
    lease done(std::unique_ptr<net::byte_stream> stream, const tls::stream* secured) {
        origin& o = *std::exchange(origin_, nullptr);
        return o.pool().opened(o, std::move(stream), secured);
    }

private:
    origin* origin_;
};

}  // namespace

/// Whether the call got something by waiting before it began. What is for elsewhere than it goes
/// now is left to the next.
bool running_call::has_turn() noexcept {
    if (call_.turn == nullptr) return false;
    if (call_.turn->is_served() && &call_.turn->at() == origin_) return true;
    std::exchange(call_.turn, nullptr)->leave();
    return false;
}

task<std::expected<lease, error>> running_call::get_connection() {
    if (now() >= whole_) co_return std::unexpected(out_of_time(phase::connect, "connect_timeout"));
    lease granted;
    if (fresh_) shard_->pool().close_idle(*origin_);
    if (has_turn()) {
        granted = std::exchange(call_.turn, nullptr)->take();
    } else if (!shard_->pool().try_open(*origin_)) {
        auto turn = co_await wait_for_room(granted);
        if (!turn) co_return std::unexpected(std::move(turn).error());
    }
    if (granted) {
        auto fit = co_await is_fit(granted);
        if (!fit) co_return std::unexpected(std::move(fit).error());
        if (*fit) co_return std::move(granted);
        granted.make_room();
    }
    times_.queued = since_start();
    co_return co_await open_connection();
}

/// Whether one that was handed over may carry this request.
task<std::expected<bool, error>> running_call::is_fit(lease& granted) {
    if (fresh_) co_return false;
    // The answer before may just have been read: what came behind it is known when the backend has
    // been asked once more.
    auto turn = yield();
    auto turned = co_await as_result(turn);
    if (!turned) {
        granted.give_back();
        co_return std::unexpected(std::move(turned).error());
    }
    // Bytes that no request asked for would be taken for the answer to this one.
    co_return granted->alive() && !granted->stream().has_input();
}

task<std::expected<void, error>> running_call::wait_for_room(lease& granted) {
    turn_wait turn(*origin_);
    if (!shard_->pool().wait(turn)) {
        error e(errc::limit_exceeded, "request");
        co_return std::unexpected(fail(e.on("pool_options.waiting"), phase::connect));
    }
    limit_.begin(*who_, duration::zero(), whole_);
    auto served = co_await as_result(turn);
    limit_.end();
    if (!served) {
        if (limit_.passed())
            co_return std::unexpected(out_of_time(phase::connect, "connect_timeout"));
        co_return std::unexpected(std::move(served).error());
    }
    granted = turn.take();
    co_return std::expected<void, error>();
}

operation<std::unique_ptr<net::byte_stream>> running_call::reach_origin(connect::timings& parts) {
    connect::options how = origin_->way().connecting();
    how.record(&parts);
    if (options_->resolve_timeout > duration::zero()) how.resolve_limit(options_->resolve_timeout);
    if (origin_->proxy() != nullptr) how.proxy(origin_->proxy());
    if (origin_->forwards()) return connect::to_proxy(shard_->names(), how);
    return connect::to(shard_->names(), origin_->host(), origin_->port(), how);
}

task<std::expected<std::unique_ptr<net::byte_stream>, error>> running_call::connect_to_peer(
    const tls::stream** secured) {
    connect::timings parts;
    const duration before = since_start();
    auto connecting = reach_origin(parts);
    auto stream = co_await as_result(connecting);
    if (parts.resolve > duration::zero()) times_.resolved = before + parts.resolve;
    if (parts.connect > duration::zero()) times_.connected = before + parts.connect;
    if (parts.proxy > duration::zero()) times_.tunnelled = before + parts.proxy;
    reached_ = parts.reached;
    if (!stream) co_return std::unexpected(fail(std::move(stream).error(), phase::connect));
    if (!origin_->secure()) co_return *std::move(stream);
    reached_ = phase::tls;
    auto context = origin_->way().tls();
    if (!context) co_return std::unexpected(fail(std::move(context).error(), phase::tls));
    handshake_turns& turns = origin_->handshakes();
    turns.connected(std::max(parts.connect, parts.proxy) - parts.resolve);
    semaphore_permit turn = turns.try_hold();
    if (!turn && turns.worth_waiting()) {
        auto granted = co_await turns.wait();
        if (!granted) co_return std::unexpected(fail(std::move(granted).error(), phase::tls));
        turn = *std::move(granted);
    }
    const time_point begun = now();
    auto handshake = tls::connect(**context, *std::move(stream), origin_->host());
    auto secure = co_await as_result(handshake);
    if (!secure) co_return std::unexpected(fail(std::move(secure).error(), phase::tls));
    turns.ended(now() - begun);
    times_.secured = since_start();
    *secured = secure->get();
    co_return *std::move(secure);
}

task<std::expected<lease, error>> running_call::open_connection() {
    opening counted(*origin_);
    const tls::stream* secured = nullptr;
    time_point due = whole_;
    if (options_->connect_timeout > duration::zero()) {
        due = std::min(due, coracle::detail::later(now(), options_->connect_timeout));
    }
    reached_ = phase::resolve;
    // In a context of its own: addresses are tried side by side.
    auto connecting = with_deadline(due, connect_to_peer(&secured));
    auto got = co_await as_result(connecting);
    if (got && *got) co_return counted.done(**std::move(got), secured);
    if (now() >= due) co_return std::unexpected(out_of_time(reached_, "connect_timeout"));
    co_return std::unexpected(got ? std::move(*got).error() : std::move(got).error());
}

}  // namespace coracle::http::detail
