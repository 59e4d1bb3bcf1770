#include "http/h1/field_lines.hpp"

#include "http/h1/field_summary.hpp"
#include "http/h1/scan_kernels.hpp"

#include <cstring>

namespace coracle::http::h1 {

namespace {

enum phase : std::uint8_t { in_name, in_value };

parse_error name_error(char byte, bool first) noexcept {
    switch (byte) {
        case ' ':
        case '\t':
            // RFC 9112 sections 5.2 and 5.1.
            return first ? parse_error::folded_field : parse_error::space_before_colon;
        case ':': return parse_error::empty_field_name;
        case '\n': return parse_error::bare_line_feed;
        case '\r': return parse_error::missing_colon;
        default: return parse_error::bad_field_name;
    }
}

std::string_view trimmed(const char* first, const char* last) noexcept {
    while (first != last && (*first == ' ' || *first == '\t')) {
        ++first;
    }
    while (first != last && (last[-1] == ' ' || last[-1] == '\t')) {
        --last;
    }
    return {first, static_cast<std::size_t>(last - first)};
}

// One run over the lines that are there: pointers while it runs, offsets in between.
template <class Kernel>
class field_scan {
public:
    field_scan(std::string_view bytes, head_progress& at, const head_limits& limits) noexcept
        : begin_{bytes.data()}, end_{bytes.data() + bytes.size()}, line_{begin_ + at.line},
          progress_{at}, limits_{limits} {}

    // Not inline: its many locals would spill those of the lines that need none of this.
    [[gnu::noinline]] parse_result run(field_summary* summary) {
        const char* at = begin_ + progress_.scan;
        const char* colon = begin_ + progress_.first_end;
        bool resume_in_value = progress_.phase == in_value;
        for (;;) {
            if (!resume_in_value) {
                if (at == line_) {
                    if (at == end_) {
                        return partial(at, at, in_name);
                    }
                    if (*at == '\r') {
                        return last_line(at);
                    }
                    if (progress_.fields == limits_.fields) {
                        return fail(at, at + 1, parse_error::too_many_fields);
                    }
                }
                at = Kernel::skip_token(begin_, at, end_);
                if (at == end_) {
                    return partial(at, at, in_name);
                }
                if (*at != ':' || at == line_) {
                    return fail(*at == '\r' ? at : at + 1, at + 1, name_error(*at, at == line_));
                }
                colon = at++;
            }
            resume_in_value = false;
            at = Kernel::skip_value(begin_, at, end_);
            if (at == end_ || (*at == '\r' && end_ - at < 2)) {
                return partial(at, colon, in_value);
            }
            if (*at != '\r' || at[1] != '\n') {
                return bad_value(at);
            }
            if (const parse_error error = check(at, at + 2, parse_error::none);
                error != parse_error::none) {
                return {parse_status::error, error, 0};
            }
            ++progress_.fields;
            if (summary != nullptr) {
                summary->add({line_, static_cast<std::size_t>(colon - line_)},
                             trimmed(colon + 1, at));
            }
            line_ = at + 2;
            at = line_;
        }
    }

private:
    std::size_t offset(const char* at) const noexcept {
        return static_cast<std::size_t>(at - begin_);
    }

    parse_error check(const char* content, const char* seen, parse_error otherwise) const noexcept {
        return over_limit({offset(line_), offset(content), offset(seen)}, limits_.field,
                          limits_.total, parse_error::field_too_long, otherwise);
    }

    parse_result fail(const char* content, const char* seen, parse_error error) const noexcept {
        return {parse_status::error, check(content, seen, error), 0};
    }

    parse_result bad_value(const char* at) const noexcept {
        if (*at == '\r') {
            return fail(at, at + 2, parse_error::bare_carriage_return);
        }
        return fail(at + 1, at + 1,
                    *at == '\n' ? parse_error::bare_line_feed : parse_error::bad_field_value);
    }

    parse_result last_line(const char* at) noexcept {
        if (end_ - at < 2) {
            return partial(at, at, in_name);
        }
        const parse_error error = check(
            at, at + 2, at[1] == '\n' ? parse_error::none : parse_error::bare_carriage_return);
        if (error != parse_error::none) {
            return {parse_status::error, error, 0};
        }
        return {parse_status::complete, parse_error::none, offset(at) + 2};
    }

    parse_result partial(const char* at, const char* name_end, phase where) noexcept {
        if (const parse_error error = check(at, end_, parse_error::none);
            error != parse_error::none) {
            return {parse_status::error, error, 0};
        }
        progress_.line = offset(line_);
        progress_.scan = offset(at);
        progress_.first_end = offset(name_end);
        progress_.phase = where;
        return {};
    }

    const char* begin_;
    const char* end_;
    const char* line_;
    head_progress& progress_;
    const head_limits& limits_;
};

// True for a space or a tab, and for what ends a value.
bool is_low(char byte) noexcept {
    return static_cast<unsigned char>(byte) <= ' ';
}

struct lines_taken {
    const char* end;  // where the first line begins that was not taken
    std::uint32_t count;
};

// Takes the lines that are there whole, good and within the limits, up to the first that is not:
// field_scan reads that one from its start. Nothing can fail here, so little has to be kept: a line
// costs about 40 instructions less than there, the last one 60.
template <class Kernel>
[[gnu::noinline]] lines_taken usual_lines(std::string_view bytes, std::size_t first,
                                          const head_limits& limits, field_summary& summary) {
    const char* const begin = bytes.data();
    const char* const end = begin + bytes.size();
    const std::uint32_t most = limits.fields;
    const std::ptrdiff_t longest = limits.field;
    const char* line = begin + first;
    std::uint32_t count = 0;
    if (end - begin < 16) return {line, count};
    while (end - line >= 5 && *line != '\r') {  // no usual line is shorter
        const char* const colon = Kernel::skip_token(begin, line, end);
        if (end - colon < 3 || *colon != ':' || colon == line) {
            break;
        }
        const char* const value = colon[1] == ' ' ? colon + 2 : colon + 1;
        const char* const stop = Kernel::skip_value(begin, value, end);
        if (end - stop < 2 || std::memcmp(stop, "\r\n", 2) != 0 || stop - line > longest ||
            count == most) {
            break;
        }
        const bool trim = is_low(*value) || is_low(stop[-1]);
        summary.add({line, colon}, trim ? trimmed(value, stop) : std::string_view{value, stop});
        line = stop + 2;
        ++count;
    }
    return {line, count};
}

}  // namespace

template <class Kernel>
parse_result scan_fields(std::string_view bytes, head_progress& at, const head_limits& limits,
                         field_summary* summary) {
    if (summary != nullptr && bytes.size() <= limits.total) {
        const lines_taken taken = usual_lines<Kernel>(bytes, at.line, limits, *summary);
        const auto line = static_cast<std::size_t>(taken.end - bytes.data());
        if (bytes.size() - line >= 2 && std::memcmp(taken.end, "\r\n", 2) == 0) {
            summary->identify();
            return {parse_status::complete, parse_error::none, line + 2};
        }
        at.line = line;
        at.scan = line;
        at.fields = taken.count;
    }
    const parse_result result = field_scan<Kernel>{bytes, at, limits}.run(summary);
    if (summary != nullptr && result.status == parse_status::complete) {
        summary->identify();
    }
    return result;
}

template parse_result scan_fields<scalar_kernel>(std::string_view, head_progress&,
                                                 const head_limits&, field_summary*);
#if defined(__SSE2__)
template parse_result scan_fields<sse2_kernel>(std::string_view, head_progress&, const head_limits&,
                                               field_summary*);
#endif

}  // namespace coracle::http::h1
