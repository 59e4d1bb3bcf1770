#pragma once

#include <coracle/http/h1/head.hpp>
#include <coracle/http/h1/scan.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace coracle::http::h1 {

/// The progress in a partial head: offsets only, so the bytes may move between calls.
struct head_progress {
    std::size_t line = 0;        ///< where the current line begins
    std::size_t scan = 0;        ///< all bytes before it are known to be good
    std::size_t first_end = 0;   ///< end of the method, or of the current field's name
    std::size_t second_end = 0;  ///< end of the target
    std::uint32_t fields = 0;    ///< complete field lines
    std::uint8_t empty_lines = 0;
    std::uint8_t phase = 0;  ///< which part of the line `scan` stands in
    bool in_fields = false;  ///< the start line is done
};

/// Parses the head of a request (RFC 9112 sections 2, 3, 5 and 6), strictly: what two recipients
/// might read differently is an error.
///
/// Give it all the bytes received since the last message ended. On `need_more`, call again with the
/// same bytes and more after them, at any address; each byte is looked at about once, and once more
/// when the head is complete. On `complete`, `out` holds views into `bytes`; the parser is ready
/// for the next message. On `error` the connection is of no more use. `out` is unspecified unless
/// complete. The verdict does not depend on how the bytes were cut. Not thread-safe; allocates only
/// where `out.fields` grows.
class request_parser {
public:
    explicit request_parser(scan_mode mode = scan_mode::automatic) noexcept : mode_{mode} {}

    parse_result parse(std::string_view bytes, request_head& out, const head_limits& limits = {});

    /// Forgets a partial head.
    void reset() noexcept { progress_ = {}; }

    /// Returns true if a head has begun: bytes other than empty lines were seen, and there is no
    /// result yet.
    [[nodiscard]] bool started() const noexcept {
        return progress_.scan > progress_.empty_lines * 2U;
    }

private:
    head_progress progress_;
    scan_mode mode_;
};

/// Parses the head of a response, as request_parser does. It needs the method of the request, since
/// the responses to HEAD and CONNECT are framed differently (RFC 9112 section 6.3). Interim (1xx)
/// responses are heads like others; the parser is then ready for the next one.
class response_parser {
public:
    explicit response_parser(scan_mode mode = scan_mode::automatic) noexcept : mode_{mode} {}

    parse_result parse(std::string_view bytes, http::method request, response_head& out,
                       const head_limits& limits = {});

    /// Forgets a partial head.
    void reset() noexcept { progress_ = {}; }

private:
    head_progress progress_;
    scan_mode mode_;
};

}  // namespace coracle::http::h1
