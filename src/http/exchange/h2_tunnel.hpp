#pragma once

#include "http/h2/received_content.hpp"

#include <coracle/net/byte_stream.hpp>
#include <coracle/runtime/loop.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace coracle::http::detail {

/// The stream of HTTP/2 that an `h2_tunnel` goes through: one of a server's, or of a client's.
class tunnel_carrier {
public:
    /// Passes content to the session, which refers to it until `h2_tunnel::sent`. Returns false if
    /// the stream takes none any more.
    virtual bool carry(std::span<const std::string_view> pieces, bool end) noexcept = 0;
    /// Returns the bytes that the peer takes now.
    virtual std::uint64_t peer_takes() const noexcept = 0;
    /// The peer may send so many bytes more.
    virtual void consumed(std::size_t bytes) noexcept = 0;
    /// Ends the stream before its time: RST_STREAM(CANCEL).
    virtual void cut_tunnel() noexcept = 0;

protected:
    ~tunnel_carrier() = default;
};

/// A stream of HTTP/2 as a stream of bytes, those of its DATA frames (RFC 9113 section 8.5, RFC
/// 8441 section 5): END_STREAM is the end that a side has sent, RST_STREAM a reset. What is sent is
/// copied, so that one who gives a send up takes his bytes with him. It must live as long as its
/// carrier does.
class h2_tunnel final : public net::byte_stream, coracle::detail::runnable {
public:
    /// `early`: bytes received before; `ended`: no more will follow.
    h2_tunnel(tunnel_carrier& carrier, loop& owner, const net::address& peer,
              h2::received_content early, bool ended) noexcept
        : carrier_(&carrier), owner_(&owner), peer_(&peer), content_(std::move(early)),
          input_ended_(ended) {}

    // Told by its carrier.
    void received(std::string_view piece, const h2::shared_block& block);
    void input_ended() noexcept;
    /// Takes note that what was given to `carry` is not referred to any more.
    void sent() noexcept;
    /// The stream ended before its time, for this errno.
    void lost(int failure) noexcept;

    void shutdown_output() noexcept override;
    void close(bool reset = false) noexcept override;
    std::int64_t try_send(std::string_view bytes) noexcept override;
    bool has_input() noexcept override {
        return !rest_.empty() || !content_.empty() || input_ended_ || failure_ != 0;
    }
    bool watch_hangup(hangup_watch* w) noexcept override;
    const net::address& peer() const noexcept override { return *peer_; }
    loop& owner() const noexcept override { return *owner_; }
    bool start(io_operation& op) noexcept override;
    void cancel(io_operation& op) noexcept override;

private:
    bool try_receive(receive_operation& op) noexcept;
    void take(buffer& into) noexcept;
    void complete_reader() noexcept;
    void run() noexcept override;
    bool advance_write() noexcept;
    /// Returns the most bytes that are given to the session next.
    std::size_t next_step() const noexcept;
    int take_piece() noexcept;
    bool offer(std::string_view bytes, bool end) noexcept;
    void tell_watch() noexcept;

    tunnel_carrier* carrier_;
    loop* owner_;
    const net::address* peer_;
    h2::received_content content_;
    std::string_view rest_;  ///< of the piece of it that was begun
    receive_operation* reader_ = nullptr;
    io_operation* writer_ = nullptr;
    hangup_watch* watch_ = nullptr;
    buffer out_;  ///< what is being sent
    std::string_view out_piece_;
    int failure_ = 0;        ///< the errno by which the stream ended
    int write_failure_ = 0;  ///< what every write from now on fails with
    bool sending_ = false;   ///< the session has `out_`
    bool input_ended_;
    bool output_ended_ = false;
    bool end_sent_ = false;
    bool closed_ = false;
};

}  // namespace coracle::http::detail
