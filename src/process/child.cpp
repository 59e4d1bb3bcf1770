#include "process/child_state.hpp"

#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/readiness.hpp>
#include <coracle/runtime/spawn.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <fcntl.h>

#include <cassert>
#include <cerrno>
#include <csignal>
#include <utility>

namespace coracle::process {
namespace detail {
namespace {

/// The wait of the one task that waits on the descriptor, as only one operation may. Where it ends,
/// the others go on: one of them takes over.
class end_watch {
public:
    explicit end_watch(child_state& s) noexcept : state_(s) { state_.is_watched = true; }
    end_watch(const end_watch&) = delete;
    end_watch& operator=(const end_watch&) = delete;
    ~end_watch() {
        state_.is_watched = false;
        state_.watch_over.set();
        state_.watch_over.reset();
    }

private:
    child_state& state_;
};

/// Returns true if it has ended.
std::expected<bool, error> look(child_state& s) {
    if (s.status) return true;
    auto ended = s.process.try_reap();
    if (!ended) return std::unexpected(std::move(ended).error());
    s.status = *ended;
    return s.status.has_value();
}

/// Waits beside a task of the program that waits for the same descriptor, as only one may.
task<std::expected<void, error>> wait_until_readable(int pidfd) {
    auto waited = co_await as_result(readable(pidfd));
    if (waited || waited.error() != std::errc::device_or_resource_busy) co_return waited;
    const owned_fd own(::fcntl(pidfd, F_DUPFD_CLOEXEC, 0));
    if (!own) co_return std::unexpected(error(std::errc(errno), "fcntl"));
    co_return co_await as_result(readable(own.get()));
}

/// Waits until the process may have ended, or another task has to wait for it.
task<std::expected<void, error>> wait_for_change(child_state& s) {
    if (s.is_watched) {
        auto waiting = s.watch_over.wait();
        co_return co_await as_result(waiting);
    }
    const end_watch mine(s);
    co_return co_await wait_until_readable(s.process.pidfd());
}

}  // namespace

task<end_result> wait_for_end(child_state& s) {
    for (;;) {
        auto ended = look(s);
        if (!ended) co_return std::unexpected(std::move(ended).error());
        if (*ended) co_return *s.status;
        auto waited = co_await wait_for_change(s);
        if (!waited) co_return std::unexpected(std::move(waited).error());
    }
}

task<end_result> end_process(child_state& s, duration grace) {
    // No longer than this: where it is cancelled, the group lives on.
    const running_process::group_ending ends(s.process);
    auto ended = look(s);
    if (!ended) co_return std::unexpected(std::move(ended).error());
    if (*ended) co_return *s.status;
    static_cast<void>(s.process.signal_to_end(SIGTERM));
    static_cast<void>(s.process.signal_to_end(SIGCONT));
    auto waits = [&s] { return wait_for_end(s); };
    auto in_time = co_await as_result(with_timeout(grace, waits));
    if (in_time) co_return std::move(*in_time);
    if (in_time.error() != std::errc::timed_out) {
        co_return std::unexpected(std::move(in_time).error());
    }
    auto killed = s.process.signal_to_end(SIGKILL);
    if (!killed && killed.error() == std::errc::operation_not_permitted) {
        ended = look(s);
        if (ended && !*ended) co_return std::unexpected(std::move(killed).error());
    }
    co_return co_await wait_for_end(s);
}

task<> end_shielded(child_state& s, duration grace) {
    // A killed process may hang in the kernel; then `running_process` waits for it on the pool.
    constexpr duration most = std::chrono::seconds(10);
    auto end = [&s, grace] { return end_process(s, grace); };
    static_cast<void>(co_await as_result(
        shielded(coracle::detail::later(time_point(grace), most).time_since_epoch(), end)));
}

task<end_result> wait_or_end(child_state& s, duration grace) {
    s.process.ends_group();
    auto ended = co_await as_result(wait_for_end(s));
    if (!ended) co_return std::unexpected(std::move(ended).error());
    if (!*ended && coracle::detail::is_cancellation(ended->error())) {
        co_await end_shielded(s, grace);
    }
    co_return std::move(*ended);
}

}  // namespace detail

using detail::child_state;

child::child(std::unique_ptr<child_state> s) noexcept : state_(std::move(s)) {}
child::child(child&&) noexcept = default;
child& child::operator=(child&&) noexcept = default;
child::~child() = default;

int child::pid() const noexcept {
    return state_->pid;
}

int child::pidfd() const noexcept {
    return state_->process.pidfd();
}

io::descriptor_stream& child::input() noexcept {
    assert(state_->streams[0] != nullptr && "its input is redirected to a pipe");
    return *state_->streams[0];
}

io::descriptor_stream& child::output() noexcept {
    assert(state_->streams[1] != nullptr && "its output is redirected to a pipe");
    return *state_->streams[1];
}

io::descriptor_stream& child::error() noexcept {
    assert(state_->streams[2] != nullptr && "its standard error is redirected to a pipe");
    return *state_->streams[2];
}

void child::close_input() noexcept {
    if (state_->streams[0] != nullptr) state_->streams[0]->close();
}

operation<exit_status> child::wait() {
    return detail::wait_for_end(*state_);
}

operation<exit_status> child::wait_or_end(duration grace) {
    return detail::wait_or_end(*state_, grace);
}

operation<exit_status> child::terminate(duration grace) {
    return detail::end_process(*state_, grace);
}

std::optional<exit_status> child::status() noexcept {
    static_cast<void>(detail::look(*state_));
    return state_->status;
}

std::expected<void, error> child::signal(int number) noexcept {
    if (!state_->process.ended()) return state_->process.signal(number);
    // One that nobody has reaped would take it.
    return std::unexpected(detail::running_process::gone("signal", state_->pid));
}

std::expected<void, error> child::signal_group(int number) noexcept {
    return state_->process.signal_group(number);
}

std::expected<void, error> child::kill() noexcept {
    state_->process.ends_group();
    return state_->process.signal_to_end(SIGKILL);
}

namespace {

struct detached_child {
    std::unique_ptr<child_state> state;
    task<> operator()() {
        static_cast<void>(co_await as_result(detail::wait_for_end(*state)));
        // The loop has ended before the process.
        if (!state->status) state->process.release();
    }
};

}  // namespace

void child::detach() {
    for (auto& s : state_->streams) s.reset();
    if (state_->status) return;
    spawn(detached_child{std::move(state_)});
}

}  // namespace coracle::process
