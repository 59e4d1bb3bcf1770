#include "base/ascii.hpp"
#include "http/h1/field_lines.hpp"
#include "http/h1/field_summary.hpp"
#include "http/h1/scan_kernels.hpp"
#include "http/message/trailer.hpp"

#include <coracle/http/h1/chunked_decoder.hpp>

#include <algorithm>

namespace coracle::http::h1 {

namespace {

constexpr std::uint64_t largest_body = ~std::uint64_t{0} >> 1;  // fits a signed 64-bit offset
constexpr std::uint8_t largest_digits = 16;
constexpr std::uint64_t free_per_chunk = 16;

parse_error trailer_error(parse_error error) noexcept {
    switch (error) {
        case parse_error::head_too_large:
        case parse_error::field_too_long: return parse_error::trailers_too_large;
        case parse_error::too_many_fields: return parse_error::too_many_trailers;
        default: return error;
    }
}

}  // namespace

chunk_event chunked_decoder::decode(std::string_view in) {
    std::size_t at = 0;
    while (at < in.size() && state_ < state::done) {
        if (state_ == state::data) {
            const auto size =
                static_cast<std::size_t>(std::min<std::uint64_t>(left_, in.size() - at));
            left_ -= size;
            if (left_ == 0) {
                state_ = state::data_return;
            }
            return {chunk_status::data, parse_error::none, at + size, in.substr(at, size)};
        }
        if (state_ == state::trailers) {
            return decode_trailers(in, at);
        }
        if (const parse_error error = step(in[at]); error != parse_error::none) {
            return fail(error);
        }
        ++at;
    }
    if (state_ == state::failed) {
        return {chunk_status::error, error_, 0, {}};
    }
    if (state_ == state::done) {
        return {chunk_status::end, parse_error::none, at, {}};
    }
    return {chunk_status::need_more, parse_error::none, at, {}};
}

chunk_event chunked_decoder::fail(parse_error error) noexcept {
    state_ = state::failed;
    error_ = error;
    return {chunk_status::error, error, 0, {}};
}

// One byte of the framing, but for the trailers.
parse_error chunked_decoder::step(char byte) noexcept {
    switch (state_) {
        case state::data_return:
            if (lenient_ && byte == '\n') {
                state_ = state::size_start;
                return parse_error::none;
            }
            state_ = state::data_line_feed;
            return byte == '\r' ? parse_error::none : parse_error::bad_chunk_end;
        case state::data_line_feed:
            state_ = state::size_start;
            return byte == '\n' ? parse_error::none : parse_error::bad_chunk_end;
        case state::size_line_feed:
            return byte == '\n' ? finish_size_line() : parse_error::bad_chunk_line;
        default: break;
    }
    if (byte != '\r' && ++line_ > limits_.line) {
        return parse_error::chunk_line_too_long;
    }
    if (byte == '\n') {
        return lenient_ && may_end_line() ? finish_size_line() : parse_error::bad_chunk_line;
    }
    return state_ <= state::size ? step_size(byte) : step_extension(byte);
}

parse_error chunked_decoder::step_size(char byte) noexcept {
    if (const int digit = coracle::detail::hex_value(byte); digit >= 0) {
        state_ = state::size;
        if (++digits_ > largest_digits) {
            return parse_error::chunk_size_overflow;
        }
        left_ = left_ << 4 | static_cast<std::uint64_t>(digit);
        return parse_error::none;
    }
    return state_ == state::size && end_of_part(byte, state::extension_gap)
               ? parse_error::none
               : parse_error::bad_chunk_size;
}

// Reads a byte after a size, a name or a value: the next extension, a gap before it, or the end of
// the line.
bool chunked_decoder::end_of_part(char byte, state gap) noexcept {
    if (byte == ';') {
        state_ = state::extension_name_start;
    } else if (byte == '\r') {
        state_ = state::size_line_feed;
    } else if (coracle::detail::is_blank(byte)) {
        state_ = gap;
    } else {
        return false;
    }
    return true;
}

// Behind a size, a name or a value, and blanks.
bool chunked_decoder::may_end_line() const noexcept {
    switch (state_) {
        case state::size:
        case state::extension_gap:
        case state::extension_name:
        case state::extension_name_gap:
        case state::extension_value:
        case state::extension_value_end: return true;
        default: return false;
    }
}

// chunk-ext (RFC 9112 section 7.1.1). A gap must lead to something: no line ends in blanks.
parse_error chunked_decoder::step_extension(char byte) noexcept {
    const bool in_gap = state_ == state::extension_gap || state_ == state::extension_name_gap;
    if (in_gap && byte == '\r') {
        state_ = state::size_line_feed;
        return lenient_ ? parse_error::none : parse_error::bad_chunk_line;
    }
    const bool token = is_char(byte, char_token);
    const auto to = [this](state next) {
        state_ = next;
        return true;
    };
    bool good = false;
    switch (state_) {
        case state::extension_gap:
            good =
                coracle::detail::is_blank(byte) || (byte == ';' && to(state::extension_name_start));
            break;
        case state::extension_name_start:
            good = coracle::detail::is_blank(byte) || (token && to(state::extension_name));
            break;
        case state::extension_name:
            good = token || (byte == '=' && to(state::extension_value_start)) ||
                   end_of_part(byte, state::extension_name_gap);
            break;
        case state::extension_name_gap:
            good = coracle::detail::is_blank(byte) ||
                   (byte == '=' && to(state::extension_value_start)) ||
                   (byte == ';' && to(state::extension_name_start));
            break;
        case state::extension_value_start:
            good = coracle::detail::is_blank(byte) || (token && to(state::extension_value)) ||
                   (byte == '"' && to(state::extension_quoted));
            break;
        case state::extension_value: good = token || end_of_part(byte, state::extension_gap); break;
        case state::extension_quoted:
            good = (byte == '"' && to(state::extension_value_end)) ||
                   (byte == '\\' && to(state::extension_escape)) || is_char(byte, char_value);
            break;
        case state::extension_escape:
            good = is_char(byte, char_value) && to(state::extension_quoted);
            break;
        case state::extension_value_end: good = end_of_part(byte, state::extension_gap); break;
        default: break;
    }
    return good ? parse_error::none : parse_error::bad_chunk_extension;
}

// The rule of proportion: each chunk may cost 16 bytes of framing and twice its data for nothing;
// what goes beyond adds up over the body, and what stays below pays it back.
parse_error chunked_decoder::finish_size_line() noexcept {
    if (left_ > largest_body - announced_) {
        return parse_error::chunk_size_overflow;
    }
    announced_ += left_;
    const std::uint64_t framing = excess_ + line_ + 4;
    const std::uint64_t paid = framing > free_per_chunk ? framing - free_per_chunk : 0;
    excess_ = paid > 2 * left_ ? paid - 2 * left_ : 0;
    if (excess_ > limits_.overhead) {
        return parse_error::too_much_chunk_overhead;
    }
    line_ = 0;
    digits_ = 0;
    state_ = left_ == 0 ? state::trailers : state::data;
    return parse_error::none;
}

chunk_event chunked_decoder::decode_trailers(std::string_view in, std::size_t at) {
    if (lenient_ && trailer_bytes_.empty() && in[at] == '\n') {
        state_ = state::done;
        return {chunk_status::end, parse_error::none, at + 1, {}};
    }
    if (trailer_bytes_.empty() && in.substr(at, 2) == "\r\n" && limits_.trailers >= 2) {
        state_ = state::done;
        return {chunk_status::end, parse_error::none, at + 2, {}};
    }
    // One byte above the limit is enough to see that it is exceeded.
    const std::size_t before = trailer_bytes_.size();
    trailer_bytes_.append(in.substr(at, limits_.trailers + std::size_t{1} - before));
    const head_limits limits{.total = limits_.trailers,
                             .fields = limits_.trailer_fields,
                             .request_line = 0,
                             .field = limits_.trailers};
    const parse_result result =
        scan_fields<vector_kernel>(trailer_bytes_, trailer_progress_, limits, nullptr);
    if (result.status == parse_status::error) {
        return fail(trailer_error(result.error));
    }
    if (result.status == parse_status::need_more) {
        return {chunk_status::need_more, parse_error::none, in.size(), {}};
    }
    trailer_bytes_.resize(result.consumed);
    finish_trailers(limits);
    state_ = state::done;
    return {chunk_status::end, parse_error::none, at + result.consumed - before, {}};
}

void chunked_decoder::finish_trailers(const head_limits& limits) {
    field_summary summary{trailers_};
    trailer_progress_ = {};
    (void)scan_fields<vector_kernel>(trailer_bytes_, trailer_progress_, limits, &summary);
    std::erase_if(trailers_, [](const head_field& field) { return !may_be_trailer(field.id); });
}

void chunked_decoder::reset() noexcept {
    left_ = 0;
    announced_ = 0;
    excess_ = 0;
    line_ = 0;
    digits_ = 0;
    state_ = state::size_start;
    error_ = parse_error::none;
    trailer_progress_ = {};
    trailer_bytes_.clear();
    trailers_.clear();
}

}  // namespace coracle::http::h1
