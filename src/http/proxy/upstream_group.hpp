#pragma once

#include <coracle/http/upstreams.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace coracle::http {

namespace detail {

/// One of several servers. Any thread.
struct upstream {
    explicit upstream(std::string url_text);

    std::string url;
    std::uint64_t hash;
    std::atomic<bool> is_well{true};
    std::atomic<std::uint64_t> active{0};
    std::atomic<std::uint64_t> requests{0};
    std::atomic<std::uint64_t> failures{0};
    std::atomic<std::uint64_t> ejections{0};
    std::atomic<unsigned> failed_in_a_row{0};
    std::atomic<unsigned> ejected_in_a_row{0};
    std::atomic<std::int64_t> out_until{0};  ///< of the loops' clock
};

/// Counts a request as under way for as long as it lives.
class upstream_use {
public:
    explicit upstream_use(upstream& u) noexcept : of_(&u) {
        of_->active.fetch_add(1, std::memory_order_relaxed);
        of_->requests.fetch_add(1, std::memory_order_relaxed);
    }
    upstream_use(const upstream_use&) = delete;
    upstream_use& operator=(const upstream_use&) = delete;
    ~upstream_use() { of_->active.fetch_sub(1, std::memory_order_relaxed); }

private:
    upstream* of_;
};

}  // namespace detail

class upstreams::group {
public:
    group(client& c, const std::vector<std::string>& urls, upstream_options o);

    /// The next one for this request that is none of `tried`; null when none is left.
    detail::upstream* choose(const request& req, std::span<detail::upstream* const> tried,
                             time_point now) noexcept;
    void succeeded(detail::upstream& u) noexcept;
    void failed(detail::upstream& u, time_point now) noexcept;

    task<> check(detail::upstream& u);
    /// The time now; on a thread without a loop that of the last request.
    time_point now() const noexcept;

    http::client& caller() const noexcept { return *client_; }
    const upstream_options& options() const noexcept { return options_; }
    const std::vector<std::unique_ptr<detail::upstream>>& members() const noexcept {
        return members_;
    }

private:
    /// Checks with the same result, one after the other.
    struct in_a_row {
        unsigned well = 0;
        unsigned ill = 0;
    };
    task<> ask_for_health(detail::upstream* u, std::string_view target, in_a_row* so_far);
    std::uint64_t key_of(const request& req) const;
    template <class Usable>
    detail::upstream* choose_among(const Usable& usable, std::uint64_t key,
                                   std::uint64_t first) noexcept;

    http::client* client_;
    upstream_options options_;
    std::vector<std::unique_ptr<detail::upstream>> members_;
    std::atomic<std::uint64_t> next_{0};
    std::atomic<time_point> last_request_{};
};

}  // namespace coracle::http
