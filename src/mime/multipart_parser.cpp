#include "base/ascii.hpp"
#include "mime/parameters.hpp"

#include <coracle/mime/multipart.hpp>

#include <algorithm>

namespace coracle::mime {
namespace {

using kind = multipart_event::kind;

class category final : public std::error_category {
public:
    const char* name() const noexcept override { return "multipart"; }
    std::string message(int code) const override {
        switch (static_cast<multipart_error>(code)) {
            case multipart_error::none: return "no error";
            case multipart_error::invalid_boundary: return "the boundary is invalid";
            case multipart_error::malformed_delimiter: return "a boundary's line is malformed";
            case multipart_error::malformed_field: return "a field of a part is malformed";
            case multipart_error::header_too_large: return "the header of a part is too large";
            case multipart_error::too_many_fields: return "a part has too many fields";
            case multipart_error::too_many_parts: return "too many parts";
            case multipart_error::truncated: return "the body ends before its last boundary";
        }
        return "unknown";
    }
};

// Returns true if `text` can be the boundary parameter. RFC 2046 allows fewer characters; senders
// use others and quote them in Content-Type.
bool may_be_boundary(std::string_view text, std::size_t most) noexcept {
    if (text.empty() || text.size() > most || text.back() == ' ') return false;
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

constexpr std::string_view crlf = "\r\n";
constexpr std::size_t most_header_bytes = ~std::size_t{0} / 2;

}  // namespace

const std::error_category& multipart_category() noexcept {
    static const category instance;
    return instance;
}

std::error_code make_error_code(multipart_error e) noexcept {
    return {static_cast<int>(e), multipart_category()};
}

std::string_view find_field(std::span<const part_field> fields, std::string_view name) noexcept {
    for (const part_field& f : fields) {
        if (detail::equal_ignoring_case(f.name, name)) return f.value;
    }
    return {};
}

multipart_parser::multipart_parser(std::string_view boundary, const multipart_limits& limits)
    : limits_(limits) {
    // The parser adds a little to it.
    limits_.header_bytes = std::min(limits_.header_bytes, most_header_bytes);
    if (!may_be_boundary(boundary, limits.boundary)) {
        state_ = state::failed;
        error_ = multipart_error::invalid_boundary;
        return;
    }
    delimiter_.append(crlf).append("--").append(boundary);
    matched_ = not_held_ = crlf.size();  // the first line of the body needs no CRLF before it
}

multipart_event multipart_parser::fail(multipart_error e, std::size_t consumed) noexcept {
    state_ = state::failed;
    error_ = e;
    return {kind::error, consumed, {}, e};
}

multipart_error multipart_parser::finish() const noexcept {
    if (state_ == state::ended || state_ == state::last_padding) return multipart_error::none;
    return state_ == state::failed ? error_ : multipart_error::truncated;
}

multipart_event multipart_parser::parse(std::string_view in) {
    std::size_t consumed = 0;
    for (;;) {
        multipart_event e = step(in.substr(consumed));
        e.consumed += consumed;
        consumed = e.consumed;
        if (e.what != kind::need_more) return e;
        if (consumed == in.size() && !part_end_is_due()) return e;
    }
}

// Makes one step. `need_more` before the end of the input means: continue in another state.
multipart_event multipart_parser::step(std::string_view in) {
    switch (state_) {
        case state::ended: return {kind::end};
        case state::failed: return {kind::error, 0, {}, error_};
        case state::body: return step_body(in);
        case state::header: return step_header(in);
        default: return step_delimiter(in);
    }
}

// Returns how many bytes at the beginning of `in` continue the delimiter.
std::size_t multipart_parser::match(std::string_view in) noexcept {
    const std::size_t most = std::min(in.size(), delimiter_.size() - matched_);
    std::size_t same = 0;
    while (same != most && in[same] == delimiter_[matched_ + same]) ++same;
    examined_ += std::min(same + 1, most);
    return same;
}

std::size_t multipart_parser::find_cr(std::string_view in, std::size_t from) noexcept {
    const std::size_t at = std::min(in.find('\r', from), in.size());
    examined_ += at - from;
    return at;
}

// Returns the bytes that were held back and turned out to be data. They equal the beginning of the
// delimiter, so that is returned.
std::string_view multipart_parser::give_up_match() noexcept {
    const std::string_view held =
        std::string_view(delimiter_).substr(not_held_, matched_ - not_held_);
    matched_ = not_held_ = 0;
    return held;
}

// A delimiter has only one CR, its first byte: so after a partial match no delimiter begins within
// the matched bytes.
multipart_event multipart_parser::step_body(std::string_view in) {
    std::size_t at = 0;
    for (;;) {
        const std::size_t same = match(in.substr(at));
        const bool whole = matched_ + same == delimiter_.size();
        if (whole || at + same == in.size()) {
            matched_ += same;
            if (whole) state_ = state::after_token;
            if (at == 0 || !in_part_) return {kind::need_more, at + same};
            return {kind::data, at + same, in.substr(0, at)};
        }
        const std::string_view held = give_up_match();
        if (in_part_ && !held.empty()) return {kind::data, 0, held};
        at = find_cr(in, at + same);
    }
}

multipart_event multipart_parser::step_delimiter(std::string_view in) noexcept {
    if (part_end_is_due()) {
        in_part_ = false;
        return {kind::part_end};
    }
    for (std::size_t at = 0; at != in.size(); ++at) {
        state_ = behind(in[at]);
        if (state_ == state::failed) return fail(multipart_error::malformed_delimiter);
        if (state_ == state::ended) return {kind::end, at + 1};
        if (state_ != state::header) continue;
        if (parts_ == limits_.parts) return fail(multipart_error::too_many_parts, at);
        next_header();
        return {kind::need_more, at + 1};
    }
    return {kind::need_more, in.size()};
}

// Returns the state after a byte of a boundary's line.
multipart_parser::state multipart_parser::behind(char c) const noexcept {
    const bool blank = coracle::detail::is_blank(c);
    switch (state_) {
        case state::line_feed: return c == '\n' ? state::header : state::failed;
        case state::last_line_feed: return c == '\n' ? state::ended : state::failed;
        case state::dash: return c == '-' ? state::last_padding : state::failed;
        case state::last_padding:
            if (c == '\r') return state::last_line_feed;
            return blank ? state::last_padding : state::failed;
        default: break;
    }
    if (c == '\r') return state::line_feed;
    if (blank) return state::padding;
    return c == '-' && state_ == state::after_token ? state::dash : state::failed;
}

void multipart_parser::next_header() noexcept {
    state_ = state::header;
    ++parts_;
    header_.clear();
    fields_.clear();
    line_begin_ = unfolded_ = field_count_ = 0;
}

// Does not count the empty line at the end.
bool multipart_parser::header_is_too_large() const noexcept {
    if (header_.size() + unfolded_ <= limits_.header_bytes) return false;
    const std::string_view line = std::string_view(header_).substr(line_begin_);
    return line_begin_ + unfolded_ > limits_.header_bytes || !crlf.starts_with(line);
}

multipart_event multipart_parser::step_header(std::string_view in) {
    std::size_t at = 0;
    while (at != in.size()) {
        const std::size_t end = in.find('\n', at);
        const std::size_t most = limits_.header_bytes + crlf.size() + 1;
        const std::string_view more =
            in.substr(at, end == std::string_view::npos ? end : end + 1 - at);
        header_.append(more.substr(0, most));
        at += more.size();
        if (header_is_too_large()) return fail(multipart_error::header_too_large, at);
        if (end == std::string_view::npos) break;
        const std::string_view line = std::string_view(header_).substr(line_begin_);
        if (line == crlf) return begin_part(at);
        const multipart_error e = end_line(line);
        if (e != multipart_error::none) return fail(e, at);
        line_begin_ = header_.size();
    }
    return {kind::need_more, at};
}

multipart_error multipart_parser::end_line(std::string_view line) {
    if (!line.ends_with(crlf)) return multipart_error::malformed_field;
    const std::string_view text = line.substr(0, line.size() - crlf.size());
    if (!detail::is_field_value(text)) return multipart_error::malformed_field;
    if (coracle::detail::is_blank(text.front())) {  // folded (RFC 5322 section 2.2.3)
        if (line_begin_ == 0) return multipart_error::malformed_field;
        header_.erase(line_begin_ - crlf.size(), crlf.size());
        unfolded_ += crlf.size();
        return multipart_error::none;
    }
    if (++field_count_ > limits_.fields) return multipart_error::too_many_fields;
    const std::size_t colon = text.find(':');
    // A boundary without a line end before it is invalid, but other parsers may accept it.
    const std::string_view boundary = std::string_view(delimiter_).substr(crlf.size());
    if (colon == std::string_view::npos || !detail::is_token(text.substr(0, colon)) ||
        text.starts_with(boundary)) {
        return multipart_error::malformed_field;
    }
    return multipart_error::none;
}

multipart_event multipart_parser::begin_part(std::size_t consumed) {
    header_.resize(line_begin_);
    index_fields();
    state_ = state::body;
    in_part_ = true;
    // An empty part may end with the line end of its header.
    matched_ = not_held_ = crlf.size();
    return {kind::part_begin, consumed};
}

void multipart_parser::index_fields() {
    std::string_view rest = header_;
    while (!rest.empty()) {
        const std::size_t end = rest.find('\n');
        const std::string_view line = rest.substr(0, end - 1);
        rest.remove_prefix(end + 1);
        const std::size_t colon = line.find(':');
        fields_.push_back({line.substr(0, colon), detail::trim(line.substr(colon + 1))});
    }
}

}  // namespace coracle::mime
