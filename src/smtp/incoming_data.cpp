#include "smtp/incoming_data.hpp"

#include <algorithm>

namespace coracle::smtp::detail {

void incoming_data::put(std::string_view bytes) {
    const std::string_view fits = bytes.substr(0, most_ - text_.size());
    text_ += fits;
    if (fits.size() != bytes.size()) refuse(fault::too_large);
}

/// Takes text up to the end of a line, which is CRLF; returns how many bytes.
std::size_t incoming_data::add_text(std::string_view in) {
    const std::size_t size = std::min(in.find_first_of("\r\n"), in.size());
    put(in.substr(0, size));
    if (size == in.size()) return size;
    if (in[size] == '\n') {
        refuse(fault::lone_lf);
        put("\n");
    } else {
        state_ = state::cr;
    }
    return size + 1;
}

/// Goes on to `next` and takes the byte where it is `wanted`; else to text.
std::size_t incoming_data::step(char c, char wanted, state next) noexcept {
    state_ = c == wanted ? next : state::text;
    return c == wanted ? 1 : 0;
}

/// The byte behind a CR, which must be an LF.
std::size_t incoming_data::end_line(char c, state next) {
    if (c != '\n') {
        refuse(fault::lone_cr);
        put("\r");
    }
    return step(c, '\n', next);
}

std::size_t incoming_data::add(std::string_view in) {
    std::size_t at = 0;
    while (at != in.size() && state_ != state::ended) {
        const char c = in[at];
        switch (state_) {
            case state::line_begin: at += step(c, '.', state::dot); break;
            case state::text: at += add_text(in.substr(at)); break;
            case state::cr:
                if (c == '\n') put("\r\n");
                at += end_line(c, state::line_begin);
                break;
            // The first dot of a line was put in.
            case state::dot: at += step(c, '\r', state::dot_cr); break;
            case state::dot_cr: at += end_line(c, state::ended); break;
            case state::ended: break;
        }
    }
    return at;
}

}  // namespace coracle::smtp::detail
