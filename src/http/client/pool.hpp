#pragma once

#include "http/client/auth/authenticator.hpp"
#include "http/client/fast_body.hpp"
#include "http/client/handshake_turns.hpp"
#include "http/client/transport.hpp"
#include "http/h1/head_parser.hpp"

#include <coracle/base/intrusive_list.hpp>
#include <coracle/base/tally.hpp>
#include <coracle/base/url.hpp>
#include <coracle/net/byte_stream.hpp>
#include <coracle/runtime/operation.hpp>
#include <coracle/runtime/timer.hpp>
#include <coracle/tls/stream.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace coracle::http::detail {

class connection_pool;
class origin;

/// Where a connection stands among those of its origin that wait, or among those of its pool that
/// are used.
struct pool_link : list_hook {};
/// Where it stands among all that wait.
struct idle_link : list_hook {};
/// Where an origin stands among those that might open a connection if the pool had room.
struct turn_link : list_hook {};

/// A connection to an origin, or to a proxy on the way to it: carries one exchange at a time, and
/// waits in the pool between two.
class client_connection final : public pool_link, public idle_link, deadline, hangup_watch {
public:
    client_connection(origin& home, std::unique_ptr<net::byte_stream> stream,
                      const tls::stream* secured);
    ~client_connection();
    client_connection(const client_connection&) = delete;
    client_connection& operator=(const client_connection&) = delete;
    static void* operator new(std::size_t size) { return coracle::detail::allocate_block(size); }
    static void operator delete(void* p, std::size_t size) noexcept {
        coracle::detail::deallocate_block(p, size);
    }

    origin& home() noexcept { return *home_; }
    net::byte_stream& stream() noexcept { return *stream_; }
    const tls::stream* secured() const noexcept { return secured_; }
    /// What was received and not understood yet; no block while it waits in the pool.
    buffer input;
    h1::response_parser parser;

    /// Receives more of `input`, into the block that is there if there is room: give it back. While
    /// what comes fills its block, the next one is larger, up to `most`.
    net::receive receive_more(std::uint32_t most = buffer::default_capacity);
    /// The same for a body of which so many bytes are still to come, as far as is known. Once it
    /// comes fast the receive waits for a whole block; `was_received` ends that wait.
    net::receive receive_body(std::uint32_t most, std::uint64_t left);
    void was_received() noexcept {
        if (fast_ != nullptr) fast_->came();
    }
    /// Whatever the options say.
    static constexpr std::uint32_t largest_block = 256 * 1024;

    /// Whether its loop still runs.
    bool alive() const noexcept { return stream_ != nullptr; }
    /// Closes it for good: its loop ends.
    void abandon() noexcept {
        fast_.reset();
        stream_->close(true);
        stream_.reset();
    }
    std::unique_ptr<net::byte_stream> release_stream() noexcept {
        fast_.reset();
        return std::move(stream_);
    }
    bool reused() const noexcept { return uses_ > 1; }
    time_point born() const noexcept { return born_; }
    void begins_exchange() noexcept {
        ++uses_;
        room_ = buffer::default_capacity;
    }
    /// The next bytes are not of the body that came.
    void ends_body() noexcept {
        if (fast_ != nullptr) fast_->stop();
    }
    /// Watches it while it waits. False when the peer has closed it already.
    bool begin_waiting(time_point until) noexcept;
    void end_waiting() noexcept;
    void close(bool reset) noexcept {
        if (alive()) stream_->close(reset);
    }

private:
    void expired() noexcept override;
    static void peer_gone(hangup_watch& w) noexcept;

    bool comes_fast() const noexcept;

    origin* home_;
    std::unique_ptr<net::byte_stream> stream_;
    std::unique_ptr<fast_body> fast_;  ///< once a body came fast
    const tls::stream* secured_;
    time_point born_;
    std::uint32_t uses_ = 0;
    std::uint32_t room_ = buffer::default_capacity;  ///< of the next block
};

/// A connection for one exchange. Unless it is given back whole, it is closed when this is
/// destroyed.
class lease {
public:
    lease() noexcept = default;
    explicit lease(client_connection* c) noexcept : connection_(c) {}
    lease(lease&& other) noexcept : connection_(std::exchange(other.connection_, nullptr)) {}
    lease& operator=(lease&& other) noexcept {
        if (this != &other) {
            close(true);
            connection_ = std::exchange(other.connection_, nullptr);
        }
        return *this;
    }
    ~lease() { close(true); }

