#include "fs/perform.hpp"

#include <coracle/fs/file_call.hpp>

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

namespace coracle::fs {
namespace detail {
// ---- the pieces ---------------------------------------------------------------------------------

slice file_call::piece(std::size_t i) const noexcept {
    if (all_ != nullptr) return all_[i];
    if (rooms_ != nullptr) return {rooms_[i].data(), rooms_[i].size()};
    return one_;
}

// Collects the pieces for the next call; the pieces themselves stay as they are.
void file_call::fill_window() noexcept {
    std::size_t n = 0;
    std::size_t left = most_bytes_a_call;
    std::size_t done = begun_;
    for (std::size_t i = first_; i != count_ && n != window && left != 0; ++i) {
        const slice whole = piece(i);
        const std::size_t some = std::min(whole.size - done, left);
        if (some != 0) window_[n++] = slice(whole.data + done, some);
        left -= some;
        done = 0;
    }
    pieces = std::span<slice>(window_, n);
}

void file_call::skip(std::size_t bytes) noexcept {
    while (first_ != count_) {
        const std::size_t left = piece(first_).size - begun_;
        if (bytes < left) {
            begun_ += bytes;
            return;
        }
        bytes -= left;
        begun_ = 0;
        ++first_;
    }
}

// ---- one call -----------------------------------------------------------------------------------

// Makes the call if memory alone is needed. Returns true if it has completed. That is faster than
// going through a ring: less than half the time for small files.
bool file_call::attempt() noexcept {
    if (moves_bytes()) {
        fill_window();
        if (pieces.empty()) {
            io_operation::result = 0;
            return true;
        }
    }
    if (owner().backend().is_of_the_system()) {
        io_operation::result = perform_from_memory(*this);
        if (io_operation::result != -EAGAIN) return true;
    }
    place_ = place::backend;
    cancelled = false;
    if (!owner().backend().submit(*this)) return false;
    place_ = place::nowhere;
    return is_declined() ? attempt_here() : true;
}

/// Returns true if the call may be made without the backend. A refusal by a backend with files of
/// its own stands: its files are not here.
bool file_call::is_declined() noexcept {
    if (!owner().backend().is_of_the_system()) return false;
    const auto r = io_operation::result;
    // EAGAIN: there is no space now, or the descriptor cannot be polled, and the ring must not wait
    // for it. For a lock it is the result.
    return r == -ENOSYS || (r == -EAGAIN && action != file_action::lock);
}

// Makes the call without the backend.
bool file_call::attempt_here() noexcept {
    thread_pool* const pool = owner().file_pool();
    if (pool == nullptr) {
        io_operation::result = perform(*this);
        return true;
    }
    place_ = place::pool;
    if (pool->submit(*this)) return false;
    place_ = place::nowhere;
    // No thread can be started. A close must happen now; and for a lock, EAGAIN would mean that
    // another process holds it.
    io_operation::result = action == file_action::close ? perform(*this) : -ENOMEM;
    return true;
}

void file_call::execute() noexcept {
    io_operation::result = perform(*this);
    wake();
}

// Processes the result of a call. Returns true if it was the last one.
bool file_call::absorb() noexcept {
    // A backend may return errors that `perform` does not. An interrupted close counts as done.
    if (io_operation::result == -EINTR && action == file_action::close) io_operation::result = 0;
    if (io_operation::result == -EINTR) return false;
    if (io_operation::result < 0 || !moves_bytes()) return true;
    const auto n = static_cast<std::size_t>(io_operation::result);
    moved_ += n;
    if (offset != no_offset) offset += n;
    skip(n);
    if (completion_ == completion::once || first_ == count_) return true;
    if (n != 0) return false;
    if (action == file_action::write)
        io_operation::result = -EIO;  // it accepted no bytes, without an error
    else
        ended_early_ = true;
    return true;
}

// ---- from call to call --------------------------------------------------------------------------

// The system would take larger numbers for negative ones.
bool file_call::is_in_range() const noexcept {
    constexpr std::uint64_t most = INT64_MAX;
    switch (action) {
        case file_action::read:
        case file_action::write: return offset <= most || offset == no_offset;
        case file_action::truncate:
        case file_action::allocate:
        case file_action::lock:
        case file_action::copy_range: return offset <= most && other_offset <= most && size <= most;
        default: return true;
    }
}

bool file_call::start() noexcept {
    if (!prepare() || !is_in_range())
        io_operation::result = -EINVAL;
    else if (!attempt())
        return false;
    over_ = absorb();
    if (over_ && within_budget()) return true;
    queue();
    return false;
}

// Copying takes time too: a task gets a quarter of a millisecond in a turn.
bool file_call::within_budget() noexcept {
    constexpr std::uint64_t share = 16 * 1024;
    for (std::uint64_t left = moved_; owner().may_complete_inline(); left -= share) {
        if (left <= share) return true;
    }
    return false;
}

void file_call::queue() noexcept {
    place_ = place::queue;
    owner().enqueue_for_next_turn(*this);
}

void file_call::run() noexcept {
    if (place_ == place::nowhere) {
        complete();  // cancelled before it began
        return;
    }
    if (place_ == place::pool) over_ = absorb();
    advance();
}

void file_call::done(io_operation& op) noexcept {
    auto& self = static_cast<file_call&>(static_cast<file_operation&>(op));
    self.place_ = place::nowhere;
    if (op.result == -EAGAIN && !self.stopping_ && self.is_declined() && !self.attempt_here()) {
        return;
    }
    if (self.stopping_ && op.result == -EAGAIN) op.result = -ECANCELED;
    self.over_ = self.absorb();
    self.advance();
}

void file_call::advance() noexcept {
    if (!over_ && stopping_) {
        io_operation::result = -ECANCELED;
        over_ = true;
    }
    if (!over_) {
        if (!attempt()) return;
        over_ = absorb();
        if (!over_) {
            queue();
            return;
        }
    }
    if (io_operation::result == -ECANCELED) mark_cancelled();
    complete();
}

void file_call::cancel() noexcept {
    if (std::exchange(stopping_, true)) return;
    if (place_ == place::backend) {
        owner().backend().cancel(*this);
    } else if (place_ == place::pool && owner().file_pool()->withdraw(*this)) {
        io_operation::result = -ECANCELED;
        over_ = true;
        place_ = place::queue;
        owner().enqueue(*this);
    }
}

std::expected<std::uint64_t, error> file_call::result() const {
    if (io_operation::result < 0) {
        const auto number = static_cast<int>(-io_operation::result);
        error e(std::error_code(number, std::generic_category()), verb_);
        return std::unexpected(std::move(e.on(subject()).after_bytes(moved_)));
    }
    if (ended_early_) {
        error e(errc::unexpected_end, verb_);
        return std::unexpected(std::move(e.on(subject()).after_bytes(moved_)));
    }
    return moves_bytes() ? moved_ : static_cast<std::uint64_t>(io_operation::result);
}

}  // namespace detail

// ---- what users await ---------------------------------------------------------------------------

namespace {

template <class T>
std::expected<T, error> failed(std::expected<std::uint64_t, error>& r) {
    return std::unexpected(std::move(r).error());
}

}  // namespace

bool plain_operation::prepare() noexcept {
    if (!owns_) return true;
    path = path_.c_str();
    other_path = other_.c_str();
    return !detail::holds_nul(path_) && !detail::holds_nul(other_);
}

std::string plain_operation::subject() const {
    if (!owns_) return file_call::subject();
    return other_.empty() ? path_ : path_ + " to " + other_;
}

std::expected<void, error> plain_operation::outcome() {
    auto r = file_call::outcome();
    if (!r) return failed<void>(r);
    return {};
}

std::expected<std::size_t, error> byte_operation::outcome() {
    auto r = file_call::outcome();
    if (!r) return failed<std::size_t>(r);
    return static_cast<std::size_t>(*r);
}

status_operation::status_operation(int number, std::string_view called) noexcept
    : file_call(file_action::status, "status", called) {
    fd = number;
    flags = AT_EMPTY_PATH;
}

status_operation::status_operation(int from, std::string text, bool follow)
    : file_call(file_action::status, "status"), path_(std::move(text)) {
    fd = from;
    flags = AT_NO_AUTOMOUNT;
    if (!follow) flags |= AT_SYMLINK_NOFOLLOW;
}

bool status_operation::prepare() noexcept {
    path = path_.c_str();
    status = &found_;
    return !detail::holds_nul(path_);
}

std::string status_operation::subject() const {
    return path_.empty() ? file_call::subject() : path_;
}

std::expected<file_status, error> status_operation::outcome() {
    auto r = file_call::outcome();
    if (!r) return failed<file_status>(r);
    return found_;
}

}  // namespace coracle::fs
