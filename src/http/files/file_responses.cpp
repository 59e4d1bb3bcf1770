#include "http/files/file_responses.hpp"

#include "http/error_style.hpp"
#include "http/files/file_lookup.hpp"
#include "http/message/encode_beyond_ascii.hpp"

#include <coracle/base/percent.hpp>

#include <string>

namespace coracle::http::detail {

response file_error_response(const request& req, const error& e) {
    const auto code = e.code();
    if (code == std::errc::permission_denied) return error_response(req, status::forbidden);
    if (leads_nowhere(e)) return error_response(req, status::not_found);
    if (code == std::errc::too_many_files_open ||
        code == std::errc::too_many_files_open_in_system ||
        code == std::errc::resource_unavailable_try_again) {
        return error_response(req, status::service_unavailable).set("Retry-After", "1");
    }
    return error_response(req, status::internal_server_error);
}

response lookup_error_response(const request& req, const file_options& options, const error& e) {
    response out = file_error_response(req, e);
    // With a fallback, clients that accept a page would have got it.
    if (!options.fallback.empty() && out.status() == status::not_found) {
        out.fields().add("Vary", "Accept");
    }
    return out;
}

response add_slash(const request& req, std::string_view path) {
    const std::size_t slash = path.rfind('/');
    const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
    std::string location = "./" + percent_encode(name) + '/';
    if (!req.query_text().empty()) {
        location += '?';
        location += encode_beyond_ascii(req.query_text());
    }
    return redirect(location, status::moved_permanently);
}

}  // namespace coracle::http::detail
