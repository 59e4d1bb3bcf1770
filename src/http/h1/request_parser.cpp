#include "http/h1/field_lines.hpp"
#include "http/h1/field_summary.hpp"
#include "http/h1/scan_kernels.hpp"
#include "http/h1/target.hpp"

#include <coracle/http/h1/head_parser.hpp>

#include <cstring>

namespace coracle::http::h1 {

namespace {

enum phase : std::uint8_t { in_method, in_target, in_version };

// RFC 9112 section 2.2 asks for at least one; some old clients send two after a body.
constexpr std::uint8_t empty_lines_allowed = 2;

constexpr std::size_t version_size = 8;

parse_result failed(parse_error error) noexcept {
    return {parse_status::error, error, 0};
}

// A request line that is there whole and is the usual kind, an origin form on HTTP/1.1 within the
// limits: its size with CRLF. Of every other one nothing is said, 0: request_line_scan reads it
// from its start. Without the bookkeeping of a line that may end anywhere, a request costs about
// 190 instructions less.
template <class Kernel>
std::size_t read_usual_line(std::string_view bytes, request_head& out,
                            const head_limits& limits) noexcept {
    constexpr std::string_view line_end = " HTTP/1.1\r\n";
    const char* const begin = bytes.data();
    const char* const end = begin + bytes.size();
    const char* target = begin + 4;
    out.method = method::get;
    if (bytes.size() < 5 || std::memcmp(begin, "GET /", 5) != 0) {
        const char* const method_end = Kernel::skip_token(begin, begin, end);
        if (method_end == begin || end - method_end < 2 || method_end[0] != ' ' ||
            method_end[1] != '/') {
            return 0;
        }
        out.method = parse_method({begin, method_end});
        if (out.method == method::connect) {
            return 0;  // its target is an authority
        }
        target = method_end + 1;
    }
    const char* const path_end = Kernel::skip_path(begin, target, end);
    const bool has_query = path_end != end && *path_end == '?';
    const char* const target_end = has_query ? Kernel::skip_target(begin, path_end, end) : path_end;
    if (static_cast<std::size_t>(end - target_end) < line_end.size() ||
        std::memcmp(target_end, line_end.data(), line_end.size()) != 0) {
        return 0;
    }
    const auto size = static_cast<std::size_t>(target_end - begin) + line_end.size();
    if (size - 2 > limits.request_line || size > limits.total) {
        return 0;
    }
    out.method_text = {begin, target - 1};
    out.version = version::http_1_1;
    out.target = {target, target_end};
    out.form = target_form::origin;
    out.scheme = {};
    out.path = {target, path_end};
    out.has_query = has_query;
    out.query = has_query ? std::string_view{path_end + 1, target_end} : std::string_view{};
    out.host = {};
    return size;
}

constexpr parse_result line_done{parse_status::complete, parse_error::none, 0};

// The request line (RFC 9112 section 3), resumable at any byte.
template <class Kernel>
class request_line_scan {
public:
    request_line_scan(std::string_view bytes, head_progress& at, const head_limits& limits) noexcept
        : bytes_{bytes}, progress_{at}, limits_{limits} {}

    parse_result run() noexcept {
        if (progress_.scan == progress_.line) {
            if (const parse_result result = empty_lines();
                result.status != parse_status::complete) {
                return result;
            }
        }
        if (progress_.phase == in_method) {
            if (const parse_result result = method(); result.status != parse_status::complete) {
                return result;
            }
        }
        if (progress_.phase == in_target) {
            if (const parse_result result = target(); result.status != parse_status::complete) {
                return result;
            }
        }
        return version();
    }

private:
    parse_result empty_lines() noexcept {
        while (progress_.line < bytes_.size() && bytes_[progress_.line] == '\r') {
            const std::size_t at = progress_.line;
            if (at + 1 == bytes_.size()) {
                return partial(at, at);
            }
            if (bytes_[at + 1] != '\n') {
                return fail(at, at + 2, parse_error::bare_carriage_return);
            }
            if (++progress_.empty_lines > empty_lines_allowed) {
                return fail(at, at + 2, parse_error::too_many_empty_lines);
            }
            progress_.line = at + 2;
        }
        progress_.scan = progress_.line;
        return line_done;
    }

    parse_result method() noexcept {
        const std::size_t end = skip(Kernel::skip_token);
        if (end == bytes_.size()) {
            return partial(end, end);
        }
        if (bytes_[end] != ' ' || end == progress_.line) {
            return fail_at(end, parse_error::bad_method);
        }
        progress_.first_end = end;
        progress_.scan = end + 1;
        progress_.phase = in_target;
        return line_done;
    }

    parse_result target() noexcept {
        const std::size_t end = skip(Kernel::skip_target);
        if (end == bytes_.size()) {
            return partial(end, end);
        }
        if (bytes_[end] != ' ') {
            return fail_at(end, parse_error::bad_target);
        }
        if (end == progress_.first_end + 1) {
            return fail_at(end, parse_error::bad_start_line);
        }
        progress_.second_end = end;
        progress_.scan = end + 1;
        progress_.phase = in_version;
        return line_done;
    }

