#pragma once

#include "runtime/backend/readiness_backend.hpp"

#include <sys/epoll.h>

#include <memory>
#include <vector>

namespace coracle::detail {

/// Edge-triggered epoll: a descriptor is registered once, for all events, without further
/// epoll_ctl. Every operation first tries its system call unless the descriptor is known to be
/// empty or full.
class epoll_backend final : public readiness_backend {
public:
    static std::expected<std::unique_ptr<backend>, error> open();
    ~epoll_backend() override;

    std::string_view name() const noexcept override { return "epoll"; }
    bool submit(io_operation& op) noexcept override;
    void cancel(io_operation& op) noexcept override;
    void wait(time_point until) noexcept override;
    void wake() noexcept override;
    std::expected<void, error> attach(descriptor& d, int fd) noexcept override;
    void close(descriptor& d, bool reset) noexcept override;
    int detach(descriptor& d) noexcept override;
    bool watch_hangup(descriptor& d, hangup_watch* w) noexcept override;

private:
    /// A descriptor that the library does not own, and the operations that wait for it.
    struct foreign {
        int fd;
        bool registered = false;
        foreign_operation* input = nullptr;
        foreign_operation* output = nullptr;
    };
    static constexpr int batch = 256;
    static constexpr int looked_ahead = 3;

    epoll_backend(int epoll, int event) noexcept : epoll_(epoll), event_(event) {}

    /// Does nothing: the edge-triggered registration reports when there is space again.
    void waits_for_room(descriptor&) noexcept override {}

    bool submit_other(io_operation& op) noexcept;
    bool submit_foreign(foreign_operation& op) noexcept;
    foreign* add_foreign(int fd) noexcept;
    bool rearm(foreign& f) noexcept;
    void drop_if_unused(foreign& f) noexcept;
    int wait_for_events(time_point until) noexcept;
    descriptor* descriptor_of(int index) const noexcept;
    void dispatch(int index) noexcept;
    void dispatch_foreign(foreign& f, std::uint32_t events) noexcept;
    void forget_events(void* source) noexcept;

    int epoll_;
    int event_;
    int current_ = 0;
    int received_ = 0;
    bool has_pwait2_ = true;
    std::vector<std::unique_ptr<foreign>> foreigners_;
    epoll_event events_[batch + looked_ahead];
};

}  // namespace coracle::detail
