#pragma once

#include <coracle/runtime/file_operation.hpp>

#include <liburing.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace coracle::detail {

/// The file operations of the io_uring backend: the kernel makes the calls, on its own threads if
/// they would block. Until an operation has completed, the kernel uses its memory.
class uring_files {
public:
    static bool is_of_file(std::uint64_t user_data) noexcept { return (user_data & mark) != 0; }

    /// Queues an operation for submission. Returns true if it has completed at once, because the
    /// ring has no such call.
    bool take(file_operation& op) noexcept;
    /// Completes an operation that was not submitted yet; otherwise requests its cancellation,
    /// which may be too late.
    void cancel(file_operation& op) noexcept;

    bool wants_requests() const noexcept { return !waiting_.empty() || !cancelled_.empty(); }
    /// Returns true if there is work that the kernel does not know of.
    bool is_behind() const noexcept { return wants_requests() || !completed_.empty(); }
    /// Asks for the next one.
    void prepare(io_uring_sqe& sqe) noexcept;
    /// Notes a completion.
    void absorb(const io_uring_cqe& c) noexcept;
    /// Resumes the operations whose completions were noted.
    void complete() noexcept;

    std::size_t in_flight() const noexcept { return in_flight_; }

private:
    // A bit that user-space addresses do not use.
    static constexpr std::uint64_t mark = std::uint64_t{1} << 63;
    static std::uint64_t mark_of(const file_operation& op) noexcept {
        return reinterpret_cast<std::uintptr_t>(&op) | mark;
    }

    bool prepare_status(io_uring_sqe& sqe, file_operation& op) noexcept;
    void take_status(file_operation& op) noexcept;

    intrusive_list<io_operation> waiting_;  ///< not submitted yet
    intrusive_list<io_operation> completed_;
    std::vector<file_operation*> cancelled_;  ///< submitted, and to be cancelled
    /// Unused memory for the results of statx(2).
    std::vector<std::unique_ptr<struct statx>> spare_;
    std::size_t in_flight_ = 0;
};

}  // namespace coracle::detail
