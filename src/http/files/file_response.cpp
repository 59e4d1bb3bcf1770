#include "http/files/conditional.hpp"
#include "http/files/entity_tag.hpp"
#include "http/files/range.hpp"
#include "http/message/date.hpp"

#include <coracle/http/files.hpp>
#include <coracle/runtime/loop.hpp>

namespace coracle::http {
namespace {

// Up to here one read into memory, which leaves with the head in one send, takes the place of
// sendfile.
constexpr std::uint64_t small_file = 16 * 1024;

std::int64_t floor_seconds(std::int64_t nanoseconds) noexcept {
    constexpr std::int64_t second = 1'000'000'000;
    return nanoseconds / second - (nanoseconds % second < 0 ? 1 : 0);
}

detail::validators validators_of(const net::file_status& status, std::string_view tag) noexcept {
    detail::validators v{tag, floor_seconds(status.modified_ns), std::nullopt};
    if (loop* l = loop::current(); l != nullptr) {
        v.now = l->unix_time();
        // RFC 9110 section 8.8.2.1: never later than the Date of the answer.
        if (v.last_modified > *v.now) v.last_modified = *v.now;
    }
    return v;
}

response not_satisfiable(std::uint64_t size) {
    response r(status::range_not_satisfiable, "416 Range Not Satisfiable\n");
    r.set("Content-Range", "bytes */" + std::to_string(size));
    return r;
}

void set_content(response& r, net::file file, const detail::byte_range& range, bool head_only) {
    if (range.size > small_file || head_only) {
        r.set_body(body::file(file_range(file.release(), range.first, range.size)));
        return;
    }
    std::string bytes(static_cast<std::size_t>(range.size), '\0');
    const auto count = file.read_at(range.first, bytes);
    if (!count || *count != bytes.size()) {
        // An error of the disk, or truncated since it was opened: the length above is a lie.
        r = response(status::internal_server_error, "500 Internal Server Error\n");
        return;
    }
    r.set_body(body(std::move(bytes)));
}

void add_validators(response& r, const detail::validators& current,
                    std::string_view cache_control) {
    char date[http_date_size];
    format_http_date(date, current.last_modified);
    r.fields().add("ETag", current.tag);
    r.fields().add("Last-Modified", {date, sizeof date});
    if (!cache_control.empty()) r.fields().add("Cache-Control", cache_control);
}

std::string content_range(const detail::byte_range& range, std::uint64_t size) {
    return "bytes " + std::to_string(range.first) + '-' +
           std::to_string(range.first + range.size - 1) + '/' + std::to_string(size);
}

}  // namespace

response file_response(const request& req, net::file file, std::string_view media_type,
                       std::string_view cache_control) {
    const net::file_status s = file.status();
    if (!file.open() || s.kind != net::file_kind::regular) {
        return {status::not_found, "404 Not Found\n"};
    }
    const std::string tag = detail::entity_tag_of(s);
    const detail::validators current = validators_of(s, tag);

    switch (detail::check_preconditions(req.fields(), current)) {
        case detail::precondition::failed:
            return {status::precondition_failed, "412 Precondition Failed\n"};
        case detail::precondition::not_modified: {
            response r(status::not_modified);
            add_validators(r, current, cache_control);
            return r;
        }
        case detail::precondition::holds: break;
    }

    // RFC 9110 section 14.2: Range means nothing to methods other than GET.
    detail::byte_range range;
    if (req.method() == method::get && detail::if_range_holds(req.fields(), current)) {
        range = detail::requested_range(req.fields(), s.size);
    }
    if (range.what == detail::byte_range::result::unsatisfiable) return not_satisfiable(s.size);
    if (range.what == detail::byte_range::result::whole) range.size = s.size;

    const bool partial = range.what == detail::byte_range::result::part;
    response r(partial ? status::partial_content : status::ok);
    r.fields().add("Content-Type", media_type);
    r.fields().add("X-Content-Type-Options", "nosniff");
    r.fields().add("Accept-Ranges", "bytes");
    if (partial) r.fields().add("Content-Range", content_range(range, s.size));
    add_validators(r, current, cache_control);
    set_content(r, std::move(file), range, req.method() == method::head);
    return r;
}

}  // namespace coracle::http
