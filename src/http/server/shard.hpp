#pragma once

#include "http/exchange/host.hpp"
#include "http/message/date.hpp"
#include "http/server/client_table.hpp"
#include "http/server/h1_exchange.hpp"
#include "http/server/h2c_offer.hpp"
#include "http/server/handshake.hpp"
#include "http/server/reuse_list.hpp"
#include "http/server/server_connection.hpp"

#include <coracle/http/h1/head.hpp>
#include <coracle/net/listener.hpp>
#include <coracle/net/network.hpp>
#include <coracle/runtime/event.hpp>
#include <coracle/runtime/task_group.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

namespace coracle::http::detail {

/// The part of a server on one loop: its listeners, its connections, and the state that they share.
class shard final : public exchange_host {
public:
    /// `clients`: null where their connections are not limited.
    shard(loop& owner, const handler& h, const server_options& o, client_table* clients);

    /// The role of this listener among those of other loops at one address.
    enum class sharing : std::uint8_t {
        none,
        claims,  ///< this one is the first
        joins,
    };
    void open(const net::address& at, sharing with, bool secure);
    /// `kept`: another process has the socket, too.
    void share(const net::listener& with, bool secure, bool kept = false);
    /// Listens on a socket of another process, which has it still.
    void adopt(owned_fd fd, bool secure);

    struct bound_listener {
        net::listener listener;
        bool secure;  ///< encrypted
        bool kept;    ///< lives on elsewhere when it is closed here
    };
    const std::vector<bound_listener>& listeners() const noexcept { return listeners_; }

    /// Serves until `drain`, and until the last connection has ended. `shards`: how many loops the
    /// server has.
    task<std::expected<void, error>> run(std::size_t shards);
    /// Begins the drain. On the loop's thread.
    void drain() noexcept;
    /// Begins the drain from any thread, in a later turn; `self` is this. Allocates nothing: a
    /// server can be stopped when there is no memory.
    void stop(std::shared_ptr<shard> self) noexcept;
    /// To be called before another process gets the listeners, which accepts what waits there: a
    /// drain does not close them to new connections from then on. Any thread.
    void hand_over() noexcept { handed_over_ = true; }
    /// The time from the begin of the drain to its end, or until now; any thread.
    duration drained_for() const noexcept;

    /// The parent of the tasks of connections in reports.
    coracle::detail::context& context() noexcept { return *context_; }
    const h1::head_limits& head_limits() const noexcept { return head_limits_; }

    /// Objects that are kept for reuse.
    reuse_list<h1_exchange> h1_exchanges;
    reuse_list<exchange> exchanges;
    /// Returns the time at which a connection that begins now is to be closed for its age.
    time_point end_of_life() noexcept;

    /// Returns an empty buffer for responses; one is kept for reuse.
    void take_output(buffer& into);
    void give_back(buffer& output) noexcept;

    /// "Date: Sun, 06 Nov 1994 08:49:37 GMT" CRLF, after the status line of a 200: most responses
    /// begin with it, and it is rendered once a second.
    struct head_start {
        static constexpr std::string_view ok = "HTTP/1.1 200 OK\r\n";
        static constexpr std::size_t date_line = 6 + http_date_size + 2;
        char text[ok.size() + date_line];
    };
    const head_start& start_of_head() noexcept {
        const std::int64_t now = owner().unix_time();
        if (now != date_second_) [[unlikely]]
            render_start_of_head(now);
        return head_start_;
    }

    void opened(server_connection& c) noexcept;
    /// `client`: null for a connection that continues in another form, and stays counted.
    void closed(const net::address* client) noexcept;

    /// Memory for the head being parsed: only its capacity outlives a call.
    h1::request_head head;
    /// An offer on its way from the connection of HTTP/1 that read it to the one that accepts it.
    std::optional<h2c_offer> offer;
    /// Memory for the lines of a head being written, likewise.
    std::vector<field> field_lines;

    /// Lets a connection speak for the client that it is counted for. Where it cannot, for want of
    /// memory, it counts for nobody.
    void let_speak_for(connection_info& connection, const net::address& client);

private:
    /// Posted at most once at a time. The server, and its options, may be gone before it arrives.
    struct stop_message final : coracle::detail::remote_runnable {
        void arrived() noexcept override {
            if (const auto s = take()) s->drain();
        }
        void dropped() noexcept override { static_cast<void>(take()); }
        std::shared_ptr<shard> take() noexcept {
            auto s = std::move(self);
            under_way.store(false, std::memory_order_release);
            return s;
        }
        std::shared_ptr<shard> self;
        std::atomic<bool> under_way{false};
    };

    void render_start_of_head(std::int64_t now) noexcept;
    socket_options listening_options() const noexcept;
    task<> accept_from(task_group* handshakes, bound_listener* from);
    task<> accept_until_stopped(task_group& handshakes);
    bool lives_on(const bound_listener& l) const noexcept { return handed_over_ || l.kept; }
    task<> close_to_new();
    /// The one that waits at a listener in a drain.
    enum class waiting : std::uint8_t {
        taken_in,
        none,          ///< or it cannot be taken in
        without_room,  ///< for want of descriptors
    };
    waiting take_in_one(task_group& handshakes, bound_listener& from) noexcept;
    task<> take_in_waiting(task_group& handshakes);
    task<> finish_handshakes();
    bool take_in(std::unique_ptr<net::socket> s, task_group& handshakes,
                 bound_listener& from) noexcept;
    bool admit(const net::address& client);
    void forget_client(const net::address& client) noexcept;
    bool is_full() const noexcept { return open_ + handshaking_ >= most_connections_; }
    bool make_room() noexcept;
    double pressure(std::size_t connections) noexcept;
    duration idle_limit(std::size_t connections) noexcept;
    void close_long_idle();
    task<> shorten_idle();
    task<bool> find_room();
    task<bool> wait_for_room();
    void note_accept_error(const error& e) noexcept;
    task<> end_connections();
    task<> shake_hands(std::unique_ptr<net::socket> s, bool secure, bool by_proxy);
    /// `secure`: of a connection that begins with TLS; others begin with a PROXY header.
    void count_failure(const error& why, bool secure) noexcept;
    bool speaks_http2(const accepted_connection& client) const noexcept;
    void begin(accepted_connection client, const net::address& who);
    void cut_all() noexcept;

    coracle::detail::context* context_ = nullptr;
    h1::head_limits head_limits_;
    std::vector<bound_listener> listeners_;
    std::vector<net::network> proxies_;
    intrusive_list<server_connection> connections_;
    client_table* clients_;
    std::size_t most_connections_ = 0;
    std::size_t open_ = 0;
    std::size_t handshaking_ = 0;  ///< connections whose handshake is under way
    buffer output_;
    std::int64_t date_second_ = -1;
    head_start head_start_;
    event stop_;
    event room_;
    event pressed_;  ///< more connections, or more memory, than leaves idle ones their time
    event empty_;
    event shaken_;  ///< a handshake has ended
    stop_message stop_message_;
    const duration drain_time_;  ///< a late `stop` finds no options any more
    time_point drain_until_{};
    std::atomic<bool> handed_over_{false};
    std::atomic<std::int64_t> drain_began_{0};
    std::atomic<std::int64_t> drain_took_{0};  ///< 0: it goes on
};

}  // namespace coracle::http::detail
