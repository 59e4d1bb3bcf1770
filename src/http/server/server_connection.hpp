#pragma once

#include <coracle/base/detail/intrusive_list.hpp>
#include <coracle/runtime/clock.hpp>

#include <optional>

namespace coracle::http::detail {

/// A connection of a server, for every version of HTTP. Destroys itself when it ends.
class server_connection : public list_hook {
public:
    server_connection() noexcept = default;
    server_connection(const server_connection&) = delete;
    server_connection& operator=(const server_connection&) = delete;

    /// Ends an idle connection now, another one after its responses have been sent.
    virtual void drain() noexcept = 0;
    /// Ends it now.
    virtual void cut() noexcept = 0;
    /// The time since which it is idle, so that it may be closed to make space for others.
    virtual std::optional<time_point> idle_since() const noexcept = 0;
    /// Closes it; only if `idle_since` returns a time.
    virtual void make_room() noexcept = 0;

protected:
    ~server_connection() = default;
};

}  // namespace coracle::http::detail
