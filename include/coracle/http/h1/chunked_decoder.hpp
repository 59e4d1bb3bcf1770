#pragma once

#include <coracle/http/h1/head.hpp>
#include <coracle/http/h1/head_parser.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::http::h1 {

/// Limits of the framing of one chunked body.
struct chunk_limits {
    /// A chunk-size line with its extensions, without CRLF, in bytes. Default 256.
    std::uint32_t line = 256;
    /// Framing bytes beyond 16 per chunk and twice the data, in bytes. Default 16 KiB.
    std::uint32_t overhead = 16384;
    /// The whole trailer section with the empty line that ends it, in bytes. Default 16 KiB.
    std::uint32_t trailers = 16384;
    /// The most trailer fields. Default 32.
    std::uint32_t trailer_fields = 32;
};

enum class chunk_status : std::uint8_t {
    need_more,  ///< all of the input is consumed, and the body goes on
    data,       ///< `data` holds a piece of the body
    end,        ///< the body is complete, trailers() holds what followed it
    error,      ///< `error` says why; the decoder stays in this state
};

struct chunk_event {
    chunk_status status = chunk_status::need_more;
    parse_error error = parse_error::none;
    /// The number of input bytes that are done with. Bytes after the end are never counted.
    std::size_t consumed = 0;
    /// A part of the input, never empty for `data`.
    std::string_view data;
};

/// Decodes the chunked coding (RFC 9112 section 7.1), strictly, without copying data.
///
/// Call decode with what was received; drop `consumed` bytes; while there is input and the status
/// is `data`, call again. Nothing needs to be kept across calls: an unfinished line is remembered
/// as numbers. Extensions are checked and ignored. Trailers are copied (the only allocation, and
/// only when there are some). What the data adds up to does not depend on how the bytes were cut.
class chunked_decoder {
public:
    /// `lenient`: accepts blanks at the end of a chunk-size line, and LF alone as the end of a line
    /// that is no trailer field, as old servers send them. For responses only: a request that two
    /// servers read differently is how they are attacked.
    explicit chunked_decoder(const chunk_limits& limits = {}, bool lenient = false) noexcept
        : limits_{limits}, lenient_{lenient} {}

    chunk_event decode(std::string_view in);

    /// The trailer fields, after `end`: views into the decoder, valid until reset, move or
    /// destruction. Fields that frame or route a message are left out (RFC 9110 section 6.5.1).
    [[nodiscard]] const std::vector<head_field>& trailers() const noexcept { return trailers_; }

    /// The number of bytes of data that the chunks seen so far have announced.
    [[nodiscard]] std::uint64_t announced() const noexcept { return announced_; }

    /// Ready for another body. Keeps the capacity of the trailers.
    void reset() noexcept;

private:
    enum class state : std::uint8_t {
        size_start,
        size,
        extension_gap,
        extension_name_start,
        extension_name,
        extension_name_gap,
        extension_value_start,
        extension_value,
        extension_quoted,
        extension_escape,
        extension_value_end,
        size_line_feed,
        data,
        data_return,
        data_line_feed,
        trailers,
        done,
        failed,
    };

    chunk_event fail(parse_error error) noexcept;
    parse_error step(char byte) noexcept;
    parse_error step_size(char byte) noexcept;
    parse_error step_extension(char byte) noexcept;
    bool end_of_part(char byte, state gap) noexcept;
    [[nodiscard]] bool may_end_line() const noexcept;
    parse_error finish_size_line() noexcept;
    chunk_event decode_trailers(std::string_view in, std::size_t at);
    void finish_trailers(const head_limits& limits);

    chunk_limits limits_;
    std::uint64_t left_ = 0;  // data of this chunk still to come; in its size line, the size so far
    std::uint64_t announced_ = 0;
    std::uint64_t excess_ = 0;  // framing bytes beyond the allowance
    std::uint32_t line_ = 0;    // bytes of the current size line
    std::uint8_t digits_ = 0;   // hexadecimal digits of it
    state state_ = state::size_start;
    bool lenient_;
    parse_error error_ = parse_error::none;
    head_progress trailer_progress_;
    std::string trailer_bytes_;
    std::vector<head_field> trailers_;
};

}  // namespace coracle::http::h1
