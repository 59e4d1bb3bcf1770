#pragma once

#include <coracle/runtime/file_operation.hpp>

#include <liburing.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace coracle::detail {

/// What the io_uring backend does to files: calls that the kernel makes for us, on threads of its
/// own where they would block. Until one has completed its memory is the kernel's.
class uring_files {
public:
    static bool is_of_file(std::uint64_t user_data) noexcept { return (user_data & mark) != 0; }

    /// Takes an operation, to be asked for; true when it has completed: this is none of the ring's.
    bool take(file_operation& op) noexcept;
    /// One that was not asked for completes in the loop; else the kernel is asked to end it, which
    /// it may do too late.
    void cancel(file_operation& op) noexcept;

    bool wants_requests() const noexcept { return !waiting_.empty() || !cancelled_.empty(); }
    /// Whether there is something to do that the kernel does not know of.
    bool is_behind() const noexcept { return wants_requests() || !answered_.empty(); }
    /// Asks for the next one.
    void prepare(io_uring_sqe& sqe) noexcept;
    /// Takes note of an answer.
    void absorb(const io_uring_cqe& c) noexcept;
    /// Completes what was answered.
    void complete() noexcept;

    std::size_t in_flight() const noexcept { return in_flight_; }

private:
    // Addresses of user space leave it free.
    static constexpr std::uint64_t mark = std::uint64_t{1} << 63;
    static std::uint64_t mark_of(const file_operation& op) noexcept {
        return reinterpret_cast<std::uintptr_t>(&op) | mark;
    }

    bool prepare_status(io_uring_sqe& sqe, file_operation& op) noexcept;
    void take_status(file_operation& op) noexcept;

    intrusive_list<io_operation> waiting_;  ///< not asked for yet
    intrusive_list<io_operation> answered_;
    std::vector<file_operation*> cancelled_;  ///< asked for, and to be asked to end
    /// What statx(2) fills for an operation; those that none has.
    std::vector<std::unique_ptr<struct statx>> spare_;
    std::size_t in_flight_ = 0;
};

}  // namespace coracle::detail
