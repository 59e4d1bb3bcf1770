#include "io/splicing.hpp"

#include <coracle/fs/file.hpp>
#include <coracle/io/copy.hpp>
#include <coracle/io/detail/turn_share.hpp>
#include <coracle/net/byte_stream.hpp>

#include <algorithm>
#include <memory>

namespace coracle::io {
namespace {

/// The bytes that one call moves between two descriptors: few enough that it does not hold up the
/// loop.
constexpr std::uint64_t moved_at_once = 256 * 1024;

/// The bytes copied before it is worth making a pipe to splice through.
constexpr std::uint64_t splices_behind = 64 * 1024;

/// Returns true for errors that mean that the system cannot move bytes between these two by itself.
bool cannot_do_that(const error& e) noexcept {
    return e.bytes() == 0 &&
           (e == std::errc::invalid_argument || e == std::errc::operation_not_supported ||
            e == std::errc::function_not_supported || e == std::errc::cross_device_link ||
            e == std::errc::bad_file_descriptor ||
            // So says a filter for system calls that does not know this one.
            e == std::errc::operation_not_permitted);
}

class copying {
public:
    copying(source& from, sink& to, const copy_options& options,
            unique_function<void(std::uint64_t)> progress)
        : from_(from), to_(to), options_(options), progress_(std::move(progress)) {
        constexpr std::size_t most = std::size_t{1} << 30;
        options_.block = std::clamp<std::size_t>(options_.block, 1, most);
    }

    task<std::expected<std::uint64_t, error>> run() {
        file_cursor* const file = from_.cursor();
        if (file != nullptr && to_.stream() != nullptr) {
            auto sent = co_await send(*file, *to_.stream());
            if (!sent) co_return std::unexpected(std::move(sent).error());
        } else if (file != nullptr && to_.cursor() != nullptr) {
            auto moved = co_await move(*file, *to_.cursor());
            if (!moved) co_return std::unexpected(std::move(moved).error());
        }
        // Copies the rest: everything, or bytes appended to the file meanwhile.
        auto passed = co_await pass();
        if (!passed) co_return std::unexpected(std::move(passed).error());
        co_return copied_;
    }

private:
    using nothing = std::expected<void, error>;

    std::uint64_t left() const noexcept { return options_.limit - copied_; }
    void count(std::uint64_t n) {
        copied_ += n;
        share_.moved(static_cast<std::size_t>(n));
        if (n != 0 && progress_) progress_(copied_);
    }
    std::unexpected<error> failed(error e) const {
        return std::unexpected(std::move(e.after_bytes(copied_)));
    }
    task<nothing> take_turns() {
        if (!share_.used_up()) co_return nothing();
        auto yielded = co_await as_result(yield());
        if (!yielded) co_return failed(std::move(yielded).error());
        co_return nothing();
    }

    /// Sends from a file to a stream, as much as the file has now.
    task<nothing> send(file_cursor& at, net::byte_stream& stream) {
        auto status = co_await as_result(at.file->status());
        if (!status) co_return failed(std::move(status).error());
        if (status->kind != file_kind::regular) co_return nothing();
        while (at.position < status->size && left() != 0) {
            auto yielded = co_await take_turns();
            if (!yielded) co_return yielded;
            const std::uint64_t n = std::min({status->size - at.position, left(), moved_at_once});
            auto sent = co_await as_result(stream.send_file(at.file->fd(), at.position, n));
            const std::uint64_t moved = sent ? n : sent.error().bytes();
            at.position += moved;
            count(moved);
            // The file was truncated: this is its end.
            if (!sent &&
                (cannot_do_that(sent.error()) || sent.error() == std::errc::no_message_available)) {
                co_return nothing();
            }
            if (!sent) co_return failed(std::move(sent).error());
        }
        co_return nothing();
    }

    /// Copies from a file to a file, until the system has no more.
    task<nothing> move(file_cursor& from, file_cursor& to) {
        while (left() != 0) {
            fs::byte_operation moving(file_action::copy_range, "copy", to.file->path());
            moving.fd = from.file->fd();
            moving.offset = from.position;
            moving.other_fd = to.file->fd();
            moving.other_offset = to.position;
            moving.size = std::min<std::uint64_t>(left(), fs::most_bytes_a_call);
            auto moved = co_await as_result(moving);
            if (!moved && cannot_do_that(moved.error())) co_return nothing();
            if (!moved) co_return failed(std::move(moved).error());
            if (*moved == 0) co_return nothing();
            from.position += *moved;
            to.position += *moved;
            count(*moved);
            auto yielded = co_await take_turns();
            if (!yielded) co_return yielded;
        }
        co_return nothing();
    }

    /// Copies through a pipe if possible, else through a block.
    task<nothing> pass() {
        buffer block;
        while (left() != 0) {
            auto yielded = co_await take_turns();
            if (!yielded) co_return yielded;
            if (may_splice()) {
                auto moved = co_await splice();
                if (!moved) co_return failed(std::move(moved).error());
                if (*moved != 0) continue;
            }
            auto n = co_await next(block);
            if (!n) co_return failed(std::move(n).error());
            if (*n == 0) co_return nothing();
            slice piece(block.view());
            auto written = co_await to_.write({&piece, 1});
            if (!written) co_return failed(std::move(written).error());
            block.clear();
            count(*n);
        }
        co_return nothing();
    }

    bool may_splice() {
        if (refused_ || copied_ < splices_behind) return false;
        if (!splicing::suits(from_.stream(), to_.stream())) return false;
        if (!pipe_.is_open()) refused_ = !pipe_.open(options_.block);
        return !refused_;
    }

    /// Returns the number of bytes moved; 0: none, and the next bytes go through a block.
    task<std::expected<std::uint64_t, error>> splice() {
        auto taken =
            co_await pipe_.take(*from_.stream(), std::min<std::uint64_t>(left(), options_.block));
        if (!taken && splicing::is_refusal(taken.error())) {
            refused_ = true;
            co_return std::uint64_t{0};
        }
        if (!taken || *taken == 0) co_return taken;
        auto given = co_await pipe_.give(*to_.stream(), to_);
        count(*taken - pipe_.held());
        if (!given) co_return std::unexpected(std::move(given).error());
        refused_ = !pipe_.is_open();
        co_return taken;
    }

    task<std::expected<std::size_t, error>> next(buffer& block) {
        if (left() >= block_pool::rounded(options_.block)) {
            co_return co_await from_.fill(block, options_.block);
        }
        const auto most = static_cast<std::size_t>(
            std::min<std::uint64_t>(left(), block_pool::rounded(options_.block)));
        if (block.capacity() < most) block = buffer(most);
        auto n = co_await from_.read_some({block.spare(), most});
        if (n) block.commit(*n);
        co_return n;
    }

    source& from_;
    sink& to_;
    copy_options options_;
    unique_function<void(std::uint64_t)> progress_;
    std::uint64_t copied_ = 0;
    detail::turn_share share_;
    splicing pipe_;
    bool refused_ = false;  ///< the system cannot splice between these two
};

task<std::expected<std::uint64_t, error>> run_copy(std::unique_ptr<copying> work) {
    co_return co_await work->run();
}

}  // namespace

operation<std::uint64_t> detail::copy(source& from, sink& to, const copy_options& options,
                                      unique_function<void(std::uint64_t)> progress) {
    return run_copy(std::make_unique<copying>(from, to, options, std::move(progress)));
}

operation<std::uint64_t> copy(source& from, sink& to, const copy_options& options) {
    return detail::copy(from, to, options, {});
}

}  // namespace coracle::io
