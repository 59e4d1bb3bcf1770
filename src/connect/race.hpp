#pragma once

#include <coracle/connect/connect.hpp>
#include <coracle/runtime/event.hpp>
#include <coracle/runtime/task_group.hpp>

#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace coracle::connect {

/// Returns the addresses that `o` has for a host; nothing: resolve it.
std::optional<std::vector<net::address>> known_addresses(const options& o, std::string_view host,
                                                         std::uint16_t port);

/// The parallel attempts to reach one host. Lives in the coroutine frame of the task that runs it.
class race {
public:
    using result = std::expected<std::unique_ptr<net::byte_stream>, error>;

    /// Limits and timings count from `start`, but for that of names, which begins with it.
    race(net::resolver& names, const std::string& host, std::uint16_t port, const options& o,
         time_point start);
    race(const race&) = delete;
    race& operator=(const race&) = delete;

    task<result> run();

private:
    struct failed_attempt {
        net::address to;
        error why;
    };

    /// The body of the task group: starts attempts until one has succeeded or nothing is left to
    /// try.
    task<> drive(task_group& group);
    void begin_to_resolve(task_group& group);
    task<> resolve(net::family which);
    void give_up_names();
    task<> attempt(net::address to);
    void start_next(task_group& group);
    void take(std::vector<net::address> found, net::family of);

    bool resolved() const noexcept { return resolving_ == 0 || names_given_up_; }
    /// Returns true when the limit of attempts is reached: further addresses are not tried.
    bool tried_enough() const noexcept { return started_ >= options_.addresses(); }
    bool has_next() const noexcept { return !tried_enough() && (!v6_.empty() || !v4_.empty()); }
    /// Returns true when no attempt can succeed any more.
    bool lost() const noexcept {
        return (resolved() || tried_enough()) && running_.empty() && !has_next();
    }
    /// The time at which the next attempt may begin; never, while there is no address.
    time_point next_start() const noexcept;
    error failure() const;
    void note(duration timings::* when) const noexcept;

    net::resolver* names_;
    const std::string* host_;
    std::uint16_t port_;
    options options_;
    time_point start_;
    time_point give_up_;
    time_point give_up_names_at_;
    event changed_;

    unsigned resolving_ = 0;
    bool v6_pending_ = false;
    bool names_given_up_ = false;
    time_point v4_since_ = time_point::max();  ///< the time at which the IPv4 addresses were known
    std::optional<error> no_addresses_;

    std::deque<net::address> v6_;
    std::deque<net::address> v4_;
    net::family last_family_ = net::family::none;
    unsigned started_ = 0;
    bool at_once_ = true;  ///< the next attempt need not wait for the last
    time_point last_start_ = time_point::min();
    std::vector<net::address> running_;
    std::vector<failed_attempt> failed_;
    std::unique_ptr<net::byte_stream> winner_;
    bool out_of_time_ = false;
    bool cancelled_ = false;  ///< cancelled from outside
};

}  // namespace coracle::connect