    parse_result version() noexcept {
        const std::size_t first = progress_.scan;
        const std::string_view text = bytes_.substr(first, version_size + 2);
        const std::size_t good = version_prefix(text);
        const std::size_t content = first + (good < version_size ? good : version_size);
        if (good == text.size() && good < version_size + 2) {
            // The version is short, so `scan` stays at its start and it is looked at again.
            return partial(first, content);
        }
        if (good <= version_size) {
            return fail_at(first + good, parse_error::bad_version);
        }
        if (good == version_size + 1) {
            return fail(content, first + good + 1, parse_error::bare_carriage_return);
        }
        const parse_error error = check(content, first + good, parse_error::none);
        if (error != parse_error::none) {
            return failed(error);
        }
        // A later minor version is processed as HTTP/1.1 (RFC 9110 section 2.5).
        if (text[5] != '1') {
            return failed(parse_error::unsupported_version);
        }
        return line_done;
    }

    // Returns how many bytes at the start of `text` fit "HTTP/d.d" CRLF.
    static std::size_t version_prefix(std::string_view text) noexcept {
        constexpr std::string_view common = "HTTP/1.1\r\n";
        if (text.size() == common.size() &&
            std::memcmp(text.data(), common.data(), common.size()) == 0) {
            return common.size();
        }
        std::size_t good = 0;
        while (good < text.size() && (good == 5 || good == 7 ? is_char(text[good], char_digit)
                                                             : text[good] == common[good])) {
            ++good;
        }
        return good;
    }

    template <class Skip>
    std::size_t skip(Skip skip_class) const noexcept {
        const char* begin = bytes_.data();
        return static_cast<std::size_t>(
            skip_class(begin, begin + progress_.scan, begin + bytes_.size()) - begin);
    }

    parse_error check(std::size_t content, std::size_t seen, parse_error otherwise) const noexcept {
        return over_limit({progress_.line, content, seen}, limits_.request_line, limits_.total,
                          parse_error::request_line_too_long, otherwise);
    }

    parse_result fail(std::size_t content, std::size_t seen, parse_error error) const noexcept {
        return failed(check(content, seen, error));
    }

    // The byte at `at` is not what should stand there.
    parse_result fail_at(std::size_t at, parse_error error) const noexcept {
        if (bytes_[at] == '\n') {
            error = parse_error::bare_line_feed;
        } else if (bytes_[at] == '\r') {
            // A CR ends what is there of the line, so it does not count against its limit.
            return fail(at, at + 1, parse_error::bad_start_line);
        }
        return fail(at + 1, at + 1, error);
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

parse_error fill_request_line(std::string_view bytes, const head_progress& at,
                              request_head& out) noexcept {
    out.method_text = bytes.substr(at.line, at.first_end - at.line);
    out.method = parse_method(out.method_text);
    out.target = bytes.substr(at.first_end + 1, at.second_end - at.first_end - 1);
    out.version =
        bytes[at.second_end + version_size] == '0' ? version::http_1_0 : version::http_1_1;
    return split_target(out);
}

void begin_fields(head_progress& progress, std::size_t at) noexcept {
    progress.line = at;
    progress.scan = at;
    progress.phase = 0;
    progress.in_fields = true;
}

// The field lines of a head that is read from its start in one go, and what follows from them.
template <class Kernel>
parse_result read_fields(std::string_view bytes, head_progress& progress, request_head& out,
                         const head_limits& limits) {
    field_summary summary{out.fields};
    const parse_result result = scan_fields<Kernel>(bytes, progress, limits, &summary);
    if (result.status != parse_status::complete) {
        return result;
    }
    const parse_error error = summary.finish(out);
    return error == parse_error::none ? result : failed(error);
}

template <class Kernel>
[[gnu::noinline]] parse_result run_any(std::string_view bytes, head_progress& progress,
                                       request_head& out, const head_limits& limits);

template <class Kernel>
[[gnu::flatten]] parse_result run(std::string_view bytes, head_progress& progress,
                                  request_head& out, const head_limits& limits) {
    if (progress.scan == 0) {
        if (const std::size_t line = read_usual_line<Kernel>(bytes, out, limits); line != 0) {
            begin_fields(progress, line);
            return read_fields<Kernel>(bytes, progress, out, limits);
        }
    }
    return run_any<Kernel>(bytes, progress, out, limits);
}

// Any request line, whole or in parts, and all that was begun before.
template <class Kernel>
parse_result run_any(std::string_view bytes, head_progress& progress, request_head& out,
                     const head_limits& limits) {
    const bool fresh = progress.scan == 0;
    if (!progress.in_fields) {
        const parse_result line = request_line_scan<Kernel>{bytes, progress, limits}.run();
        if (line.status != parse_status::complete) {
            return line;
        }
        if (const parse_error error = fill_request_line(bytes, progress, out);
            error != parse_error::none) {
            return failed(error);
        }
        begin_fields(progress, progress.second_end + 1 + version_size + 2);
    }
    if (fresh) {
        return read_fields<Kernel>(bytes, progress, out, limits);
    }
    const parse_result result = scan_fields<Kernel>(bytes, progress, limits, nullptr);
    if (result.status != parse_status::complete) {
        return result;
    }
    // All of it is there and well-formed: once more, for the views.
    progress = {};
    return run<Kernel>(bytes, progress, out, limits);
}

}  // namespace

parse_result request_parser::parse(std::string_view bytes, request_head& out,
                                   const head_limits& limits) {
    const parse_result result = mode_ == scan_mode::automatic
                                    ? run<vector_kernel>(bytes, progress_, out, limits)
                                    : run<scalar_kernel>(bytes, progress_, out, limits);
    if (result.status != parse_status::need_more) {
        progress_ = {};
    }
    return result;
}

}  // namespace coracle::http::h1
