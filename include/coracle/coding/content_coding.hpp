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

/// Why content could not be decoded. Errors of bodies and streams have it as their code.
enum class coding_error : std::uint8_t {
    none = 0,
    corrupt,         ///< not what the coding allows, or a window beyond the limit
    truncated,       ///< the content ends before its coding does
    trailing_data,   ///< something follows the end of the coding
    too_large,       ///< beyond `decoding_limits::decoded`
    ratio_exceeded,  ///< beyond `decoding_limits::ratio`
};

const std::error_category& coding_category() noexcept;
inline std::error_code make_error_code(coding_error e) noexcept {
    return {static_cast<int>(e), coding_category()};
}

/// What compressed content may become. A decoder holds 40 KiB for gzip and deflate, at most 8 MiB
/// for zstd (its largest window, RFC 9659) and at most 16 MiB for brotli (the same, RFC 7932).
struct decoding_limits {
    /// Bytes of the decoded content. Default 64 MiB.
    std::uint64_t decoded = 64 * 1024 * 1024;
    /// Decoded bytes for each byte received; 0: as many as `decoded` allows. Default 1000.
    std::uint32_t ratio = 1000;
    /// Decoded bytes from which on `ratio` is looked at. Default 1 MiB.
    std::uint64_t ratio_from = 1024 * 1024;
    /// How many codings one content may have, one over the other. Default 2.
    std::uint32_t codings = 2;
};

}  // namespace coracle::coding

template <>
struct std::is_error_code_enum<coracle::coding::coding_error> : std::true_type {};
