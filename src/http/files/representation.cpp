#include "http/files/representation.hpp"

#include "http/error_style.hpp"
#include "http/files/byteranges_body.hpp"
#include "http/files/conditional.hpp"
#include "http/files/entity_tag.hpp"
#include "http/files/modified_time.hpp"
#include "http/message/date.hpp"
#include "http/message/ranges.hpp"

#include <coracle/http/files.hpp>
#include <coracle/runtime/loop.hpp>

#include <algorithm>

namespace coracle::http::detail {
namespace {

// A strong tag names one variant (RFC 9110 section 8.8.3.3), to the byte: a download that is
// resumed at another node must not be put together of two versions of a library.
std::string tag_of(const representation& r) {
    std::string tag = entity_tag_of(r.file.status());
    if (!r.coding.empty()) tag.insert(tag.size() - 1, "-" + std::string(r.coding) + r.encoder);
    return tag;
}

validators validators_of(const file_status& status, std::string_view tag) noexcept {
    validators v{tag, second_of(status.modified_ns), std::nullopt};
    if (loop* l = loop::current(); l != nullptr) {
        v.now = l->unix_time();
        // RFC 9110 section 8.8.2.1: never later than the Date of the response.
        v.last_modified = std::min(*v.last_modified, *v.now);
    }
    return v;
}

// Adds the fields that a 304 has, too (RFC 9110 section 15.4.5).
void add_metadata(response& to, const representation& r, const validators& current) {
    char date[http_date_size];
    format_http_date(date, *current.last_modified);
    to.fields().add("ETag", current.tag);
    to.fields().add("Last-Modified", {date, sizeof date});
    if (!r.cache_control.empty()) to.fields().add("Cache-Control", r.cache_control);
    if (r.varies_by_type) to.fields().add("Vary", "Accept");
    if (r.varies) to.fields().add("Vary", "Accept-Encoding");
}

response without_content(const representation& r, const validators& current) {
    response out(status::not_modified);
    add_metadata(out, r, current);
    return out;
}

response not_satisfiable(const request& req, std::uint64_t size) {
    response r = error_response(req, status::range_not_satisfiable);
    r.set("Content-Range", to_unsatisfied_range(size));
    return r;
}

enum class content : std::uint8_t { set, cold, unreadable };

content set_file_part(response& to, representation& r, const content_range& part, bool head_only,
                      disk d) {
    if (part.size() > small_file || head_only) {
        to.set_body(body::file(file_range(r.file.release(), part.first, part.size())));
        return content::set;
    }
    std::string bytes(static_cast<std::size_t>(part.size()), '\0');
    const auto count =
        d == disk::wait ? r.file.read_at(part.first, bytes) : r.file.try_read_at(part.first, bytes);
    if (!count && d == disk::do_not_wait) {
        r.cold_at = part.first;
        return content::cold;
    }
    // The disk failed, or the file was truncated after it was opened: the announced length is
    // wrong.
    if (!count || *count != bytes.size()) return content::unreadable;
    to.set_body(body(std::move(bytes)));
    return content::set;
}

content set_part(response& to, representation& r, const content_range& part, bool head_only,
                 disk d) {
    if (!r.bytes) return set_file_part(to, r, part, head_only, d);
    to.set_body(body::shared(r.bytes, static_cast<std::size_t>(part.first),
                             static_cast<std::size_t>(part.size())));
    return content::set;
}

void set_parts(response& to, representation& r, const range_plan& plan) {
    const loop* const l = loop::current();
    const std::uint64_t high = l == nullptr ? 0 : loop::current()->random();
    const std::uint64_t low = l == nullptr ? 0 : loop::current()->random();
    const std::uint64_t size = r.size();
    byteranges all{plan, size, std::string(r.media_type), byteranges_boundary(high, low)};
    to.fields().add("Content-Type", all.framing().content_type());
    if (r.bytes) {
        to.set_body(byteranges_of_bytes(all, *r.bytes));
        return;
    }
    file_range whole(r.file.release(), 0, size);
    to.set_body(byteranges_of_file(std::move(all), std::move(whole)));
}

void add_content_fields(response& to, const representation& r, const validators& current) {
    if (r.nosniff) to.fields().add("X-Content-Type-Options", "nosniff");
    if (!r.coding.empty()) to.fields().add("Content-Encoding", r.coding);
    to.fields().add("Accept-Ranges", "bytes");
    add_metadata(to, r, current);
}

}  // namespace

std::optional<response> respond(const request& req, representation& r, disk d) {
    const std::string tag = tag_of(r);
    const validators current = validators_of(r.file.status(), tag);
    switch (check_preconditions(req.method(), req.fields(), current)) {
        case precondition::failed: return error_response(req, status::precondition_failed);
        case precondition::not_modified: return without_content(r, current);
        case precondition::holds: break;
    }

    const std::uint64_t size = r.size();
    range_plan plan;
    // RFC 9110 section 14.2: Range means nothing to methods other than GET.
    if (req.method() == method::get && if_range_holds(req.fields(), current)) {
        plan = requested_ranges(req.fields(), size);
    }
    if (plan.what == range_plan::result::unsatisfiable) return not_satisfiable(req, size);

    const bool partial = plan.what == range_plan::result::parts;
    response out(partial ? status::partial_content : status::ok);
    content done = content::set;
    if (plan.count > 1) {
        set_parts(out, r, plan);
    } else {
        out.fields().add("Content-Type", r.media_type);
        if (partial) out.fields().add("Content-Range", to_content_range(plan.list[0], size));
        const content_range part = partial ? plan.list[0] : content_range{0, size - 1};
        done = set_part(out, r, part, req.method() == method::head, d);
    }
    if (done == content::cold) return std::nullopt;
    if (done == content::unreadable) return error_response(req, status::internal_server_error);
    add_content_fields(out, r, current);
    return out;
}

}  // namespace coracle::http::detail

namespace coracle::http {

response file_response(const request& req, fs::plain_file file, std::string_view media_type,
                       std::string_view cache_control) {
    if (!file.open() || file.status().kind != file_kind::regular) {
        return detail::error_response(req, status::not_found);
    }
    detail::representation r;
    r.file = std::move(file);
    r.media_type = media_type;
    r.cache_control = cache_control;
    return *detail::respond(req, r, detail::disk::wait);
}

}  // namespace coracle::http
