#pragma once

#include "http/h1/head.hpp"
#include "http/message/date.hpp"
#include "http/server/counters.hpp"
#include "http/server/exchange.hpp"
#include "http/server/greeting.hpp"

#include <coracle/net/listener.hpp>
#include <coracle/net/network.hpp>
#include <coracle/runtime/event.hpp>
#include <coracle/runtime/task_group.hpp>

#include <vector>

namespace coracle::http::detail {

class connection;

/// A connection's place in the list of its loop.
struct shard_link : list_hook {};

/// What one loop has of a server: its listeners, its connections, and what they share.
class shard {
public:
    shard(loop& owner, const handler& h, const server_options& o);
    ~shard();
    shard(const shard&) = delete;
    shard& operator=(const shard&) = delete;

    void open(const net::address& at, bool shared, bool secure);
    void share(const net::listener& with, bool secure);

    /// Where connections come in: encrypted or not.
    struct entrance {
        net::listener listener;
        bool secure;
    };
    const std::vector<entrance>& entrances() const noexcept { return entrances_; }

    /// Serves until `drain`, and until the last connection has ended.
    task<std::expected<void, error>> run();
    /// Begins the drain; on the loop's thread.
    void drain() noexcept;
    bool draining() const noexcept { return draining_; }

    loop& owner() const noexcept { return *owner_; }
    /// Beneath which the tasks of connections are reported.
    coracle::detail::context& context() noexcept { return *context_; }
    const handler& target() const noexcept { return handler_; }
    const server_options& options() const noexcept { return *options_; }
    const h1::head_limits& head_limits() const noexcept { return head_limits_; }

    loop_counters& counters() noexcept { return counters_; }
    const loop_counters& counters() const noexcept { return counters_; }
    void count(loop_counters::member which) noexcept { counters_.add(which); }

    exchange* take_exchange();
    void give_back(exchange* e) noexcept;

    /// An empty buffer for answers; one at a time is kept.
    void take_output(buffer& into);
    void give_back(buffer& output) noexcept;

    /// "Date: Sun, 06 Nov 1994 08:49:37 GMT" CRLF, behind the status line of a 200: what most
    /// answers begin with, rendered once a second.
    struct head_start {
        static constexpr std::string_view ok = "HTTP/1.1 200 OK\r\n";
        static constexpr std::size_t date_line = 6 + http_date_size + 2;
        char text[ok.size() + date_line];
    };
    const head_start& start_of_head() noexcept;

    void opened(shard_link& c) noexcept;
    void closed() noexcept;

    /// The head that is being parsed: only its capacity outlives a call.
    h1::request_head head;

private:
    task<> accept_from(task_group* handshakes, entrance* from);
    task<> greet(std::unique_ptr<net::socket> s, bool secure, bool by_proxy);
    void begin(greeted client);
    void cut_all() noexcept;

    loop* owner_;
    coracle::detail::context* context_ = nullptr;
    handler handler_;
    const server_options* options_;
    h1::head_limits head_limits_;
    std::vector<entrance> entrances_;
    std::vector<net::network> proxies_;
    intrusive_list<shard_link> connections_;
    std::size_t open_ = 0;
    std::size_t greeting_ = 0;  ///< connections whose handshake is under way
    exchange* free_ = nullptr;
    std::size_t free_count_ = 0;
    buffer output_;
    std::int64_t date_second_ = -1;
    head_start head_start_;
    event stop_;
    event room_;
    event empty_;
    loop_counters counters_;
    bool draining_ = false;
};

}  // namespace coracle::http::detail
