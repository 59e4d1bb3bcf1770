#pragma once

#include <coracle/coding/content_coding.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace coracle::coding {

/// The action of an encoder after the input.
enum class encode_action : std::uint8_t {
    process,  ///< may hold bytes back for the sake of the ratio
    flush,    ///< all that was given becomes decodable by the peer
    finish,   ///< the content ends
};

struct encode_result {
    std::size_t consumed = 0;
    std::size_t produced = 0;
    /// Set when the action is complete; else call again with the rest of the input, more room and
    /// the same action.
    bool done = false;
};

/// Encodes one content after another, piece by piece, into memory that the caller gives. Keeps its
/// own memory from one content to the next. Not thread-safe; may move between threads.
///
/// An encoder holds (tests/unit/coding/memory_test.cpp): gzip and deflate (level 6, window 32
/// KiB) 262 KiB, brotli (quality 5, window 64 KiB) 1.7 MiB, zstd (level 3, window 256 KiB) 1.3 MiB.
/// Contents of a known smaller size take less with brotli and zstd.
class encoder {
public:
    /// The least size of `out`: a flush needs a few bytes in one piece.
    static constexpr std::size_t least_room = 64;

    virtual ~encoder() = default;
    /// Forgets what it was doing and starts a content, whose size may be known: its end is then to
    /// come after so many bytes.
    virtual void begin(std::optional<std::uint64_t> size) = 0;
    virtual encode_result encode(std::string_view in, std::span<char> out,
                                 encode_action action) = 0;
};

/// The level of an encoder, in the scale of its library; a value beyond an end of the scale is that
/// end. Without one, the level that suits a network best, with the memory stated above.
using encoder_level = std::optional<int>;

/// One for any coding but identity. Throws std::bad_alloc.
std::unique_ptr<encoder> make_encoder(content_coding coding, encoder_level level = {});

/// The version of the library of a coding but identity: another one may give other bytes.
std::string encoder_version(content_coding coding);

std::unique_ptr<encoder> make_zlib_encoder(content_coding coding, encoder_level level);
std::unique_ptr<encoder> make_brotli_encoder(encoder_level level);
std::unique_ptr<encoder> make_zstd_encoder(encoder_level level);

std::string version_of_zlib();
std::string version_of_brotli();
std::string version_of_zstd();

/// The bytes to encode or decode before other tasks get their turn: about a millisecond of the
/// slowest coding.
inline constexpr std::size_t coded_at_once = 32 * 1024;

}  // namespace coracle::coding
