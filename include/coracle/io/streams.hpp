#pragma once

#include <coracle/io/sink.hpp>
#include <coracle/io/source.hpp>

namespace coracle::io {

/// Reads a stream, which must outlive it: a socket, TLS, a pipe or a terminal. The peer's orderly
/// end is the end.
class stream_source final : public source {
public:
    explicit stream_source(net::byte_stream& from) noexcept : stream_(&from) {}
    task<std::expected<std::size_t, error>> read_some(std::span<char> into) override;
    /// No block is held while it waits with nothing in `into`.
    task<std::expected<std::size_t, error>> fill(buffer& into, std::size_t capacity) override;
    net::byte_stream* stream() noexcept override { return stream_; }

private:
    net::byte_stream* stream_;
};

/// Sends over a stream, which must outlive it. Ending it leaves the stream as it is: to tell the
/// peer of the end is `byte_stream::shutdown_output`.
class stream_sink final : public sink {
public:
    explicit stream_sink(net::byte_stream& to) noexcept : stream_(&to) {}
    task<std::expected<void, error>> write(std::span<slice> pieces) override;
    net::byte_stream* stream() noexcept override { return stream_; }

private:
    net::byte_stream* stream_;
};

}  // namespace coracle::io
