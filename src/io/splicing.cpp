#include "io/splicing.hpp"

#include <coracle/base/buffer.hpp>
#include <coracle/io/sink.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace coracle::io {
namespace {

/// One splice(2) into a pipe or out of it.
class splice_step final
    : public net::detail::stream_operation<splice_step, splice_operation, std::uint64_t> {
public:
    static constexpr const char* name = "splice";
    splice_step(net::byte_stream& s, opcode c, int end, std::int64_t bytes) noexcept
        : stream_operation(s, c, end, bytes) {}

    /// Returns the bytes received, or 0.
    std::expected<std::uint64_t, error> result() {
        const std::int64_t n = io_operation::result;
        if (n >= 0) return static_cast<std::uint64_t>(n);
        const bool reads = code == opcode::splice_in;
        error e(stream_->code_of(n), name, reads ? phase::receive : phase::send);
        return std::unexpected(std::move(e.on(stream_->subject())));
    }
    /// For a step out of the pipe: the number of bytes still in it.
    std::int64_t left() const noexcept { return size; }
};

}  // namespace

bool splicing::is_refusal(const error& e) noexcept {
    return e == std::errc::invalid_argument || e == std::errc::function_not_supported ||
           e == std::errc::operation_not_supported || e == std::errc::operation_not_permitted;
}

bool splicing::open(std::size_t capacity) noexcept {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return false;
    reader_.reset(ends[0]);
    writer_.reset(ends[1]);
    // A pipe that cannot be enlarged moves less at a time.
    const auto wanted = static_cast<int>(std::min<std::size_t>(capacity, 1024 * 1024));
    if (wanted > ::fcntl(writer_.get(), F_GETPIPE_SZ)) {
        static_cast<void>(::fcntl(writer_.get(), F_SETPIPE_SZ, wanted));
    }
    return true;
}

void splicing::close() noexcept {
    writer_.reset();
    reader_.reset();
}

task<std::expected<std::uint64_t, error>> splicing::take(net::byte_stream& from,
                                                         std::uint64_t most) {
    constexpr std::uint64_t at_once = 1024 * 1024;
    splice_step step(from, opcode::splice_in, writer_.get(),
                     static_cast<std::int64_t>(std::min(most, at_once)));
    auto taken = co_await as_result(step);
    if (taken) held_ = static_cast<std::int64_t>(*taken);
    co_return taken;
}

task<std::expected<void, error>> splicing::give(net::byte_stream& to, sink& around) {
    splice_step step(to, opcode::splice_out, reader_.get(), held_);
    auto given = co_await as_result(step);
    held_ = step.left();
    if (given) co_return std::expected<void, error>();
    if (!is_refusal(given.error())) co_return std::unexpected(std::move(given).error());
    auto written = co_await write_from_memory(around);
    co_return written;
}

task<std::expected<void, error>> splicing::write_from_memory(sink& to) {
    buffer block;
    while (held_ != 0) {
        if (!block) block.obtain(buffer::default_capacity);
        const auto most = std::min(block.capacity(), static_cast<std::size_t>(held_));
        const ssize_t n = ::read(reader_.get(), block.spare(), most);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) co_return std::unexpected(error(std::errc::io_error, splice_step::name));
        block.commit(static_cast<std::size_t>(n));
        slice piece(block.view());
        auto written = co_await to.write({&piece, 1});
        if (!written) co_return written;
        held_ -= n;
        block.clear();
    }
    close();
    co_return std::expected<void, error>();
}

}  // namespace coracle::io
