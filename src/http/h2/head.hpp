#pragma once

#include <coracle/http/field.hpp>
#include <coracle/http/method.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace coracle::http::h2 {

/// The head of a message in HTTP/2 (RFC 9113 section 8.3): control data of the pseudo-fields, and
/// the field lines. Its views refer to memory of the function that returned it.
struct head {
    // of a request
    http::method method = http::method::other;
    std::string_view method_text;
    std::string_view scheme;     ///< empty for CONNECT
    std::string_view authority;  ///< from ":authority", or else Host; may be empty
    std::string_view path;       ///< with the query; empty for CONNECT
    std::string_view protocol;   ///< for an extended CONNECT (RFC 8441), such as "websocket"

    // of a response
    std::uint16_t code = 0;  ///< 100 to 999

    std::uint32_t cost = 0;  ///< bytes of names and values, and 32 for each field
    bool has_content_length = false;
    std::uint64_t content_length = 0;
    /// The field lines in the order received, names in lower case, crumbs of a cookie joined.
    std::vector<field> fields;
    /// The memory of all views; empty where that is not one piece.
    std::string_view text;
};

/// The kind of message part that a field block belongs to.
enum class head_kind : std::uint8_t { request, response, trailers };

/// The fault of a block that could be decompressed.
enum class head_fault : std::uint8_t {
    none,
    malformed,         ///< a stream error (RFC 9113 section 8.1.1)
    too_large,         ///< more bytes than the limit: 431 for a request
    too_many_fields,   ///< more field lines than the limit: 431 for a request
    too_many_interim,  ///< more interim responses than the limit
};

}  // namespace coracle::http::h2
