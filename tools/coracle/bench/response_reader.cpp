#include "response_reader.hpp"

#include <algorithm>

namespace coracle::tool::bench {

using http::h1::body_framing;
using http::h1::chunk_status;
using http::h1::parse_status;

void response_reader::begin(http::method m) noexcept {
    method_ = m;
    in_body_ = false;
    status_ = 0;
    // The response before may have ended with its connection, amid its head.
    parser_.reset();
    partial_.clear();
}

response_reader::state response_reader::feed(std::string_view bytes) {
    if (in_body_) return read_body(bytes);
    if (!partial_.empty()) bytes = partial_.append(bytes);
    for (;;) {
        const auto r = parser_.parse(bytes, method_, head_);
        if (r.status == parse_status::error) return state::broken;
        if (r.status == parse_status::need_more) {
            partial_ = std::string(bytes);
            return state::more;
        }
        bytes.remove_prefix(r.consumed);
        const bool interim = head_.code < 200 && head_.code != 101;
        if (!interim) break;
    }
    const state s = begin_body(bytes);
    partial_.clear();
    return s;
}

response_reader::state response_reader::begin_body(std::string_view rest) {
    status_ = head_.code;
    keeps_alive_ = head_.keep_alive;
    framing_ = head_.framing;
    left_ = head_.content_length;
    if (framing_ == body_framing::none) return rest.empty() ? state::done : state::broken;
    if (framing_ == body_framing::chunked) chunks_.reset();
    in_body_ = true;
    return read_body(rest);
}

response_reader::state response_reader::read_body(std::string_view bytes) {
    switch (framing_) {
        case body_framing::length:
            if (bytes.size() > left_) return state::broken;
            left_ -= bytes.size();
            return left_ == 0 ? state::done : state::more;
        case body_framing::chunked:
            for (;;) {
                const auto e = chunks_.decode(bytes);
                bytes.remove_prefix(std::min(e.consumed, bytes.size()));
                if (e.status == chunk_status::error) return state::broken;
                if (e.status == chunk_status::end) {
                    return bytes.empty() ? state::done : state::broken;
                }
                if (e.status == chunk_status::need_more || bytes.empty()) return state::more;
            }
        default: return state::more;
    }
}

response_reader::state response_reader::end() const noexcept {
    return in_body_ && framing_ == body_framing::until_close ? state::done : state::broken;
}

}  // namespace coracle::tool::bench
