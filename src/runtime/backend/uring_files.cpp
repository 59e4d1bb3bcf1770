#include "runtime/backend/uring_files.hpp"

#include "runtime/backend/raises_sigpipe.hpp"
#include "runtime/backend/statx_status.hpp"

#include <coracle/runtime/loop.hpp>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

namespace coracle::detail {
namespace {

/// The `result` of an operation that has not been submitted to the kernel.
constexpr std::int64_t not_asked = INT64_MIN;

constexpr std::size_t kept_places = 64;

/// Returns false for calls that io_uring does not have, or not on all kernels that have it.
bool is_of_ring(file_action a) noexcept {
    switch (a) {
        case file_action::truncate:
        case file_action::set_mode:
        case file_action::set_times:
        case file_action::read_link:
        case file_action::list:
        case file_action::copy_range:
        case file_action::lock: return false;
        default: return true;
    }
}

void prepare_transfer(io_uring_sqe& sqe, const file_operation& op) noexcept {
    const bool reads = op.action == file_action::read;
    if (op.pieces.size() == 1) {
        // Avoids an iovec, which the kernel would have to copy.
        const slice& one = op.pieces[0];
        const auto size = static_cast<unsigned>(std::min<std::size_t>(one.size, 1u << 30));
        if (reads)
            ::io_uring_prep_read(&sqe, op.fd, const_cast<char*>(one.data), size, op.offset);
        else
            ::io_uring_prep_write(&sqe, op.fd, one.data, size, op.offset);
        return;
    }
    const auto* pieces = reinterpret_cast<const iovec*>(op.pieces.data());
    const auto count = static_cast<unsigned>(op.pieces.size());
    if (reads)
        ::io_uring_prep_readv(&sqe, op.fd, pieces, count, op.offset);
    else
        ::io_uring_prep_writev(&sqe, op.fd, pieces, count, op.offset);
}

void prepare_call(io_uring_sqe& sqe, const file_operation& op) noexcept {
    const auto flags = static_cast<int>(op.flags);
    switch (op.action) {
        case file_action::open: return ::io_uring_prep_openat(&sqe, op.fd, op.path, flags, op.mode);
        case file_action::close: return ::io_uring_prep_close(&sqe, op.fd);
        case file_action::read:
        case file_action::write: return prepare_transfer(sqe, op);
        case file_action::sync:
            return ::io_uring_prep_fsync(&sqe, op.fd,
                                         op.flags != 0 ? unsigned{IORING_FSYNC_DATASYNC} : 0u);
        case file_action::allocate:
            return ::io_uring_prep_fallocate(&sqe, op.fd, flags, static_cast<off_t>(op.offset),
                                             static_cast<off_t>(op.size));
        case file_action::make_directory:
            return ::io_uring_prep_mkdirat(&sqe, op.fd, op.path, op.mode);
        case file_action::remove: return ::io_uring_prep_unlinkat(&sqe, op.fd, op.path, flags);
        case file_action::rename:
            return ::io_uring_prep_renameat(&sqe, op.fd, op.path, op.other_fd, op.other_path,
                                            op.flags);
        case file_action::link:
            return ::io_uring_prep_linkat(&sqe, op.fd, op.path, op.other_fd, op.other_path, flags);
        case file_action::symlink:
            return ::io_uring_prep_symlinkat(&sqe, op.path, op.other_fd, op.other_path);
        default: ::io_uring_prep_nop(&sqe);
    }
}

}  // namespace

bool uring_files::take(file_operation& op) noexcept {
    // The ring would raise the signal on this thread.
    const bool appends = op.action == file_action::write && op.offset == file_operation::no_offset;
    if (!is_of_ring(op.action) || (appends && raises_sigpipe(op.fd))) {
        op.result = -ENOSYS;
        return true;
    }
    op.result = not_asked;
    waiting_.push_back(op);
    return false;
}

void uring_files::cancel(file_operation& op) noexcept {
    if (op.cancelled) return;
    op.cancelled = true;
    if (op.linked() && op.result == not_asked) {
        op.unlink();
        op.result = -ECANCELED;
        loop::current()->complete_later(op);
        return;
    }
    // It has completed, and resumes in this turn.
    if (op.linked()) return;
    try {
        cancelled_.push_back(&op);
    } catch (const std::bad_alloc&) {
        return;  // it ends without being cancelled
    }
}

void uring_files::prepare(io_uring_sqe& sqe) noexcept {
    if (!cancelled_.empty()) {
        ::io_uring_prep_cancel64(&sqe, mark_of(*cancelled_.back()), 0);
        sqe.user_data = 0;
        cancelled_.pop_back();
        return;
    }
    auto& op = static_cast<file_operation&>(*waiting_.pop_front());
    if (op.action != file_action::status) {
        prepare_call(sqe, op);
    } else if (!prepare_status(sqe, op)) {
        ::io_uring_prep_nop(&sqe);
        sqe.user_data = 0;
        op.result = -ENOMEM;
        completed_.push_back(op);
        return;
    }
    op.result = 0;
    sqe.user_data = mark_of(op);
    ++in_flight_;
}

bool uring_files::prepare_status(io_uring_sqe& sqe, file_operation& op) noexcept {
    std::unique_ptr<struct statx> place;
    if (spare_.empty()) {
        place.reset(new (std::nothrow) struct statx);
        if (!place) return false;
    } else {
        place = std::move(spare_.back());
        spare_.pop_back();
    }
    ::io_uring_prep_statx(&sqe, op.fd, op.path, static_cast<int>(op.flags), wanted_status,
                          place.get());
    op.scratch = place.release();
    return true;
}

void uring_files::take_status(file_operation& op) noexcept {
    std::unique_ptr<struct statx> place(
        static_cast<struct statx*>(std::exchange(op.scratch, nullptr)));
    if (op.result == 0 && op.status != nullptr) *op.status = status_from(*place);
    if (spare_.size() == kept_places) return;
    try {
        spare_.push_back(std::move(place));
    } catch (const std::bad_alloc&) {
        return;  // the next one is made anew
    }
}

void uring_files::absorb(const io_uring_cqe& c) noexcept {
    auto& op = *reinterpret_cast<file_operation*>(c.user_data & ~mark);
    --in_flight_;
    std::erase(cancelled_, &op);
    op.result = c.res;
    if (op.action == file_action::status) take_status(op);
    // After close the descriptor is free, whatever it returns: another thread may have it by now.
    const bool may_repeat = op.action != file_action::close;
    if (c.res == -EINTR && may_repeat && !op.cancelled) {
        // A worker thread of the kernel was interrupted before it began.
        op.result = not_asked;
        waiting_.push_back(op);
        return;
    }
    if (c.res == -EINTR && may_repeat) op.result = -ECANCELED;
    completed_.push_back(op);
}

void uring_files::complete() noexcept {
    while (io_operation* op = completed_.pop_front()) {
        loop::current()->refill_inline_budget();
        op->completed(*op);
    }
}

}  // namespace coracle::detail
