#pragma once

#include <coracle/io/sink.hpp>
#include <coracle/io/source.hpp>

#include <cstddef>
#include <memory>

namespace coracle::io {

namespace detail {
class pipe_state;
}

/// The end of a `pipe` that is read from. Movable while nothing is pending; destroying it closes
/// it.
class pipe_source final : public source {
public:
    explicit pipe_source(std::shared_ptr<detail::pipe_state> state) noexcept;
    pipe_source(pipe_source&&) noexcept;
    pipe_source& operator=(pipe_source&&) noexcept;
    ~pipe_source() override;

    /// Completes when something is in the pipe; gives 0 once the other end is finished and all has
    /// been read. Fails as `pipe_sink::fail` says, and with `std::errc::connection_aborted` when
    /// the other end was destroyed unfinished.
    task<std::expected<std::size_t, error>> read_some(std::span<char> into) override;

    /// Ends the reading: bytes in the pipe are dropped, and the other end fails with
    /// `std::errc::broken_pipe`, also in a write that waits.
    void close() noexcept;

private:
    std::shared_ptr<detail::pipe_state> state_;
};

/// The end of a `pipe` that is written to. Movable while nothing is pending.
class pipe_sink final : public sink {
public:
    explicit pipe_sink(std::shared_ptr<detail::pipe_state> state) noexcept;
    pipe_sink(pipe_sink&&) noexcept;
    pipe_sink& operator=(pipe_sink&&) noexcept;
    ~pipe_sink() override;

    /// Completes when all is in the pipe: while it is full, it waits for the other end to read.
    task<std::expected<void, error>> write(std::span<slice> pieces) override;
    /// The other end reads what is in the pipe, and then its end.
    task<std::expected<void, error>> finish() override;
    /// Closes at once.
    void close() noexcept;
    /// The other end reads what is in the pipe, and then fails with this.
    void fail(error why) noexcept;

private:
    std::shared_ptr<detail::pipe_state> state_;
};

/// The two ends of a pipe.
struct pipe_ends {
    pipe_source source;
    pipe_sink sink;
};

/// A pipe in memory between two tasks of one loop, which holds at most `capacity` bytes, at least
/// one. Default 64 KiB.
///
///     auto [from, to] = io::pipe();
pipe_ends pipe(std::size_t capacity = 64 * 1024);

}  // namespace coracle::io
