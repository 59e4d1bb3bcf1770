#pragma once

#include "coding/decoder.hpp"
#include "coding/encoder.hpp"

#include <string>
#include <string_view>

namespace coracle::testing {

inline std::string encoded(coding::content_coding with, std::string_view in) {
    const auto e = coding::make_encoder(with);
    e->begin(in.size());
    std::string out;
    char room[4096];
    for (bool done = false; !done;) {
        const auto r = e->encode(in, room, coding::encode_action::finish);
        out.append(room, r.produced);
        in.remove_prefix(r.consumed);
        done = r.done;
    }
    return out;
}

/// Returns `in` decoded, or the name of the error in angle brackets.
inline std::string decoded(std::string_view name, std::string_view in) {
    const auto known = coding::find_content_coding(name);
    if (!known || *known == coding::content_coding::identity) return std::string(in);
    coding::decoder d(*known, {.ratio = 1'000'000});
    std::string out;
    std::string room(64 * 1024, '\0');
    for (bool full = true; full || !in.empty();) {
        const auto r = d.decode(in, room);
        if (r.error != coding::coding_error::none) {
            return '<' + make_error_code(r.error).message() + '>';
        }
        out.append(room, 0, r.produced);
        in.remove_prefix(r.consumed);
        full = r.produced == room.size();
    }
    const auto end = d.finish();
    return end == coding::coding_error::none ? out : '<' + make_error_code(end).message() + '>';
}

}  // namespace coracle::testing
