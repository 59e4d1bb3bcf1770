#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::mime {

/// The encoding of a part's content (RFC 2045 section 6).
enum class transfer_encoding : std::uint8_t {
    seven_bit,
    eight_bit,
    quoted_printable,
    base64,
    binary,
};

std::string_view to_string(transfer_encoding e) noexcept;

/// Parses the value of Content-Transfer-Encoding, in any case; returns nothing for an unknown one.
[[nodiscard]] std::optional<transfer_encoding> parse_transfer_encoding(
    std::string_view text) noexcept;

/// The kinds of content that a mail server accepts besides seven-bit lines.
struct transport_abilities {
    bool eight_bit = false;  ///< 8BITMIME (RFC 6152)
    bool binary = false;     ///< BINARYMIME with BDAT (RFC 3030)
};

/// Examines content that arrives in pieces, to choose its encoding.
class content_scan {
public:
    void add(std::string_view bytes) noexcept;

    std::uint64_t size() const noexcept { return size_; }
    /// Returns the least size as quoted-printable, in bytes; soft line breaks add to it.
    std::uint64_t quoted_size() const noexcept { return size_ + 2 * escaped_; }
    bool has_eight_bit() const noexcept { return high_ != 0; }

    /// Returns the shortest encoding that preserves all bytes. With `text`, lines may end with CRLF
    /// or LF, and arrive with CRLF. Lines longer than 998 bytes, NUL, a lone CR and, without
    /// `text`, a lone LF need an encoding, unless the server accepts binary.
    transfer_encoding cheapest(bool text, const transport_abilities& server) const noexcept;

private:
    void end_line() noexcept;

    std::uint64_t size_ = 0;
    std::uint64_t high_ = 0;
    std::uint64_t nul_ = 0;
    std::uint64_t lone_cr_ = 0;
    std::uint64_t lone_lf_ = 0;
    std::uint64_t escaped_ = 0;
    std::size_t line_ = 0;
    std::size_t longest_ = 0;
    char last_ = '\0';
};

/// Encodes content that arrives in pieces as base64, in lines of 76 characters with CRLF between
/// them.
class base64_writer {
public:
    void add(std::string_view bytes, std::string& out);
    void finish(std::string& out);
    /// Returns the encoded size of that many bytes.
    static std::uint64_t encoded_size(std::uint64_t bytes) noexcept;

private:
    void put(const unsigned char* group, std::size_t size, std::string& out);

    unsigned char held_[3] = {};
    std::size_t held_size_ = 0;
    std::size_t column_ = 0;
};

/// Decodes content that arrives in pieces, leniently: ignores foreign bytes in base64, and keeps an
/// "=" of quoted-printable that has no meaning. Does not change the ends of lines.
class content_decoder {
public:
    explicit content_decoder(transfer_encoding e = transfer_encoding::binary) noexcept
        : encoding_(e) {}

    void add(std::string_view bytes, std::string& out);
    void finish(std::string& out);
    /// Returns true if the content had bytes that the encoding does not allow.
    bool damaged() const noexcept { return damaged_; }

private:
    void add_base64(std::string_view bytes, std::string& out);
    void add_quoted(std::string_view bytes, std::string& out);

    transfer_encoding encoding_;
    std::uint32_t bits_ = 0;
    unsigned digits_ = 0;
    bool ended_ = false;
    bool damaged_ = false;
    std::string line_;  ///< the end of a line of quoted-printable that more bytes may change
};

}  // namespace coracle::mime
