#include "smtp/incoming_data.hpp"

#include <algorithm>

namespace coracle::smtp::detail {

void incoming_data::put(std::string_view bytes) {
    const std::string_view fits = bytes.substr(0, most_ - text_.size());
    text_ += fits;
    if (fits.size() != bytes.size()) refuse(fault::too_large);
}

std::size_t incoming_data::add(std::string_view in) {
    std::size_t at = 0;
    while (at != in.size() && state_ != state::ended) {
        const char c = in[at];
        switch (state_) {
            case state::line_begin:
                if (c == '.') {
                    state_ = state::dot;
                    ++at;
                    continue;
                }
                state_ = state::text;
                continue;
            case state::text: {
                const std::size_t end = std::min(in.find_first_of("\r\n", at), in.size());
                put(in.substr(at, end - at));
                at = end;
                if (at == in.size()) continue;
                if (in[at] == '\n') {
                    refuse(fault::lone_lf);
                    put("\n");
                } else {
                    state_ = state::cr;
                }
                ++at;
                continue;
            }
            case state::cr:
                if (c == '\n') {
                    put("\r\n");
                    state_ = state::line_begin;
                    ++at;
                    continue;
                }
                refuse(fault::lone_cr);
                put("\r");
                state_ = state::text;
                continue;
            case state::dot:
                if (c == '\r') {
                    state_ = state::dot_cr;
                    ++at;
                    continue;
                }
                // The first dot was put in.
                state_ = state::text;
                continue;
            case state::dot_cr:
                if (c == '\n') {
                    state_ = state::ended;
                    ++at;
                    continue;
                }
                refuse(fault::lone_cr);
                put("\r");
                state_ = state::text;
                continue;
            case state::ended: break;
        }
    }
    return at;
}

}  // namespace coracle::smtp::detail
