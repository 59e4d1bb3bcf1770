#pragma once

#include "runtime/backend/readiness_backend.hpp"

#include <poll.h>

#include <cstddef>
#include <vector>

namespace coracle::detail {

/// poll(2), for systems without a better interface: each wait costs in proportion to the
/// descriptors. Its array stays from one wait to the next, and is changed where an operation begins
/// to wait or ends.
class poll_backend final : public readiness_backend {
public:
    static std::expected<std::unique_ptr<backend>, error> open();
    ~poll_backend() override;

    std::string_view name() const noexcept override { return "poll"; }
    bool submit(io_operation& op) noexcept override;
    void cancel(io_operation& op) noexcept override;
    void wait(time_point until) noexcept override;
    void wake() noexcept override;
    /// Asks the system: poll(2) reports bytes only while an operation waits for them.
    bool has_input(descriptor& d) noexcept override { return peek(d); }
    std::expected<void, error> attach(descriptor& d, int fd) noexcept override;
    void close(descriptor& d, bool reset) noexcept override;
    int detach(descriptor& d) noexcept override;
    bool watch_hangup(descriptor& d, hangup_watch* w) noexcept override;

private:
    /// The owner of a slot in the array; neither: the slot is free, and its number negative.
    struct interest {
        descriptor* owner = nullptr;
        foreign_operation* foreign = nullptr;
    };

    explicit poll_backend(int event) noexcept : event_(event) {}

    // `descriptor::flags` has the index in its upper bits.
    static constexpr unsigned place_shift = flag_bits;
    static std::size_t place_of_descriptor(const descriptor& d) noexcept {
        return d.flags >> place_shift;
    }
    std::size_t take_place(const interest& whose, int fd);
    void free_place(std::size_t place) noexcept;
    void update(const descriptor& d) noexcept;
    void waits_for_room(descriptor& d) noexcept override { update(d); }
    bool submit_foreign(foreign_operation& op) noexcept;
    int wait_for_events(time_point until) noexcept;
    int poll_in_pieces() noexcept;
    void note_events(int count) noexcept;
    void dispatch(std::size_t place, unsigned events) noexcept;

    int event_;
    std::vector<pollfd> polled_;
    std::vector<interest> interests_;  ///< of the same places
    std::vector<std::size_t> free_;
};

}  // namespace coracle::detail
