#pragma once

#include <coracle/runtime/detail/child.hpp>
#include <coracle/runtime/thread_pool.hpp>

#include <exception>
#include <optional>
#include <stop_token>
#include <type_traits>

namespace coracle {

namespace detail {

template <class F>
inline constexpr bool takes_stop_token = std::is_invocable_v<F&, std::stop_token>;

template <class F, bool = takes_stop_token<F>>
struct offloaded {
    using result = std::invoke_result_t<F&>;
};
template <class F>
struct offloaded<F, true> {
    using result = std::invoke_result_t<F&, std::stop_token>;
};

struct no_stop_source {
    void request_stop() const noexcept {}
};

/// Runs `f` on a thread of a pool, and waits for it.
template <class F, class T = typename offloaded<F>::result>
class [[nodiscard]] offload_operation final
    : public remote_leaf<offload_operation<F, T>, T, pool_job> {
    static_assert(!std::is_reference_v<T>,
                  "what work gives is moved between threads: no reference");

public:
    static constexpr const char* name = "offload";
    offload_operation(thread_pool* pool, F f) : pool_(pool), f_(std::move(f)) {}
    offload_operation(offload_operation&&) noexcept(std::is_nothrow_move_constructible_v<F>) =
        default;

    bool start() noexcept {
        loop& l = this->owner();
        if (pool_ == nullptr) pool_ = l.offload_pool();
        if (pool_ == nullptr) {
            call();
        } else if (pool_->submit(*this)) {
            return false;
        } else {
            refused_ = true;
        }
        if (l.may_complete_inline()) return true;
        pool_ = nullptr;  // it is not there
        l.enqueue(*this);
        return false;
    }

    void cancel() noexcept override {
        this->mark_cancelled();
        if (pool_ == nullptr || stopping_) return;
        stopping_ = true;
        if (pool_->withdraw(*this))
            this->owner().enqueue(*this);
        else
            stop_.request_stop();
    }

    std::expected<T, error> result() {
        if (refused_) {
            return std::unexpected(error(std::errc::resource_unavailable_try_again, name));
        }
        try {
            if (failure_ != nullptr) std::rethrow_exception(failure_);
        } catch (const exception& e) {
            return std::unexpected(e.error());
        }
        if constexpr (std::is_void_v<T>)
            return {};
        else
            return *std::move(value_);
    }

private:
    void execute() noexcept override {
        call();
        this->wake();
    }

    void call() noexcept {
        try {
            if constexpr (std::is_void_v<T>)
                invoke();
            else
                value_.emplace(invoke());
        } catch (...) {
            failure_ = std::current_exception();
        }
    }
    T invoke() {
        if constexpr (takes_stop_token<F>)
            return f_(stop_.get_token());
        else
            return f_();
    }

    thread_pool* pool_;
    F f_;
    std::conditional_t<takes_stop_token<F>, std::stop_source, no_stop_source> stop_;
    std::optional<std::conditional_t<std::is_void_v<T>, unit, T>> value_;
    std::exception_ptr failure_;
    bool refused_ = false;
    bool stopping_ = false;
};

/// Runs `f` on the threads that the library has for its work on files.
template <class F>
offload_operation<std::decay_t<F>> offload_file_work(F&& f) {
    CORACLE_REQUIRE_SAFE_IN_AWAIT(F);
    loop* const here = loop::current();
    return {here != nullptr ? here->file_pool() : nullptr, std::forward<F>(f)};
}

}  // namespace detail

/// Runs `f()`, which may block, on a thread of `pool`, and gives what it gives; throws what it
/// throws. Completes when `f` has returned. When all threads are busy it waits for one, first come,
/// first served. Fails with `std::errc::resource_unavailable_try_again` when no thread can be
/// started. Resumes from the loop. `f` is owned until then, and destroyed on the loop.
///
/// Cancelling it drops `f` when it has not begun. When it runs, the `std::stop_token` that it may
/// take is triggered, and the operation ends, as cancelled, once `f` has returned: what it gives or
/// throws then is dropped.
template <class F>
detail::offload_operation<std::decay_t<F>> offload(thread_pool& pool, F&& f) {
    CORACLE_REQUIRE_SAFE_IN_AWAIT(F);
    return {&pool, std::forward<F>(f)};
}

/// Runs `f` on the pool of the runtime (`runtime_options::offload_threads`). A loop without one, as
/// in a simulation, runs `f` itself.
template <class F>
detail::offload_operation<std::decay_t<F>> offload(F&& f) {
    CORACLE_REQUIRE_SAFE_IN_AWAIT(F);
    return {nullptr, std::forward<F>(f)};
}

}  // namespace coracle
