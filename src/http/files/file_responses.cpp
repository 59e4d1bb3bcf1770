#include "http/files/file_responses.hpp"

#include "http/files/file_lookup.hpp"

#include <coracle/base/percent.hpp>

#include <string>

namespace coracle::http::detail {

response plain_response(status code) {
    return {code, std::to_string(to_code(code)) + ' ' + std::string(reason_phrase(code)) + '\n'};
}

response file_error_response(const error& e) {
    const auto code = e.code();
    if (code == std::errc::permission_denied) return plain_response(status::forbidden);
    if (leads_nowhere(e)) return plain_response(status::not_found);
    if (code == std::errc::too_many_files_open ||
        code == std::errc::too_many_files_open_in_system ||
        code == std::errc::resource_unavailable_try_again) {
        return plain_response(status::service_unavailable).set("Retry-After", "1");
    }
    return plain_response(status::internal_server_error);
}

response add_slash(const request& req, std::string_view path) {
    const std::size_t slash = path.rfind('/');
    const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
    std::string location = "./" + percent_encode(name) + '/';
    if (!req.query_text().empty()) {
        location += '?';
        location += req.query_text();
    }
    return redirect(location, status::moved_permanently);
}

}  // namespace coracle::http::detail
