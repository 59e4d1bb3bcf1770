#include "base/whole_number.hpp"

#include <coracle/net/service_manager.hpp>
#include <coracle/runtime/event.hpp>
#include <coracle/runtime/on.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <optional>

namespace coracle::net {
namespace {

using coracle::detail::whole_number;

error unreadable(const char* variable) {
    return error(std::errc::invalid_argument, "service_manager").on(variable);
}

error system_failure(const char* operation) noexcept {
    return {std::error_code(errno, std::generic_category()), operation};
}

/// Zero where the manager does not watch this process.
std::expected<duration, error> watchdog_from_environment() {
    const char* const interval = std::getenv("WATCHDOG_USEC");
    if (interval == nullptr) return duration::zero();
    const char* const process = std::getenv("WATCHDOG_PID");
    const auto whose = whole_number<std::int64_t>(process != nullptr ? process : "0");
    if (!whose) return std::unexpected(unreadable("WATCHDOG_PID"));
    if (process != nullptr && *whose != ::getpid()) return duration::zero();
    const auto microseconds = whole_number<std::int64_t>(interval);
    constexpr std::int64_t most = INT64_MAX / 1000;
    if (!microseconds || *microseconds == 0 || *microseconds > most) {
        return std::unexpected(unreadable("WATCHDOG_USEC"));
    }
    return duration(*microseconds * 1000);
}

std::expected<address, error> address_of(const char* text) {
    const std::string name(text);
    if (name.empty() || (name[0] != '/' && name[0] != '@')) {
        return std::unexpected(unreadable("NOTIFY_SOCKET"));
    }
    return address::parse("unix:" + name);
}

}  // namespace

std::expected<service_manager, error> service_manager::from_environment() {
    service_manager m;
    const char* const name = std::getenv("NOTIFY_SOCKET");
    if (name == nullptr) return m;
    auto to = address_of(name);
    if (!to) return std::unexpected(std::move(to).error());
    auto watchdog = watchdog_from_environment();
    if (!watchdog) return std::unexpected(std::move(watchdog).error());
    m.to_ = to->to_endpoint();
    m.watchdog_ = *watchdog;
    m.socket_.reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!m.socket_) return std::unexpected(system_failure("socket"));
    const timeval patience{1, 0};
    ::setsockopt(m.socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    for (const char* variable : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) {
        ::unsetenv(variable);
    }
    return m;
}

std::expected<void, error> service_manager::notify(std::string_view assignments) const {
    if (!socket_) return {};
    const auto* const to = reinterpret_cast<const sockaddr*>(to_.bytes);
    // The queue of systemd is short. READY=1 must not be lost, or it ends the process; WATCHDOG and
    // STATUS are sent again later.
    const bool may_be_lost =
        (assignments.starts_with("WATCHDOG=") || assignments.starts_with("STATUS=")) &&
        assignments.find('\n') == std::string_view::npos;
    const int flags = MSG_NOSIGNAL | (may_be_lost ? MSG_DONTWAIT : 0);
    ssize_t n = -1;
    do {
        n = ::sendto(socket_.get(), assignments.data(), assignments.size(), flags, to, to_.size);
    } while (n < 0 && errno == EINTR);
    if (n < 0) return std::unexpected(system_failure("notify"));
    return {};
}

std::expected<void, error> service_manager::reloading(time_point now) const {
    const std::int64_t microseconds = now.time_since_epoch().count() / 1000;
    return notify("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(microseconds));
}

std::expected<void, error> service_manager::status(std::string_view text) const {
    if (text.find('\n') != std::string_view::npos) {
        return std::unexpected(error(std::errc::invalid_argument, "status"));
    }
    return notify("STATUS=" + std::string(text));
}

std::expected<void, error> service_manager::main_process(int pid) const {
    return notify("MAINPID=" + std::to_string(pid));
}

operation<void> service_manager::keep_alive(runtime& all) const {
    const auto watch = [](const service_manager* self,
                          runtime* loops) -> task<std::expected<void, error>> {
        event never;
        if (self->watchdog_ == duration::zero()) co_await never.wait();
        const auto take_a_turn = []() -> task<> { co_return; };
        for (;;) {
            try {
                for (std::size_t i = 0; i != loops->loops(); ++i) {
                    auto turning = on(loops->at(i), take_a_turn);
                    auto turned = co_await as_result(turning);
                    // All end now, and this task too.
                    if (!turned && turned.error() == errc::shutting_down) co_await never.wait();
                    if (!turned) co_return turned;
                }
                static_cast<void>(self->alive());
            } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): misses one
            }
            co_await sleep_for(self->watchdog_ / 2);
        }
    };
    return watch(this, &all);
}

}  // namespace coracle::net
