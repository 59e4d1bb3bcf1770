#pragma once

#include <coracle/connect/connect.hpp>
#include <coracle/runtime/event.hpp>
#include <coracle/runtime/task_group.hpp>

#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace coracle::connect {

/// What `o` says of the addresses of a host; nothing: ask for them.
std::optional<std::vector<net::address>> known_addresses(const options& o, std::string_view host,
                                                         std::uint16_t port);

/// The attempts to reach one host, side by side. Lives in the frame of the task that runs it.
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

    /// The block of the group: starts attempts until one has won or nothing is left.
    task<> drive(task_group& group);
    void begin_to_resolve(task_group& group);
    task<> resolve(net::family which);
    void give_up_names();
    task<> attempt(net::address to);
    void start_next(task_group& group);
    void take(std::vector<net::address> found, net::family of);

    bool resolved() const noexcept { return resolving_ == 0 || names_given_up_; }
    /// As many as may be tried have been: also of what a family still brings.
    bool tried_enough() const noexcept { return started_ >= options_.addresses(); }
    bool has_next() const noexcept { return !tried_enough() && (!v6_.empty() || !v4_.empty()); }
    /// Nothing will come any more.
    bool lost() const noexcept {
        return (resolved() || tried_enough()) && running_.empty() && !has_next();
    }
    /// When the next attempt may begin; never, while there is no address.
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
    time_point v4_since_ = time_point::max();  ///< when the addresses of IPv4 were there
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
    bool cancelled_ = false;  ///< from outside
};

}  // namespace coracle::connect