    explicit operator bool() const noexcept { return connection_ != nullptr; }
    client_connection* operator->() const noexcept { return connection_; }
    client_connection& operator*() const noexcept { return *connection_; }
    /// The exchange is over, and the connection fit for another.
    void give_back() noexcept;
    void close(bool reset) noexcept;
    /// It is no HTTP any more, and whoever gets the stream owns it.
    std::unique_ptr<net::byte_stream> detach() noexcept;
    /// Closes one that was handed over, for a new one that is opened now: it counts already.
    void make_room() noexcept;

private:
    client_connection* connection_ = nullptr;
};

/// Somebody who waits until a connection to an origin is free, or may be opened. What his turn
/// brings, and he does not take, goes to the next.
class connection_request : public list_hook {
public:
    explicit connection_request(origin& o) noexcept;
    connection_request(const connection_request&) = delete;
    connection_request& operator=(const connection_request&) = delete;

    origin& at() const noexcept { return *at_; }
    bool is_waiting() const noexcept { return turn_ != 0; }
    /// When it began to.
    time_point since() const noexcept { return since_; }
    /// Whether it has what may be taken.
    bool is_served() const noexcept { return served_ && !taken_; }
    /// Gives the connection, or nothing: then one may be opened, and counts already.
    lease take() noexcept {
        taken_ = true;
        return std::move(granted_);
    }
    /// Waits no longer.
    void withdraw() noexcept;
    /// The same, and leaves to the next what has come and was not taken.
    void leave() noexcept;

    // For the pool.
    std::uint64_t turn() const noexcept { return turn_; }
    void begin_waiting(std::uint64_t turn, time_point now) noexcept {
        turn_ = turn;
        since_ = now;
    }
    void end_waiting() noexcept { turn_ = 0; }
    void serve(lease l) noexcept {
        end_waiting();
        granted_ = std::move(l);
        served_ = true;
        served();
    }

protected:
    ~connection_request() {
        leave();
        release_origin();
    }

private:
    void release_origin() noexcept;
    /// Its turn has come. Once.
    virtual void served() noexcept = 0;

    origin* at_;
    lease granted_;
    time_point since_{};
    std::uint64_t turn_ = 0;  ///< those of who came before are smaller; 0: waits for none
    bool served_ = false;
    bool taken_ = false;
};

/// Scheme, host, port and transport: what connections of one kind have in common.
class origin : turn_link {
public:
    origin(connection_pool& pool, std::string name, const url& u,
           std::shared_ptr<const transport> t, std::shared_ptr<const connect::proxy> p,
           std::size_t handshakes);
    origin(const origin&) = delete;
    origin& operator=(const origin&) = delete;

    connection_pool& pool() noexcept { return *pool_; }
    const std::string& name() const noexcept { return name_; }
    const transport& way() const noexcept { return *way_; }
    const std::string& host() const noexcept { return host_; }
    std::uint16_t port() const noexcept { return port_; }
    bool secure() const noexcept { return secure_; }
    const std::shared_ptr<const connect::proxy>& proxy() const noexcept { return proxy_; }
    handshake_turns& handshakes() noexcept { return handshakes_; }
    /// What is known of how these credentials are taken here; those used last are remembered.
    std::shared_ptr<authenticator> authentication(const credentials& who);
    /// Whether requests go to an HTTP proxy as they are, with the whole URL.
    bool forwards() const noexcept { return proxy_ != nullptr && proxy_->is_http() && !secure_; }

private:
    friend class connection_pool;

    connection_pool* pool_;
    std::string name_;
    std::string host_;
    std::uint16_t port_;
    bool secure_;
    std::shared_ptr<const transport> way_;
    std::shared_ptr<const connect::proxy> proxy_;
    intrusive_list<pool_link> idle_;  ///< the one used last is the first
    intrusive_list<connection_request> waiting_;
    handshake_turns handshakes_;
    std::shared_ptr<authenticator> authenticator_;  ///< calls of other users hold theirs
    unsigned open_ = 0;                             ///< connections that exist or are being made
    std::uint32_t users_ = 0;
};

/// One thread writes, any reads.
struct pool_counters {
    tally opened;
    tally reused;
    tally stale;  ///< closed by the peer while they waited, or too old
    tally open;
    tally idle;
    tally waiting;
};

/// The connections of a client on one loop.
class connection_pool {
public:
    connection_pool(loop& owner, const pool_options& o) : owner_(&owner), options_(o) {}
    ~connection_pool();
    connection_pool(const connection_pool&) = delete;
    connection_pool& operator=(const connection_pool&) = delete;

    loop& owner() noexcept { return *owner_; }

    /// The origin of this URL on this way, or null when it has not been made yet.
    origin* look_up(const url& u, const std::shared_ptr<const transport>& way);
    /// The same, made if need be. It stays as long as it is held.
    std::expected<origin*, error> find(const url& u, const std::shared_ptr<const transport>& way);
    void hold(origin& o) noexcept { ++o.users_; }
    void drop(origin& o) noexcept {
        if (--o.users_ == 0 && o.open_ == 0) forget(o);
    }

