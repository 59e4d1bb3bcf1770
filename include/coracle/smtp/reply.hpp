#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::smtp {

/// An enhanced status code (RFC 3463): "5.1.1". Class 0: there is none.
struct enhanced_code {
    std::uint8_t kind = 0;
    std::uint16_t subject = 0;
    std::uint16_t detail = 0;

    explicit operator bool() const noexcept { return kind != 0; }
    std::string to_string() const;

    friend bool operator==(const enhanced_code&, const enhanced_code&) = default;
};

/// A response of a server to a command (RFC 5321 section 4.2).
struct reply {
    std::uint16_t code = 0;  ///< 200 to 599; 0: none came
    enhanced_code enhanced = {};
    /// The text of each line, without the codes.
    std::vector<std::string> lines = {};

    bool positive() const noexcept { return code >= 200 && code < 300; }
    bool intermediate() const noexcept { return code >= 300 && code < 400; }
    bool transient() const noexcept { return code >= 400 && code < 500; }
    bool permanent() const noexcept { return code >= 500; }
    /// All lines with a space between them.
    std::string text() const;
    /// "550 5.1.1 no such user".
    std::string to_string() const;
};

/// Limits of one reply.
struct reply_limits {
    std::size_t line = 2048;  ///< bytes of a line with its end; RFC 5321 section 4.5.3.1.5 has 512
    std::size_t lines = 128;  ///< of one reply
};

enum class reply_fault : std::uint8_t {
    none,
    malformed,       ///< no code, codes that differ from line to line, or bytes that are no text
    line_too_long,   ///< `reply_limits::line`
    too_many_lines,  ///< `reply_limits::lines`
};

/// Reads replies that come in pieces of any size. Without input or output of its own.
class reply_parser {
public:
    explicit reply_parser(const reply_limits& limits = {}) noexcept : limits_(limits) {}

    struct result {
        std::size_t consumed = 0;
        bool complete = false;  ///< `take` has the reply
        reply_fault fault = reply_fault::none;
    };
    /// Consumes up to the end of a reply, and no byte behind it. Lines end with CRLF; an LF alone
    /// is taken too, as some old servers send it. After a fault it is of no more use.
    result parse(std::string_view in);
    reply take() noexcept;
    /// Returns whether a part of a reply has come.
    bool begun() const noexcept { return !line_.empty() || !reply_.lines.empty(); }

private:
    reply_fault end_line(std::string_view text);

    reply_limits limits_;
    std::string line_;
    reply reply_;
    bool last_ = false;
};

/// Extensions of a server, as its reply to EHLO lists them (RFC 5321 section 4.1.1.1).
struct capabilities {
    bool extended = false;  ///< it knows EHLO, or LHLO
    bool pipelining = false;
    bool eight_bit = false;  ///< 8BITMIME
    bool utf8 = false;       ///< SMTPUTF8
    bool chunking = false;
    bool binary = false;  ///< BINARYMIME
    bool dsn = false;
    bool enhanced_codes = false;
    bool starttls = false;
    bool require_tls = false;
    bool size = false;
    std::uint64_t largest = 0;  ///< bytes of a message, by SIZE; 0: not said
    /// Names of SASL mechanisms in upper case.
    std::vector<std::string> mechanisms = {};

    bool offers(std::string_view mechanism) const noexcept;
    friend bool operator==(const capabilities&, const capabilities&) = default;
};

/// Reads the lines of a reply to EHLO. Keywords that are not known, and what is malformed, are
/// passed over.
[[nodiscard]] capabilities read_capabilities(const reply& r);

}  // namespace coracle::smtp
