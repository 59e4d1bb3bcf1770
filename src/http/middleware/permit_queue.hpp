#pragma once

#include <coracle/base/detail/intrusive_list.hpp>
#include <coracle/http/middleware/in_flight_limit.hpp>
#include <coracle/runtime/event.hpp>
#include <coracle/runtime/task.hpp>

#include <cstddef>

namespace coracle::http::detail {

/// A number of permits on one loop, and the requests that wait for one.
///
/// They get it in order of their coming, until the oldest has waited for longer than `shed_after`.
/// More come then than can be served, and in that order every one would be served late. So the
/// newest is served first, which has hardly waited, and those that have waited for long are refused
/// when another comes.
class permit_queue {
public:
    explicit permit_queue(const in_flight_limit_options& o) noexcept;
    permit_queue(const permit_queue&) = delete;
    permit_queue& operator=(const permit_queue&) = delete;
    ~permit_queue();

    bool try_take() noexcept;
    /// Gives false for one that is refused, at once or after it has waited.
    task<bool> wait();
    void give_back() noexcept;

private:
    class waiting_one;

    bool make_place() noexcept;
    void look_for_overload() noexcept;
    bool is_overloaded() const noexcept;
    bool is_late(const waiting_one& one) const noexcept;
    void refuse_oldest() noexcept;

    const in_flight_limit_options options_;
    std::size_t free_;
    std::size_t count_ = 0;  ///< those that wait
    intrusive_list<waiting_one> waiting_;
    time_point overloaded_until_{};
};

}  // namespace coracle::http::detail
