#include "http/exchange/preconditions.hpp"
#include "http/middleware/filter.hpp"

#include <coracle/http/middleware/etag.hpp>
#include <coracle/mime/base64.hpp>
#include <coracle/tls/hash.hpp>

namespace coracle::http {
namespace {

/// Bytes of the digest that make the tag.
constexpr std::size_t tag_bytes = 16;

std::string tag_of(std::string_view content) {
    const std::string digest = tls::digest(tls::hash::sha256, content);
    const std::string_view some = std::string_view(digest).substr(0, tag_bytes);
    return '"' + mime::base64_encode(some, mime::base64_alphabet::url) + '"';
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
        const std::string_view tag = out.fields().get(field_id::etag);
        if (!tag.starts_with('"') && !tag.starts_with("W/\"")) return;
        // Without a tag in the request, and a date of the response, there is nothing to compare.
        const bool has_date = out.fields().contains(field_id::last_modified);
        const bool has_tag = req.fields().contains(field_id::if_none_match) ||
                             req.fields().contains(field_id::if_match);
        if (!has_date && !has_tag) return;
        static_cast<void>(detail::meets_preconditions(req, out));
    }

private:
    etag_options options_;
};

etag::etag(etag_options options) : rules_(std::make_shared<const rules>(options)) {}

handler etag::operator()(handler inner) const {
    return detail::filtered(rules_, std::move(inner));
}

}  // namespace coracle::http
