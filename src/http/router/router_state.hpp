#pragma once

#include "http/router/live_table.hpp"
#include "http/router/route_table.hpp"

#include <coracle/base/unique_function.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace coracle::http::detail {

/// What a router and the handlers made of it share: the table that is being changed, and the one
/// that is served.
class router_state {
public:
    /// Holds the lock, and publishes at its end what was changed, unless another that began before
    /// will.
    class change {
    public:
        explicit change(router_state& s) : state_(s), held_(s.lock_) { ++s.nested_; }
        change(const change&) = delete;
        change& operator=(const change&) = delete;
        ~change() { --state_.nested_; }

        route_table& table() noexcept { return state_.table_; }
        router_state& state() noexcept { return state_; }
        void done() {
            if (state_.nested_ == 1 && state_.is_served()) state_.publish();
        }

    private:
        router_state& state_;
        std::scoped_lock<std::recursive_mutex> held_;
    };

    bool is_served() const noexcept { return served_.load(std::memory_order_acquire); }
    /// Throws as `make_record` for the routes that came before.
    void begin_to_serve();
    live_table& live() noexcept { return live_; }

    /// Once it is served, throws for a handler that wants what the pattern has not. Before that the
    /// router may still be mounted at a prefix that has it.
    std::shared_ptr<route_record> make_record(std::string_view text, handler h,
                                              std::vector<std::string> wanted);
    void add_middleware(unique_function<handler(handler)> m);
    void drop_middleware_above(std::size_t count);
    std::size_t middleware_count() const noexcept { return middleware_.size(); }
    /// Puts the middleware around a handler; nothing stays nothing.
    handler wrapped(handler inner);

private:
    void publish();

    std::recursive_mutex lock_;
    unsigned nested_ = 0;
    std::atomic<bool> served_{false};
    route_table table_;
    std::vector<unique_function<handler(handler)>> middleware_;
    handler chain_;
    bool chain_is_old_ = false;
    std::uint64_t next_sequence_ = 0;
    live_table live_;
};

/// The router as a handler.
handler make_handler(std::shared_ptr<router_state> state);

/// Answers a request by the routes of a table: what stands inside all middleware.
bool dispatch(const route_table& table, request& req, response& answer, task<response>& pending);

/// Answers by `content`, and makes the error pages that are missing.
bool answer_with_pages(const served_table::content& content, request& req, response& answer,
                       task<response>& pending);

/// The table in columns.
std::string describe_routes(router_state& state);

}  // namespace coracle::http::detail
