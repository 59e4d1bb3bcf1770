#include "http/error_style.hpp"
#include "http/files/conditional.hpp"
#include "http/message/date.hpp"
#include "http/message/token.hpp"
#include "http/middleware/filter.hpp"

#include <coracle/http/middleware/etag.hpp>
#include <coracle/mime/base64.hpp>
#include <coracle/tls/hash.hpp>

#include <limits>
#include <vector>

namespace coracle::http {
namespace {

/// Bytes of the digest that make the tag.
constexpr std::size_t tag_bytes = 16;

std::string tag_of(std::string_view content) {
    const std::string digest = tls::digest(tls::hash::sha256, content);
    const std::string_view some = std::string_view(digest).substr(0, tag_bytes);
    return '"' + mime::base64_encode(some, mime::base64_alphabet::url) + '"';
}

/// The time of the last change. Without one, a time for which dates in the request mean nothing.
std::int64_t modified_at(const request& req, const response& r) {
    if (const auto at = parse_http_date(r.fields().get(field_id::last_modified))) return *at;
    const bool asks_for_tag = req.fields().contains(field_id::if_none_match);
    return asks_for_tag ? std::int64_t{0} : std::numeric_limits<std::int64_t>::max();
}

/// Removes the fields of a content that is not sent (RFC 9110 section 15.4.5). A policy stays: it
/// is of the page that the client has.
void drop_content(response& r) {
    constexpr std::string_view content = "content-";
    constexpr std::string_view policy = "content-security-policy";
    std::vector<std::string> names;
    for (const field& f : r.fields()) {
        if (f.id == field_id::content_location ||
            equal_ignoring_case(f.name.substr(0, policy.size()), policy)) {
            continue;
        }
        if (equal_ignoring_case(f.name.substr(0, content.size()), content)) {
            names.emplace_back(f.name);
        }
    }
    for (const std::string& name : names) r.fields().remove(name);
    r.set_body(body());
}

}  // namespace

class etag::rules {
public:
    explicit rules(etag_options o) noexcept : options_(o) {}

    bool admit(request&, response&) const noexcept { return true; }
    void finish(const request& req, response& out) const {
        if (req.method() != method::get && req.method() != method::head) return;
        if (out.status() != status::ok || !out.body().in_memory()) return;
        if (out.fields().has_token(field_id::cache_control, "no-store")) return;
        if (!out.fields().contains(field_id::etag)) {
            if (out.body().bytes().size() > options_.longest) return;
            out.set("ETag", tag_of(out.body().bytes()));
        }
        const std::string tag(out.fields().get(field_id::etag));
        if (!tag.starts_with('"') && !tag.starts_with("W/\"")) return;
        // Without a tag in the request, and a date of the response, there is nothing to compare.
        const bool has_date = out.fields().contains(field_id::last_modified);
        const bool has_tag = req.fields().contains(field_id::if_none_match) ||
                             req.fields().contains(field_id::if_match);
        if (!has_date && !has_tag) return;
        detail::validators current;
        current.tag = tag;
        current.last_modified = modified_at(req, out);
        const auto holds = detail::check_preconditions(req.method(), req.fields(), current);
        if (holds == detail::precondition::not_modified) {
            out.set_status(status::not_modified);
            drop_content(out);
        } else if (holds == detail::precondition::failed) {
            out = detail::error_response(req, status::precondition_failed);
        }
    }

private:
    etag_options options_;
};

etag::etag(etag_options options) : rules_(std::make_shared<const rules>(options)) {}

handler etag::operator()(handler inner) const {
    return detail::filtered(rules_, std::move(inner));
}

}  // namespace coracle::http