    /// An idle connection of `o`, or none.
    lease take_idle(origin& o) noexcept;
    /// Whether one more may be opened now; then it counts.
    bool try_open(origin& o) noexcept;
    /// Whether somebody who came now would not have to wait. Null: an origin that there is not yet.
    bool has_room(const origin* o) noexcept {
        if (o != nullptr && !o->idle_.empty()) return true;
        const unsigned open = o != nullptr ? o->open_ : 0;
        return open < options_.connections_per_host && !(is_full() && idle_.empty());
    }
    /// Waits its turn; false when too many wait.
    bool wait(connection_request& r) noexcept;
    void withdraw(connection_request& r) noexcept;
    /// The connection that `try_open` counted is there.
    lease opened(origin& o, std::unique_ptr<net::byte_stream> stream, const tls::stream* secured);
    /// It did not come to be.
    void not_opened(origin& o) noexcept { closed_one(o); }

    void give_back(client_connection& c) noexcept;
    void close(client_connection& c, bool reset) noexcept;
    std::unique_ptr<net::byte_stream> detach(client_connection& c) noexcept;
    void make_room(client_connection& c) noexcept;
    void close_idle(origin& o) noexcept;
    /// One that waited, and is of no more use.
    void discard_idle(client_connection& c) noexcept;
    /// Closes what waits, and keeps no more.
    void retire() noexcept;
    /// Closes what is used, too: the loop has ended.
    void abandon() noexcept;
    const pool_counters& counters() const noexcept { return counters_; }

private:
    static client_connection* first(intrusive_list<pool_link>& list) noexcept {
        return static_cast<client_connection*>(list.front());
    }
    static origin& origin_of(turn_link& l) noexcept { return static_cast<origin&>(l); }
    static std::uint64_t first_turn(origin& o) noexcept { return o.waiting_.front()->turn(); }
    static client_connection* take_first(intrusive_list<pool_link>& list) noexcept {
        return static_cast<client_connection*>(list.pop_front());
    }
    struct key_hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept {
            return std::hash<std::string_view>()(text);
        }
    };

    std::expected<origin*, error> make(std::string_view name, const url& u,
                                       const std::shared_ptr<const transport>& way);
    bool is_full() const noexcept { return counters_.open >= options_.connections; }
    bool is_too_old(const client_connection& c) const noexcept;
    bool close_an_idle_one() noexcept;
    void closed_one(origin& o) noexcept;
    /// Puts it where its first turn stands in `ready_`: whenever that or `open_` has changed.
    void keep_place(origin& o) noexcept;
    /// Whether a connection to `o` that is free now has to make room for one to another origin.
    bool others_are_first(origin& o) noexcept;
    void serve_waiting() noexcept;
    void grant(origin& o, lease l) noexcept;
    void forget(origin& o) noexcept;

    loop* owner_;
    pool_options options_;
    /// Several of one name differ in their transport.
    std::unordered_multimap<std::string, std::unique_ptr<origin>, key_hash, std::equal_to<>>
        origins_;
    origin* last_ = nullptr;  ///< the one asked for last
    intrusive_list<pool_link> used_;
    intrusive_list<idle_link> idle_;  ///< the one that has waited longest is the first
    /// Origins that somebody waits for, and that have fewer connections than they may have: the
    /// longest wait first.
    intrusive_list<turn_link> ready_;
    std::uint64_t last_turn_ = 0;
    pool_counters counters_;
    bool retired_ = false;
};

inline connection_request::connection_request(origin& o) noexcept : at_(&o) {
    o.pool().hold(o);
}

inline void connection_request::withdraw() noexcept {
    at_->pool().withdraw(*this);
}

inline void lease::give_back() noexcept {
    if (connection_ != nullptr) {
        client_connection& c = *std::exchange(connection_, nullptr);
        c.home().pool().give_back(c);
    }
}

inline void lease::close(bool reset) noexcept {
    if (connection_ != nullptr) {
        client_connection& c = *std::exchange(connection_, nullptr);
        c.home().pool().close(c, reset);
    }
}

inline std::unique_ptr<net::byte_stream> lease::detach() noexcept {
    client_connection& c = *std::exchange(connection_, nullptr);
    return c.home().pool().detach(c);
}

inline void lease::make_room() noexcept {
    if (connection_ != nullptr) {
        client_connection& c = *std::exchange(connection_, nullptr);
        c.home().pool().make_room(c);
    }
}

}  // namespace coracle::http::detail
