#pragma once

#include "http/client/auth/authenticator.hpp"
#include "http/client/client_connection.hpp"
#include "http/client/h2/h2_connection.hpp"
#include "http/client/handshake_turns.hpp"
#include "http/client/transport.hpp"

#include <coracle/base/detail/intrusive_list.hpp>
#include <coracle/base/detail/tally.hpp>
#include <coracle/base/url.hpp>
#include <coracle/http/h1/head.hpp>
#include <coracle/runtime/operation.hpp>

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace coracle::http::detail {

class connection_pool;
class origin;

/// The link of an origin in the list of those that wait for the pool's limit of connections.
struct ready_link : list_hook {};
/// Its link in the list of those whose requests were passed over for the first of that list.
struct passed_over_link : list_hook {};

/// A place for one exchange on a connection. The destructor cancels the exchange, unless `end` was
/// called.
class lease {
public:
    lease() noexcept = default;
    explicit lease(client_exchange& e) noexcept : exchange_(&e) {}
    lease(lease&& other) noexcept : exchange_(std::exchange(other.exchange_, nullptr)) {}
    lease& operator=(lease&& other) noexcept {
        if (this != &other) {
            end(fate::cancelled);
            exchange_ = std::exchange(other.exchange_, nullptr);
        }
        return *this;
    }
    ~lease() { end(fate::cancelled); }

    explicit operator bool() const noexcept { return exchange_ != nullptr; }
    client_exchange* operator->() const noexcept { return exchange_; }
    client_exchange& operator*() const noexcept { return *exchange_; }
    void end(fate how) noexcept {
        if (exchange_ != nullptr) std::exchange(exchange_, nullptr)->release(how);
    }
    /// Releases an exchange that is not fit. Returns true if a new connection may be opened in its
    /// place; that one is counted already.
    bool replace() noexcept { return std::exchange(exchange_, nullptr)->replace(); }
    /// Returns the stream after a switch of protocols; the caller owns it.
    std::unique_ptr<net::byte_stream> detach(buffer& received, client_shard& of) noexcept {
        return std::exchange(exchange_, nullptr)->detach(received, of);
    }

private:
    client_exchange* exchange_ = nullptr;
};

/// A request that waits until a connection to an origin is free or may be opened. If it does not
/// take the granted connection, the next one gets it.
class connection_request : public list_hook {
public:
    /// It is granted no place on the connection `avoided`, of which nothing is read but its
    /// address.
    explicit connection_request(origin& o, const client_connection* avoided = nullptr) noexcept;
    connection_request(const connection_request&) = delete;
    connection_request& operator=(const connection_request&) = delete;

    origin& at() const noexcept { return *at_; }
    const client_connection* avoided() const noexcept { return avoided_; }
    bool is_waiting() const noexcept { return turn_ != 0; }
    /// The time at which it began to wait.
    time_point since() const noexcept { return since_; }
    /// Returns true if a place was granted and not taken.
    bool is_served() const noexcept { return served_ && !taken_; }
    /// Returns the granted connection, or an empty lease: then a connection may be opened, and is
    /// counted already.
    lease take() noexcept {
        taken_ = true;
        return std::move(granted_);
    }
    /// Stops waiting.
    void withdraw() noexcept;
    /// Stops waiting, and passes a granted place that was not taken to the next request.
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
    /// Called once, when a place is granted.
    virtual void served() noexcept = 0;

    origin* at_;
    const client_connection* avoided_;
    lease granted_;
    time_point since_{};
    std::uint64_t turn_ = 0;  ///< smaller for earlier requests; 0: does not wait
    bool served_ = false;
    bool taken_ = false;
};

/// The version of HTTP that an origin speaks, as far as it is known.
enum class spoken : std::uint8_t { unknown, http_1, http_2 };

/// Facts that connections to a server have shown.
struct origin_facts {
    spoken version = spoken::unknown;  ///< of the last one
    bool wants_http_1 = false;
    bool upgrades_http_1_only = false;
    bool keeps_apart = false;
};

/// The key of interchangeable connections: scheme, host, port and transport. All plain requests
/// through a forwarding proxy share one, whatever their host.
class origin final : ready_link, passed_over_link, deadline {
public:
    origin(connection_pool& pool, std::string name, const url& u,
           std::shared_ptr<const transport> t, std::shared_ptr<const connect::proxy> p,
           bool tunnels, std::size_t handshakes);
    origin(const origin&) = delete;
    origin& operator=(const origin&) = delete;

    connection_pool& pool() noexcept { return *pool_; }
    const std::string& name() const noexcept { return name_; }
    const transport& get_transport() const noexcept { return *transport_; }
    const std::string& host() const noexcept { return host_; }
    std::uint16_t port() const noexcept { return port_; }
    bool secure() const noexcept { return secure_; }
    const std::shared_ptr<const connect::proxy>& proxy() const noexcept { return proxy_; }
    handshake_turns& handshakes() noexcept { return handshakes_; }
    /// Returns the authenticator for these credentials at `authority`; the last ones used are kept.
    std::shared_ptr<authenticator> authentication(std::string_view authority,
                                                  const credentials& used);
    /// Returns true if requests are sent to an HTTP proxy in absolute form.
    bool forwards() const noexcept {
        return proxy_ != nullptr && proxy_->is_http() && !secure_ && !tunnels_;
    }
    /// Facts learned about the server: it requires HTTP/1.1 for all requests, or for upgrades.
    void wants_http_1() noexcept;
    void upgrades_http_1_only() noexcept;
    /// The server refuses requests on connections to another origin (421).
    void keeps_apart() noexcept;
    /// The streams that its last connection took at once. Until one has said it, as many as RFC
    /// 9113 section 6.5.2 recommends to take at least.
    void takes_streams(std::uint32_t most) noexcept {
        if (most != 0) streams_ = most;
    }
    std::uint32_t usual_streams() const noexcept { return streams_; }
    bool takes_http_2(bool upgrades) const noexcept {
        return !facts_.wants_http_1 && !(upgrades && facts_.upgrades_http_1_only);
    }
    /// Returns true if connections without TLS use HTTP/2.
    bool knows_http_2() const noexcept { return transport_->knows_http_2() && !forwards(); }

private:
    friend class connection_pool;

    connection_pool* pool_;
    std::string name_;
    std::string host_;
    std::uint16_t port_;
    bool secure_;
    bool tunnels_;
    std::shared_ptr<const transport> transport_;
    std::shared_ptr<const connect::proxy> proxy_;
    /// Returns true if new requests should wait for a connection that is being opened, because it
    /// may have places for all.
    bool waits_for_opening() const noexcept {
        return opening_ != 0 && facts_.version != spoken::http_1 && !patience_over_;
    }
    /// Requests have waited long enough for the version of the origin.
    void expired() noexcept override;
    /// Records a fact, also for the time after the origin was removed.
    template <class T>
    void learn(T origin_facts::* fact, T value) noexcept;

    intrusive_list<pool_link> idle_;        ///< the last used one first
    intrusive_list<h2_place_link> shared_;  ///< connections of HTTP/2, used or idle
    bool patience_over_ = false;
    origin_facts facts_;
    std::uint32_t streams_ = 100;
    unsigned opening_ = 0;  ///< connections that are being opened
    intrusive_list<connection_request> waiting_;
    handshake_turns handshakes_;
    struct login {
        std::string authority;
        std::shared_ptr<authenticator> auth;  ///< calls with other credentials have their own
    };
    std::vector<login> logins_;  ///< the last used ones; few
    unsigned open_ = 0;          ///< connections that exist or are being opened
    std::uint32_t users_ = 0;
};

/// Counters of a pool. One thread writes, any thread reads.
struct pool_counters {
    tally opened;
    tally reused;
    tally stale;  ///< idle connections closed by the peer, or too old
    tally open;
    tally idle;
    tally waiting;

    // Counters of HTTP/2.
    tally h2_connections;
    tally coalesced;
    tally goaways;
    tally silent;
    std::array<tally, h2::limit_kinds> h2_limits;  ///< indexed by `h2::limit_kind`
};

/// The connections of a client on one loop.
class connection_pool {
public:
    connection_pool(loop& owner, const pool_options& o) : owner_(&owner), options_(o), way_(*this) {
        // Without one no call would ever begin.
        options_.connections = std::max(options_.connections, decltype(options_.connections){1});
        options_.connections_per_host =
            std::max(options_.connections_per_host, decltype(options_.connections_per_host){1});
    }
    ~connection_pool();
    connection_pool(const connection_pool&) = delete;
    connection_pool& operator=(const connection_pool&) = delete;

    loop& owner() noexcept { return *owner_; }
    const pool_options& options() const noexcept { return options_; }

    /// Returns the origin of this URL with this transport, or null if there is none yet. With
    /// `upgrades` an HTTP proxy makes a tunnel to it: proxies pass no Upgrade on (RFC 9110 section
    /// 7.6.1).
    origin* look_up(const url& u, const std::shared_ptr<const transport>& t, bool upgrades);
    /// Returns that origin, and creates it if need be. It lives while it is held.
    std::expected<origin*, error> find(const url& u, const std::shared_ptr<const transport>& t,
                                       bool upgrades);
    void hold(origin& o) noexcept { ++o.users_; }
    void drop(origin& o) noexcept {
        if (--o.users_ == 0 && o.open_ == 0) forget(o);
    }

    /// Returns a place on an open connection to `o` other than `avoided`, or none.
    lease take_place(origin& o, const client_connection* avoided = nullptr);
    /// Returns the family of the addresses by which a connection to another origin goes whose
    /// certificate also covers `o`; none: there is no such connection.
    net::family family_to_coalesce(origin& o);
    /// Returns a place on such a connection to one of `addresses`, or none.
    lease coalesce(origin& o, std::span<const net::address> addresses);
    /// Returns true if one more connection may be opened now, and counts it.
    bool try_open(origin& o) noexcept;
    /// Returns true if a new request would not have to wait. Null: a new origin.
    bool has_room(origin* o) noexcept {
        if (o != nullptr && (!o->idle_.empty() || shared_with_place(*o) != nullptr)) return true;
        if (o != nullptr && o->waits_for_opening()) return false;
        const unsigned open = o != nullptr ? o->open_ : 0;
        return open < options_.connections_per_host && !(is_full() && idle_.empty());
    }
    /// Returns true if `o` opens a connection that may have places for all who wait.
    static bool is_opening(const origin& o) noexcept { return o.waits_for_opening(); }
    /// Queues a request. Returns false when too many wait.
    bool wait(connection_request& r) noexcept;
    void withdraw(connection_request& r) noexcept;
    /// To be called when a connection that `try_open` counted was opened.
    lease opened(origin& o, std::unique_ptr<net::byte_stream> stream,
                 const tls::session_info* secured);
    /// To be called when that connection could not be opened.
    void not_opened(origin& o) noexcept {
        opening_ended(o);
        closed_one(o);
    }

    void give_back(client_connection& c) noexcept;
    void close(client_connection& c, bool reset) noexcept;
    /// To be called when an exchange on this HTTP/2 connection has ended.
    void place_freed(client_h2_connection& c) noexcept;
    /// To be called when its number of places may have changed.
    void places_changed(client_h2_connection& c) noexcept;
    /// To be called when it is lost and its exchanges have failed.
    void lost(client_h2_connection& c) noexcept;
    /// Serves the requests that waited for the version of `o`.
    void patience_over(origin& o) noexcept;
    /// To be called when its stream was detached.
    void detached(client_connection& c) noexcept;
    /// Closes a connection that was leased, and counts a new one in its place.
    void replace(client_connection& c) noexcept;
    void close_idle(origin& o) noexcept;
    /// Closes an idle connection that is not usable any more.
    void discard_idle(client_connection& c) noexcept;
    /// Closes idle connections, and keeps none from now on.
    void retire() noexcept;
    /// Closes used connections too, because the loop has ended.
    void abandon() noexcept;
    pool_counters& counters() noexcept { return counters_; }
    const pool_counters& counters() const noexcept { return counters_; }

    /// Memory for parsers, valid only until the next wait.
    h1::response_head& parsed_head() noexcept { return head_; }

private:
    friend class origin;

    /// Lets the requests that were passed over go on.
    class right_of_way final : public deadline {
    public:
        explicit right_of_way(connection_pool& of) noexcept : deadline(of.owner()), pool_(&of) {}
        using deadline::arm;

    private:
        void expired() noexcept override { pool_->serve_passed_over(); }

        connection_pool* pool_;
    };

    static client_connection* first(intrusive_list<pool_link>& list) noexcept {
        return static_cast<client_connection*>(list.front());
    }
    static origin& origin_of(ready_link& l) noexcept { return static_cast<origin&>(l); }
    static std::uint64_t first_number(origin& o) noexcept { return o.waiting_.front()->turn(); }
    static client_connection* take_first(intrusive_list<pool_link>& list) noexcept {
        return static_cast<client_connection*>(list.pop_front());
    }
    struct key_hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept {
            return std::hash<std::string_view>()(text);
        }
    };

    origin* known_as(std::string_view name, const std::shared_ptr<const transport>& t);
    bool is_full() const noexcept { return counters_.open >= options_.connections; }
    bool is_too_old(const client_connection& c) const noexcept;
    bool close_an_idle_one() noexcept;
    void closed_one(origin& o) noexcept;
    /// Moves `o` to its place in `ready_`. To be called when its first request or `open_` has
    /// changed.
    void keep_place(origin& o) noexcept;
    void put_in_order(origin& o) noexcept;
    void serve_passed_over() noexcept;
    bool gives_way(origin& o) noexcept;
    /// Returns true if a connection to `o` that is free now must be closed for one to another
    /// origin, whose request waited longer.
    bool others_are_first(origin& o) noexcept;
    void serve_waiting() noexcept;
    void serve_all() noexcept;
    void serve_places(origin& o) noexcept;
    void grant(connection_request& r, lease l) noexcept;
    bool try_grant(connection_request& r, client_connection& c) noexcept;
    bool serve_one_place(origin& o) noexcept;
    /// Counts the connections to `o` that are being opened.
    void opening_begins(origin& o) noexcept;
    void opening_ended(origin& o) noexcept;
    client_h2_connection* shared_with_place(origin& o,
                                            const client_connection* avoided = nullptr) noexcept;
    template <class F>
    client_h2_connection* find_coalescible(origin& o, F leads_there);
    lease use_idle(client_connection& c);
    void stop_waiting(client_connection& c) noexcept;
    void keep(client_connection& c) noexcept;
    void forget(origin& o) noexcept;

    loop* owner_;
    pool_options options_;
    /// Origins of the same name differ in their transport.
    std::unordered_multimap<std::string, std::unique_ptr<origin>, key_hash, std::equal_to<>>
        origins_;
    origin* last_ = nullptr;  ///< the last result of `look_up`
    /// The versions of HTTP of origins that were removed.
    std::unordered_map<std::string, origin_facts> known_;
    intrusive_list<pool_link> used_;
    intrusive_list<idle_link> idle_;  ///< the longest idle one first
    /// Origins with waiting requests and fewer connections than their limit, the longest wait
    /// first.
    intrusive_list<ready_link> ready_;
    std::uint64_t first_ready_ = 0;  ///< number of the first request of `ready_`; 0: none
    intrusive_list<passed_over_link> passed_over_;
    right_of_way way_;
    std::uint64_t last_number_ = 0;
    h1::response_head head_;
    pool_counters counters_;
    bool retired_ = false;
};

inline connection_request::connection_request(origin& o, const client_connection* avoided) noexcept
    : at_(&o), avoided_(avoided) {
    o.pool().hold(o);
}

inline void connection_request::withdraw() noexcept {
    at_->pool().withdraw(*this);
}

}  // namespace coracle::http::detail
