#pragma once

#include <coracle/base/buffer.hpp>
#include <coracle/http/h1/chunked_decoder.hpp>

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace coracle::http::h1 {

/// Takes a body out of received bytes by its framing (RFC 9112 section 6), for both sides. Pieces
/// are views into the buffer, lent until the next call.
class body_decoder {
public:
    /// Begins a body; `length` counts for `body_framing::length` alone. `lenient` is for
    /// `chunked_decoder`.
    void begin(body_framing framing, std::uint64_t length, const chunk_limits& limits = {},
               bool lenient = false);
    /// Ends the body, complete or not.
    void end() noexcept { framing_ = body_framing::none; }
    /// Gives back the memory of chunks and trailers.
    void release() noexcept {
        chunks_.reset();
        is_chunked_ = false;
    }

    /// Gives back what was lent and returns the next piece. Empty: more input is needed, or the
    /// body is complete.
    std::expected<std::string_view, parse_error> next(buffer& input);
    /// Returns the whole body if it is there, of known length and no longer than `most`.
    std::optional<std::string_view> take_whole(buffer& input, std::uint64_t most) noexcept;
    /// Consumes the bytes that were lent.
    void give_back(buffer& input) noexcept { input.consume(std::exchange(lent_, 0)); }

    bool complete() const noexcept { return framing_ == body_framing::none; }
    /// Returns true if the end of the connection is that of the body.
    bool ends_with_connection() const noexcept { return framing_ == body_framing::until_close; }
    bool has_length() const noexcept { return framing_ == body_framing::length; }
    /// Returns the number of bytes that have not been given yet, where it is known.
    std::optional<std::uint64_t> left() const noexcept;
    /// Returns the trailer fields after a complete chunked body: views that `begin` and `release`
    /// invalidate.
    std::span<const head_field> trailers() const noexcept;

private:
    std::expected<std::string_view, parse_error> next_of_chunks(buffer& input);
    std::string_view lend(std::string_view piece) noexcept {
        lent_ = piece.size();
        return piece;
    }

    body_framing framing_ = body_framing::none;
    std::size_t lent_ = 0;  ///< bytes at the front of the input that the last piece showed
    std::uint64_t left_ = 0;
    std::optional<chunked_decoder> chunks_;
    bool is_chunked_ = false;
};

}  // namespace coracle::http::h1
