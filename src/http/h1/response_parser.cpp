#include "http/h1/field_lines.hpp"
#include "http/h1/field_summary.hpp"
#include "http/h1/scan_kernels.hpp"

#include <coracle/http/h1/head_parser.hpp>

namespace coracle::http::h1 {

namespace {

enum phase : std::uint8_t { in_code, in_reason };

// "HTTP/1.1 200"
constexpr std::size_t code_end = 12;

parse_result failed(parse_error error) noexcept {
    return {parse_status::error, error, 0};
}

bool fits(char shape, char byte) noexcept {
    return shape == 'd'   ? is_char(byte, char_digit)
           : shape == 'c' ? byte >= '1' && byte <= '9'
                          : byte == shape;
}

// Returns how many bytes at the start of `text` fit "HTTP/d.d " and a code from 100 to 999.
std::size_t code_prefix(std::string_view text) noexcept {
    constexpr std::string_view shape = "HTTP/d.d cdd";
    std::size_t good = 0;
    while (good < shape.size() && good < text.size() && fits(shape[good], text[good])) {
        ++good;
    }
    return good;
}

// The status line (RFC 9112 section 4). The space after the code is not missed where there is no
// reason: servers in use leave it out, and nothing can be read into that.
template <class Kernel>
class status_line_scan {
public:
    status_line_scan(std::string_view bytes, head_progress& at, const head_limits& limits) noexcept
        : bytes_{bytes}, progress_{at}, limits_{limits} {}

    parse_result run() noexcept {
        if (progress_.phase == in_code) {
            const std::size_t good = code_prefix(bytes_);
            if (good < code_end && good < bytes_.size()) {
                return fail_at(good,
                               good < 9 ? parse_error::bad_version : parse_error::bad_status_code);
            }
            if (bytes_.size() <= code_end) {
                return partial(0, good);
            }
            if (bytes_[code_end] != ' ' && bytes_[code_end] != '\r') {
                return fail_at(code_end, parse_error::bad_status_code);
            }
            progress_.scan = code_end;
            progress_.phase = in_reason;
        }
        return reason();
    }

private:
    parse_result reason() noexcept {
        const char* begin = bytes_.data();
        const auto end = static_cast<std::size_t>(
            Kernel::skip_value(begin, begin + progress_.scan, begin + bytes_.size()) - begin);
        if (end == bytes_.size() || (bytes_[end] == '\r' && end + 1 == bytes_.size())) {
            return partial(end, end);
        }
        if (bytes_[end] != '\r') {
            return fail_at(end, parse_error::bad_reason);
        }
        if (bytes_[end + 1] != '\n') {
            return failed(check(end, end + 2, parse_error::bare_carriage_return));
        }
        const parse_error error = check(end, end + 2, parse_error::none);
        if (error != parse_error::none) {
            return failed(error);
        }
        if (bytes_[5] != '1') {
            return failed(parse_error::unsupported_version);
        }
        progress_.first_end = end;
        return {parse_status::complete, parse_error::none, 0};
    }

    parse_error check(std::size_t content, std::size_t seen, parse_error otherwise) const noexcept {
        return over_limit({0, content, seen}, limits_.request_line, limits_.total,
                          parse_error::status_line_too_long, otherwise);
    }

    parse_result fail_at(std::size_t at, parse_error error) const noexcept {
        const bool cr = bytes_[at] == '\r';
        return failed(check(cr ? at : at + 1, at + 1,
                            bytes_[at] == '\n' ? parse_error::bare_line_feed
                            : cr               ? parse_error::bad_start_line
                                               : error));
    }

    parse_result partial(std::size_t scan, std::size_t content) noexcept {
        const parse_error error = check(content, bytes_.size(), parse_error::none);
        if (error != parse_error::none) {
            return failed(error);
        }
        progress_.scan = scan;
        return {};
    }

    std::string_view bytes_;
    head_progress& progress_;
    const head_limits& limits_;
};

void fill_status_line(std::string_view bytes, std::size_t line_end, response_head& out) noexcept {
    const auto digit = [&](std::size_t at) { return bytes[at] - '0'; };
    out.version = bytes[7] == '0' ? version::http_1_0 : version::http_1_1;
    out.code = static_cast<std::uint16_t>(digit(9) * 100 + digit(10) * 10 + digit(11));
    out.reason = line_end > code_end ? bytes.substr(code_end + 1, line_end - code_end - 1)
                                     : std::string_view{};
}

template <class Kernel>
parse_result run(std::string_view bytes, head_progress& progress, method request,
                 response_head& out, const head_limits& limits) {
    const bool fresh = progress.scan == 0;
    if (!progress.in_fields) {
        const parse_result line = status_line_scan<Kernel>{bytes, progress, limits}.run();
        if (line.status != parse_status::complete) {
            return line;
        }
        fill_status_line(bytes, progress.first_end, out);
        progress.line = progress.first_end + 2;
        progress.scan = progress.line;
        progress.phase = 0;
        progress.in_fields = true;
    }
    if (!fresh) {
        const parse_result result = scan_fields<Kernel>(bytes, progress, limits, nullptr);
        if (result.status != parse_status::complete) {
            return result;
        }
        // All of it is there and well-formed: once more, for the views.
        progress = {};
        return run<Kernel>(bytes, progress, request, out, limits);
    }
    field_summary summary{out.fields};
    const parse_result result = scan_fields<Kernel>(bytes, progress, limits, &summary);
    if (result.status != parse_status::complete) {
        return result;
    }
    const parse_error error = summary.finish(out, request);
    return error == parse_error::none ? result : failed(error);
}

}  // namespace

parse_result response_parser::parse(std::string_view bytes, http::method request,
                                    response_head& out, const head_limits& limits) {
    const parse_result result = mode_ == scan_mode::automatic
                                    ? run<vector_kernel>(bytes, progress_, request, out, limits)
                                    : run<scalar_kernel>(bytes, progress_, request, out, limits);
    if (result.status != parse_status::need_more) {
        progress_ = {};
    }
    return result;
}

}  // namespace coracle::http::h1
