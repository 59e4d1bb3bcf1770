#pragma once

#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>

#include <cstdlib>
#include <memory>
#include <utility>

namespace coracle::testing {

/// A backend without a system: time stands still while tasks run, and jumps to the next timer when
/// they all wait. A test of timers therefore takes no time, and gives the same times every run.
class virtual_backend : public backend {
public:
    std::string_view name() const noexcept override { return "virtual"; }
    void wait(time_point until) noexcept override {
        ++counters_.waits;
        // Nothing would ever end this wait: the test hangs by its own fault.
        if (until == time_point::max() && !woken_) std::abort();
        woken_ = false;
        if (until != time_point::max() && until > now_) now_ = until + lag;
    }
    void wake() noexcept override { woken_ = true; }
    time_point now() noexcept override { return now_; }
    std::int64_t wall_clock() noexcept override { return now_.time_since_epoch().count(); }
    std::uint64_t random() noexcept override { return ++random_; }

    bool submit(io_operation& op) noexcept override {
        op.result = -38;
        return true;
    }
    void cancel(io_operation&) noexcept override {}
    std::expected<int, error> listen(endpoint&, const socket_options&) noexcept override {
        return none();
    }
    std::expected<int, error> open_stream(const endpoint&,
                                          const socket_options&) noexcept override {
        return none();
    }
    std::expected<endpoint, error> local_endpoint(int) noexcept override { return none(); }
    std::expected<void, error> attach(descriptor&, int) noexcept override { return none(); }
    void close(descriptor&, bool) noexcept override {}
    bool watch_hangup(descriptor&, hangup_watch*) noexcept override { return false; }
    std::int64_t try_send(descriptor&, slice) noexcept override { return -38; }
    void shutdown_output(descriptor&) noexcept override {}
    void discard(int) noexcept override {}

    /// By how much each wait ends too late, as on a busy machine.
    duration lag{};

private:
    static std::unexpected<error> none() noexcept {
        return std::unexpected(error(std::errc::function_not_supported, "virtual"));
    }
    time_point now_{std::chrono::seconds(1000)};
    std::uint64_t random_ = 0;
    bool woken_ = false;
};

/// `block_on` on a backend of the test's own.
template <class F>
auto run_on(std::unique_ptr<backend> own, F f) {
    using T = coracle::detail::await_result<std::invoke_result_t<F&>>;
    const logger silent;
    loop l(std::move(own), silent);
    bool done = false;
    coracle::detail::blocking_child<T> main(done);
    l.post([&] { main.begin(coracle::detail::to_task(f()), l, &l.root(), "test").resume(); });
    l.run_until(done);
    return coracle::detail::value_of<T>(main, "run_on");
}

/// `block_on` in virtual time.
template <class F>
auto run_virtually(F f) {
    return run_on(std::make_unique<virtual_backend>(), std::move(f));
}

}  // namespace coracle::testing
