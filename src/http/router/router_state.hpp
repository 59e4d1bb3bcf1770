#pragma once

#include "http/router/live_table.hpp"
#include "http/router/route_table.hpp"

#include <coracle/base/unique_function.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace coracle::http::detail {

/// The state that a router and the handlers made of it share: the table that is being changed, and
/// the one that is served.
class router_state {
public:
    /// Holds the lock, and publishes the changes at its end; of nested ones, the outermost does.
    class change {
    public:
        /// With `is_batch` the table is as before in any case, unless this is done.
        explicit change(router_state& s, bool is_batch = false) : state_(s), held_(s.lock_) {
            // Published at once where it is served, and taken back where that fails.
            if (is_batch || (s.nested_ == 0 && s.is_served())) {
                before_ = std::make_unique<route_table>(s.table_);
            }
            ++s.nested_;
        }
        change(const change&) = delete;
        change& operator=(const change&) = delete;
        ~change() {
            if (before_ != nullptr) state_.table_ = std::move(*before_);
            --state_.nested_;
        }

        route_table& table() noexcept { return state_.table_; }
        router_state& state() noexcept { return state_; }
        void done() {
            if (state_.nested_ == 1 && state_.is_served()) state_.publish();
            before_.reset();
        }

    private:
        router_state& state_;
        std::scoped_lock<std::recursive_mutex> held_;
        std::unique_ptr<route_table> before_;
    };

    bool is_served() const noexcept { return served_.load(std::memory_order_acquire); }
    /// Throws as `make_record` for the routes that came before.
    void begin_to_serve();
    live_table& live() noexcept { return live_; }

    /// Makes a record. Once the router serves, this throws for a handler with parameters that the
    /// pattern lacks. Before that, the router may still be mounted at a prefix that has them.
    std::shared_ptr<route_record> make_record(std::string_view text, handler h,
                                              std::vector<std::string> wanted);
    void add_middleware(unique_function<handler(handler)> m);
    void drop_middleware_above(std::size_t count);
    std::size_t middleware_count() const noexcept { return middleware_.size(); }
    /// Puts the middleware around a handler; an empty handler stays empty.
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

/// Responds to a request by the routes of a table: the innermost handler, inside all middleware.
bool dispatch(const route_table& table, request& req, response& out, task<response>& pending);

/// Responds as `dispatch` does, with problem details in place of plain errors.
bool respond_with_problems(const route_table& table, request& req, response& out,
                           task<response>& pending);

/// Responds by `content`, and makes the error pages that are missing, and problem details where
/// these are wanted.
bool respond_with_style(const served_table::content& content, request& req, response& out,
                        task<response>& pending);

/// The routes, and those of its hosts.
std::vector<route_info> list_routes(router_state& state);

/// The table in columns.
std::string describe_routes(router_state& state);

}  // namespace coracle::http::detail
