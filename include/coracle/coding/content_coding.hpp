#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace coracle::coding {

/// The content codings (RFC 9110 section 8.4.1) that the library speaks.
enum class content_coding : std::uint8_t { identity, gzip, deflate, brotli, zstd };

/// The name as registered: "gzip", "br". Lives forever.
std::string_view to_string(content_coding coding) noexcept;

/// The coding of this name, in any case; "x-gzip" is gzip (RFC 9110 section 8.4.1.3).
std::optional<content_coding> find_content_coding(std::string_view name) noexcept;

/// The reasons why content could not be decoded. Errors of bodies and streams have it as their
/// code.
enum class coding_error : std::uint8_t {
    none = 0,
    corrupt,           ///< not what the coding allows
    truncated,         ///< the content ends before its coding does
    trailing_data,     ///< something follows the end of the coding
    too_large,         ///< beyond `decoding_limits::decoded`
    ratio_exceeded,    ///< beyond `decoding_limits::ratio`
    window_too_large,  ///< it needs more memory than `decoding_limits::window`
    no_memory,         ///< there is none, or too many decoders are at work
};

const std::error_category& coding_category() noexcept;
inline std::error_code make_error_code(coding_error e) noexcept {
    return {static_cast<int>(e), coding_category()};
}

/// Limits for decoding. A decoder holds 40 KiB for gzip and deflate, for zstd and brotli the window
/// that the content asks for, and besides it up to 512 KiB and 2 MiB.
struct decoding_limits {
    /// Bytes of the decoded content. Default 64 MiB.
    std::uint64_t decoded = 64 * 1024 * 1024;
    /// Decoded bytes for each byte received; 0: as many as `decoded` allows. Default 1000.
    std::uint32_t ratio = 1000;
    /// Decoded bytes from which on `ratio` is looked at. Default 1 MiB.
    std::uint64_t ratio_from = 1024 * 1024;
    /// The most codings that one content may have, one over the other. Default 2.
    std::uint32_t codings = 2;
    /// Bytes of the window that a decoder of zstd or brotli keeps, as far as the content fills it.
    /// Default 16 MiB: the largest of brotli (RFC 7932). That of zstd is 8 MiB at most (RFC 9659).
    /// The nearest of what there can be is taken for others: of brotli, 16 KiB to 16 MiB. A window
    /// of brotli may have 1.1 MiB in any case: as much as one table of its codes, from which it
    /// cannot be told.
    std::uint64_t window = 16 * 1024 * 1024;
};

}  // namespace coracle::coding

template <>
struct std::is_error_code_enum<coracle::coding::coding_error> : std::true_type {};
