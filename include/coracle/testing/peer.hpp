#pragma once

#include <coracle/net/socket.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace coracle::testing {

/// The way in which a stream ended.
enum class ending : std::uint8_t { finished, reset };

/// The other side of a conversation, word for word: sends bytes, and reads up to a text or to the
/// end. Belongs to one loop; what it has read beyond is kept for the next read.
class peer {
public:
    explicit peer(std::unique_ptr<net::byte_stream> stream) noexcept : stream_(std::move(stream)) {}

    /// Completes when all bytes have been taken. Throws when the connection is gone.
    task<> send(std::string text);

    /// Reads all bytes up to and with the first `text`. Throws `errc::end_of_stream`, or the reset,
    /// with the bytes that had come in its place as subject.
    task<std::string> read_until(std::string text);
    /// Exactly `n` bytes. Fails in the same way.
    task<std::string> read_exactly(std::size_t n);
    /// Reads until the other side ends the stream; then `ended` says how.
    task<std::string> read_to_end();
    /// The way in which the stream ended, after `read_to_end`.
    ending ended() const noexcept { return ending_; }
    /// Throws `errc::protocol_error` unless the stream ends now in good order, without a byte more.
    task<> expect_close();

    /// The bytes that were read ahead and not yet returned.
    const std::string& pending() const noexcept { return pending_; }

    void shutdown_output() noexcept { stream_->shutdown_output(); }
    void close(bool reset = false) noexcept { stream_->close(reset); }
    net::byte_stream& stream() noexcept { return *stream_; }

private:
    task<> read_more();

    std::unique_ptr<net::byte_stream> stream_;
    std::string pending_;
    ending ending_ = ending::finished;
};

/// Connects on the current loop.
task<peer> connect_peer(net::address to);

}  // namespace coracle::testing
