#pragma once

#include "http/dashboard/latency_counts.hpp"

#include <coracle/http/server.hpp>
#include <coracle/runtime/detail/resident.hpp>
#include <coracle/runtime/detail/short_lock.hpp>
#include <coracle/runtime/loop.hpp>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::http::detail {

/// The requests of one route.
struct route_counts {
    std::uint64_t requests = 0;
    std::uint64_t errors = 0;  ///< 5xx
    duration total{};
    duration longest{};
};

using route_table = std::map<std::string, route_counts, std::less<>>;

class loop_views;

/// The work that one loop of a server did. Written by its thread, read by any.
class loop_view final : public resident {
public:
    loop_view(loop& l, std::shared_ptr<loop_views> all, std::size_t most_routes);
    void loop_ended() noexcept override;

    void add(const access_record& record);

    loop& of() const noexcept { return loop_; }
    void add_routes_to(route_table& sum) const;

    tally by_class[6];  ///< responses, by the first digit of their status
    tally bytes;
    latency_counts latencies;
    std::size_t viewers = 0;  ///< of the loop's thread alone

private:
    loop& loop_;
    std::shared_ptr<loop_views> all_;
    std::size_t most_routes_;
    mutable coracle::detail::short_lock lock_;
    route_table routes_;
};

/// All loops that have responded so far, and have not ended.
class loop_views {
public:
    void add(loop_view& v) {
        const std::lock_guard hold(guard_);
        all_.push_back(&v);
    }
    void remove(loop_view& v) noexcept {
        const std::lock_guard hold(guard_);
        std::erase(all_, &v);
    }
    /// Calls `f` with each, which stays until it returns.
    template <class F>
    void for_each(F f) const {
        const std::lock_guard hold(guard_);
        for (loop_view* const v : all_) f(*v);
    }

private:
    mutable std::mutex guard_;
    std::vector<loop_view*> all_;
};

}  // namespace coracle::http::detail
