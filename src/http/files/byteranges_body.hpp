#pragma once

#include "http/message/ranges.hpp"

#include <coracle/http/body.hpp>

#include <memory>
#include <string>

namespace coracle::http::detail {

/// Several parts of a representation as a multipart/byteranges body. Takes its arguments by moving.
struct byteranges {
    range_plan plan;
    std::uint64_t size = 0;  ///< of the representation
    std::string media_type;
    std::string boundary;

    multipart_byteranges framing() const noexcept {
        return {plan.parts(), size, media_type, boundary};
    }
};

/// Parts of a file, sent from where they are.
body byteranges_of_file(byteranges all, file_range file);

/// Parts of bytes in memory, copied.
body byteranges_of_bytes(const byteranges& all, std::string_view bytes);

}  // namespace coracle::http::detail
